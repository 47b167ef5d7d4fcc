# What the tests share: the installed package, exercised through whatever web server has port 80. Sourced by sh.
set -eu
url=http://127.0.0.1
work=${AUTOPKGTEST_TMP:-$(mktemp -d)}
cd "$work"

# until_true WHAT COMMAND...: a generous limit for slow machines
until_true() {
	what=$1 tries=0
	shift
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 120 ] || { echo "$what did not come"; exit 1; }
		sleep 1
	done
	echo "ok: $what"
}

serves() { curl -sf "$url/healthz" >/dev/null; }
field() { grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d'"' -f4; }

# The host that runs tests may be overloaded, for which streams are refused; that is not what is tested.
never_overloaded() {
	for limit in overload_cpu_percent=100 overload_memory_percent=100 overload_swap_mb=1000000 \
		recover_cpu_percent=100 recover_memory_percent=100 recover_swap_mb=1000000 recover_hold_sec=0; do
		camctl setting set "${limit%=*}" "${limit#*=}"
	done
}

lease() {
	curl -s -c jar -b jar -H 'Content-Type: application/json' -d "{\"camera_id\":\"$1\",\"quality\":\"sub\"}" \
		"$url/api/modal/lease" >lease.json
	grep -q lease_id lease.json || { ! grep -q SYSTEM_OVERLOAD lease.json && cat lease.json && exit 1; }
}

has_event() { curl -sf "$url/api/events?camera_id=$1" >events.json && grep -q '"event_uuid"' events.json; }

# exercise CAMERA: a lease, frames, the event that they make, its picture by a signed link, the console
exercise() {
	never_overloaded
	camctl camera add "$1" display_name="$1"
	until_true "a lease" lease "$1"
	id=$(field lease_id <lease.json)
	curl -sf -c jar -b jar -d '' "$url/api/modal/lease/$id/heartbeat" | grep -q remaining_sec
	curl -sf -c jar -b jar -X DELETE "$url/api/modal/lease/$id" | grep -q '"ok":true'
	token=$(camctl token create "$1" --role ingest 2>/dev/null | tail -n 1)
	for at in 0 1 2 3 4 5 6 7 8 9 10 11 12 13; do
		camctl demo-cameras --draw frame.jpg --camera entrance --at $at >/dev/null
		curl -sf -H "Authorization: Bearer $token" -H 'Content-Type: image/jpeg' --data-binary @frame.jpg \
			"$url/api/frames?camera_id=$1&captured_at=$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" | grep -q frame_uuid
	done
	until_true "an event" has_event "$1"
	link=$(camctl media link "$(field best_frame_uuid <events.json)")
	[ "$(curl -s -o picture.jpg -w '%{http_code} %{content_type}' "$link")" = "200 image/jpeg" ]
	[ "$(head -c 2 picture.jpg | od -An -tx1 | tr -d ' ')" = ffd8 ]
	echo "ok: its picture by link"
	curl -sf "$url/console/" | grep -qi '<html'
	echo "ok: the console"
}
