# Shell helpers of quickstart, check and bench. Sourced; bash.

if [ -t 1 ]; then BOLD=$'\e[1m'; DIM=$'\e[2m'; RED=$'\e[31m'; PLAIN=$'\e[0m'; else BOLD=; DIM=; RED=; PLAIN=; fi

die() { printf '%s%s%s\n' "$RED" "$*" "$PLAIN" >&2; exit 1; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# step TEXT LOG COMMAND...: run it quietly, say how long it took; on failure show the end of its log and stop.
step() {
	local text=$1 log=$2 start=$SECONDS
	shift 2
	printf '%-44s ' "$text"
	mkdir -p "$(dirname "$log")"
	if ("$@") >"$log" 2>&1; then
		printf 'done %s(%ds)%s\n' "$DIM" $((SECONDS - start)) "$PLAIN"
	else
		printf '%sfailed%s\n' "$RED" "$PLAIN"
		tail -n 20 "$log" | sed 's/^/    /'
		die "Step \"$text\" failed. The whole log: $log"
	fi
}

# install_packages NAME...: install those that are missing, without starting any service of theirs.
install_packages() {
	local missing=() policy=/usr/sbin/policy-rc.d ours=no status=0 p
	for p in "$@"; do
		dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$p")
	done
	[ ${#missing[@]} = 0 ] && { echo "all there"; return 0; }
	echo "installing: ${missing[*]}"
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null && as_root chmod 755 $policy
		ours=yes
	fi
	as_root apt-get update -q &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}" || status=$?
	[ $ours = yes ] && as_root rm -f $policy
	return $status
}

# What it takes to build and run.
PACKAGES_RUN=(autoconf automake make gcc libc6-dev pkg-config libfcgi-dev libpq-dev libjson-c-dev libcurl4-openssl-dev
	uuid-dev libssl-dev libsystemd-dev libmicrohttpd-dev libturbojpeg0-dev libyaml-dev postgresql lighttpd lighttpd-mod-deflate libjs-chart.js spawn-fcgi multiwatch curl util-linux)
# What the tests take on top.
PACKAGES_TEST=(libcmocka-dev python3-aiosmtpd postgresql-15-pgtap postgresql-server-dev-15 apache2 python3 python3-psycopg2 python3-pil wrk xz-utils openssl
	libapache2-mod-xsendfile rclone podman runc prometheus libfaketime man-db python3-jsonschema python3-yaml chromium fonts-noto-cjk)
# What ./check package takes on top.
PACKAGES_PACKAGE=(build-essential debhelper devscripts dpkg-dev po-debconf lintian debootstrap systemd-container piuparts)
# And what the benchmark is measured against.
PACKAGES_BENCH=(nginx haproxy redis-server)
# Where npm came with another Node.js than Debian's, the two packages exclude each other.
command -v npm >/dev/null || PACKAGES_TEST+=(nodejs npm)

# usable_dir WANTED: a directory for servers to run in. Run as root, the servers run as other users; if those cannot
# reach WANTED (a checkout below /root), it becomes a link to one under /var/tmp.
usable_dir() {
	local want=$1 real
	mkdir -p "$(dirname "$want")"
	if [ "$(id -u)" = 0 ] && [ ! -L "$want" ] && ! setpriv --reuid=nobody --clear-groups test -x "$(dirname "$want")"; then
		real=/var/tmp/camserver-$(printf %s "$want" | cksum | cut -d' ' -f1)
		mkdir -p "$real" && rm -rf "$want" && ln -s "$real" "$want"
	fi
	mkdir -p "$want/"
	(cd -P "$want" && pwd)
}

# build SOURCE BUILD PREFIX [configure flags...]: out of tree, incremental; SOURCE stays as it is.
build() {
	local source=$1 build=$2 prefix=$3
	shift 3
	if [ ! -x "$source/configure" ] || [ "$source/configure.ac" -nt "$source/configure" ] ||
		[ -n "$(find "$source" -name '*.am' -newer "$source/configure" -print -quit)" ]; then
		(cd "$source" && autoreconf -i) || return
	fi
	mkdir -p "$build" && cd "$build" || return
	if [ ! -e Makefile ] || [ "$source/configure" -nt config.status ]; then
		"$source/configure" --prefix="$prefix" --sysconfdir="$prefix/etc" --localstatedir="$prefix/var" "$@" || return
	fi
	make -j"$(nproc)" && rm -rf "$prefix/share/camserver" && make install
}
