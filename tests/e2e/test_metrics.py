# SPDX-License-Identifier: Apache-2.0
"""What /metrics tells: clean text, the database's truth, and something also while the database is away."""

import datetime
import json
import os
import re
import signal
import subprocess
import uuid

import frames
import pictures
import pools
from harness import test, unique, wait_until
from receivers import Receiver, channel, secret
from test_gateway import chat, occupied, provider

LINE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")


def samples(answer):
    """Every sample as (name, labels as they stand) -> value."""
    assert answer.status == 200, answer.body[:400]
    found = {}
    for line in answer.body.decode().splitlines():
        if not line.startswith("#"):
            name, labels, value = LINE.fullmatch(line).groups()
            assert (name, labels or "") not in found, line
            found[name, labels or ""] = float(value)
    return found


def scrape(stack):
    return samples(stack.fronts["lighttpd"].client().get("/metrics"))


@test()
def the_text_is_clean(stack, front):
    front.client().get("/healthz").expect(200)
    answer = front.client().get("/metrics")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", dict(answer.headers)
    assert "Set-Cookie" not in answer.headers
    found = samples(answer)
    done = subprocess.run(["promtool", "check", "metrics"], input=answer.body, capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stdout + done.stderr == b"", (done.stdout + done.stderr).decode()
    assert found["camserver_database_up", ""] == 1
    for program in ("camserver.fcgi", "gateway.fcgi", "cam-dispatcher", "cam-manager"):
        assert found["camserver_processes", f'program="{program}"'] == len(stack.pids(program)) > 0, program
    # The specification's six, by their meaning.
    assert found["camserver_request_duration_seconds_count", 'route="health",status="2xx"'] > 0
    for name, labels in (("queue_size", 'queue="ingest"'), ("queue_size", 'queue="gateway"'), ("pool_connections", ""),
                         ("backpressure_rejections_total", 'queue="ingest"'), ("cache_hits_total", ""), ("cache_misses_total", "")):
        assert found["camserver_" + name, labels] >= 0
    assert [f'{b:g}' for b in (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)] + ["+Inf"] == [
        labels.split('le="')[1].rstrip('"') for name, labels in found
        if name == "camserver_request_duration_seconds_bucket" and labels.startswith('route="health",status="2xx"')]


@test()
def without_the_database_the_host_s_own_numbers_are_there(stack, front):
    programs = ("camserver.fcgi", "cam-dispatcher", "cam-manager")
    wait_until(lambda: stack.one("SELECT count(DISTINCT application_name) FROM pg_stat_activity WHERE application_name = ANY(%s)",
                                 list(programs)) == 3, what="everybody's connection")
    before = scrape(stack)
    stack.stack("stop", "pg")
    stack.connection = None
    try:
        front.client().get("/api/system/status").expect(503, "DB_UNAVAILABLE")
        found = samples(front.client().get("/metrics"))
        assert found["camserver_database_up", ""] == 0
        assert found["camserver_requests_total", ""] > before["camserver_requests_total", ""]
        assert found["camserver_database_unavailable_total", ""] > before["camserver_database_unavailable_total", ""]
        assert ("camserver_dispatchers", "") not in found
    finally:
        stack.stack("start", "pg")
    wait_until(lambda: scrape(stack)["camserver_database_up", ""] == 1, what="the database")
    for program in programs:
        key = ("camserver_database_reconnects_total", f'program="{program}"')
        wait_until(lambda: scrape(stack)[key] > before[key], what=f"the connection of {program}")


@test(fronts=("lighttpd",))
def numbers_outlive_programs_and_gauges_do_not(stack, front):
    front.client().get("/healthz").expect(200)
    before = scrape(stack)
    killed = stack.workers("fcgi")
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(stack.workers("fcgi")) == len(killed) and not set(killed) & set(stack.workers("fcgi")), what="new processes")
    after = scrape(stack)
    assert all(after[key] >= value for key, value in before.items() if key[0].endswith(("_total", "_bucket", "_count")))
    wait_until(lambda: scrape(stack)["camserver_processes", 'program="camserver.fcgi"'] == len(stack.pids("camserver.fcgi")),
               what="the new processes, without the dead")


@test(fronts=None)
def other_hosts_may_not_ask(stack):
    """In a network of its own, where 192.0.2.2 is another host than 192.0.2.1."""
    if os.getuid() != 0:
        print("# not root: no network of its own to be had")
        return
    script = r"""
        ip link set lo up && ip addr add 192.0.2.1/32 dev lo && ip addr add 192.0.2.2/32 dev lo
        %s & server=$!
        for i in $(seq 1 100); do curl -s -o /dev/null http://192.0.2.1:%s/healthz && break; sleep 0.1; done
        ask() { curl -s -o /dev/null -w '%%{http_code} ' --interface $1 http://$2:%s$3; }
        ask 127.0.0.1 127.0.0.1 /metrics; ask 192.0.2.2 192.0.2.1 /metrics; ask 192.0.2.2 192.0.2.1 /healthz
        kill $server; wait $server
    """
    for name, port in (("lighttpd", stack.settings["HTTP_PORT"]), ("apache", stack.settings["APACHE_PORT"])):
        text = open(f"{stack.directory}/{name}.conf").read()
        path = f"{stack.directory}/{name}-elsewhere.conf"
        if name == "lighttpd":
            text = text.replace('server.bind = "127.0.0.1"', 'server.bind = "0.0.0.0"')
            command = f"lighttpd -D -f {path}"
        else:
            text = text.replace("Listen 127.0.0.1:", "Listen 0.0.0.0:").replace("apache-own.pid", "apache-elsewhere.pid")
            command = f"apache2 -D FOREGROUND -f {path}"
        with open(path, "w") as f:
            f.write(text)
        done = stack.run("unshare", "-n", "bash", "-c", script % (command, port, port), env={**os.environ, "PATH": "/usr/sbin:/sbin:" + os.environ["PATH"]})
        assert done.stdout.split() == ["200", "403", "200"], (name, done.stdout, done.stderr)


TRUTH = """
    SELECT 'leases_granted', (SELECT count(*) FROM camserver.modal_leases) + (SELECT count(*) FROM camserver.modal_lease_log)
    UNION ALL SELECT 'leases_released', count(*) FROM camserver.modal_lease_log WHERE end_reason = 'released'
    UNION ALL SELECT 'frames', count(*) FROM camserver.frames
    UNION ALL SELECT 'done ' || k, (SELECT count(*) FROM camserver.inference_jobs WHERE kind = k AND status = 'done')
        FROM unnest(enum_range(NULL::camserver.job_kind)) k
    UNION ALL SELECT 'attempts ' || k, (SELECT coalesce(sum(attempt), 0) FROM camserver.inference_jobs WHERE kind = k)
        FROM unnest(enum_range(NULL::camserver.job_kind)) k
    UNION ALL SELECT 'dead', count(*) FROM camserver.inference_jobs WHERE status = 'dead'
    UNION ALL SELECT 'archived', count(*) FROM camserver.archive_objects
    UNION ALL SELECT 'sent', count(*) FROM camserver.notifications WHERE state = 'sent'
    UNION ALL SELECT 'permits ' || o, (SELECT count(*) FROM camserver.permit_calls
        WHERE outcome = o AND caller <> 'test') FROM unnest(ARRAY['released', 'refused']) o
"""


def told(found):
    """The same of what /metrics says."""
    kinds = ("analyze", "archive", "notify", "escalate")
    return {"leases_granted": found["camserver_leases_granted_total", ""], "leases_released": found["camserver_leases_released_total", ""],
            "frames": found["camserver_frames_accepted_total", ""],
            **{f"done {k}": found["camserver_jobs_done_total", f'kind="{k}"'] for k in kinds},
            **{f"attempts {k}": found["camserver_job_attempts_total", f'kind="{k}"'] for k in kinds},
            "dead": found["camserver_jobs_dead_total", ""], "archived": found["camserver_archived_total", ""],
            "sent": found["camserver_notifications_sent_total", ""],
            "permits released": found["camserver_permits_total", 'outcome="granted"'],
            "permits refused": found["camserver_permits_total", 'outcome="refused"']}


def nothing_to_do(stack):
    return stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE status IN ('queued', 'waiting', 'running')") == 0 \
        and stack.one("SELECT count(*) FROM camserver.permits") == 0


def mixed_run(stack, front, count):
    """Requests of all kinds; count(route, status, n) is told of each. Returns when everything that followed is over."""
    server, camera = stack.server(total_units=16, max_ui_users=0)
    viewer, other, poor = front.client(), front.client(), front.client()
    sender, caller, operator = (front.client(token=stack.token(role)) for role in ("ingest", "viewer", "operator"))

    def did(route, answer, status):
        assert answer.status == status, (answer.status, answer.body[:300])
        count(route, status)
        return answer

    lease = did("lease", viewer.lease(camera), 201).json["lease_id"]
    did("lease", viewer.lease(camera), 409)
    for n in range(3):
        did("lease", viewer.post(f"/api/modal/lease/{lease}/heartbeat"), 200)
    did("lease", other.lease(camera, "main"), 201)
    for n in range(4):
        did("lease", front.client().lease(camera, "main"), 201)
    did("lease", poor.lease(camera, "main"), 503)
    did("lease", viewer.delete(f"/api/modal/lease/{lease}"), 200)
    did("lease", viewer.post(f"/api/modal/lease/{lease}/heartbeat"), 410)

    # Frames: one is detected and told, one shows nothing, one is no use to the node.
    good, bad = frames.camera(stack), frames.camera(stack)
    frames.rules(stack, frames.result(good, "hazard", 3, tags=["hazard.fire"]),
                 {"match": {"path": "/v1/analyze", "camera_id": bad}, "status": 400, "body": "no"})
    names = []
    for cam, uses in ((good, 3), (camera, 2), (bad, 1)):
        for _ in range(uses):
            names.append(str(uuid.uuid4()))
            at = datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
            for _ in range(2):  # the second time is no second frame
                did("frames", sender.post(f"/api/frames?camera_id={cam}&captured_at={at}&frame_uuid={names[-1]}", pictures.GRADIENT,
                                          content_type="image/jpeg"), 202)
    did("frames", sender.post(f"/api/frames?camera_id={camera}", b"x", content_type="image/jpeg"), 400)
    frames.settled(stack, *names)
    did("events", viewer.get("/api/events"), 200)
    did("events", viewer.get("/api/cameras"), 200)
    did("events", viewer.get(f"/api/events/{uuid.uuid4()}"), 404)
    did("status", viewer.get("/api/system/status"), 200)
    did("admin", operator.get("/api/jobs"), 200)
    did("admin", caller.get("/api/jobs"), 403)
    did("media", viewer.post("/api/media/link", {"frame_uuid": names[0]}), 200)
    did("health", viewer.get("/readyz"), 200)
    did("other", viewer.get("/api/nothing"), 404)

    with provider(stack, concurrent=1) as up:
        for _ in range(3):
            did("infer", caller.post("/v1/chat/completions", chat(up.models[0])), 200)
        wait_until(lambda: stack.one("SELECT count(*) FROM camserver.permits") == 0, what="the end of the permits")
        with occupied(stack, up.models[0]):
            did("infer", caller.post("/v1/chat/completions", chat(up.models[0]), headers={"Prefer": "wait=0"}), 429)
        did("infer", caller.post("/v1/chat/completions", chat(unique("nobody"))), 404)
        did("infer", caller.get("/v1/models"), 200)
        wait_until(lambda: nothing_to_do(stack), timeout=60, what="the end of all work")
    frames.rules(stack)


@test()
def counters_equal_the_database_s_truth(stack, front):
    # The node knows its schema after the first frame; an attempt that ends with telling it is taken back.
    frames.settled(stack, frames.frame(stack, frames.camera(stack)))
    wait_until(lambda: nothing_to_do(stack), timeout=60, what="the end of earlier work")
    receiver, requests = Receiver(), {}

    def count(route, status):
        key = "camserver_request_duration_seconds_count", f'route="{route}",status="{status // 100}xx"'
        requests[key] = requests.get(key, 0) + 1

    with channel(stack, kind="webhook", url=receiver.url, secret_file=secret(stack)):
        before, truth = scrape(stack), dict(stack.sql(TRUTH))
        count("health", 200)
        mixed_run(stack, front, count)
        # The dispatcher counts when it has heard, which may be a moment after the fact.
        expected = {name: value - truth[name] for name, value in stack.sql(TRUTH)}

        def gained():
            now = told(scrape(stack))
            count("health", 200)
            return {name: value - told(before)[name] for name, value in now.items()}

        try:
            wait_until(lambda: gained() == expected, what="the counters")
        except AssertionError:
            raise AssertionError(f"expected {expected}, told {gained()}")
    receiver.stop()
    assert expected["leases_granted"] == 6 and expected["frames"] == 6 and expected["done analyze"] == 5 and expected["dead"] == 1, expected
    assert expected["archived"] >= 3 and expected["sent"] >= 1 and expected["permits released"] == 3 and expected["permits refused"] == 1, expected
    after = scrape(stack)
    print("# " + ", ".join(f"{name} {value}" for name, value in sorted(expected.items()) if value))
    for key, n in requests.items():
        assert after[key] - before.get(key, 0) == n, (key, n, after[key], before.get(key))  # none: there were none
    assert after["camserver_requests_total", ""] - before["camserver_requests_total", ""] == sum(requests.values())
    for name, labels, n in (("leases_refused_total", 'reason="OVER_CAPACITY"', 1), ("leases_refused_total", 'reason="USER_ALREADY_HAS_MODAL"', 1),
                            ("lease_heartbeats_total", 'outcome="ok"', 3), ("lease_heartbeats_total", 'outcome="expired"', 1),
                            ("job_duration_seconds_count", 'kind="analyze"', 6), ("permit_wait_seconds_count", "", 5)):
        key = "camserver_" + name, labels
        assert after[key] - before[key] == n, (key, n, after[key] - before[key])


@test(fronts=None)
def what_the_sweeps_do_is_counted(stack):
    server, camera = stack.server(modal_ttl_sec=1)
    before = scrape(stack)
    stack.fronts["lighttpd"].client().lease(camera).expect(201)
    # A job whose dispatcher is gone, at its last attempt.
    stack.sql("""INSERT INTO camserver.inference_jobs (kind, status, camera_id, captured_at, created_at, available_at, attempt, max_attempt,
            locked_by, locked_token, locked_at, deadline_at)
        VALUES ('analyze', 'running', %s, now(), now(), now(), 1, 1, gen_random_uuid(), camserver.job_token(now(), 1), now(),
            now() + interval '1 hour')""", camera)
    for name in ("camserver_jobs_rescued_total", "camserver_leases_swept_total"):
        wait_until(lambda: scrape(stack)[name, ""] > before[name, ""], timeout=60, what=name)
    wait_until(lambda: scrape(stack)["camserver_jobs", 'kind="analyze",state="dead"'] > before["camserver_jobs", 'kind="analyze",state="dead"'],
               what="the dead job")
    stack.sql("DELETE FROM camserver.inference_jobs WHERE camera_id = %s", camera)


@test(fronts=None)
def the_alert_rules_fire_and_stay_quiet(stack):
    directory = f"{stack.prefix}/share/camserver/contrib/prometheus"
    for words in (("test", "rules", "camserver.rules.test.yml"), ("check", "config", "prometheus.yml")):
        done = stack.run("promtool", *words, cwd=directory)
        assert done.returncode == 0 and "FAILED" not in done.stdout + done.stderr, done.stdout + done.stderr
    # Each rule has a case that makes it fire.
    rules = set(re.findall(r"- alert: (\w+)", open(f"{directory}/camserver.rules.yml").read()))
    cases = set(re.findall(r'ALERTS\{alertname="(\w+)",alertstate="firing"\}', open(f"{directory}/camserver.rules.test.yml").read()))
    assert rules == cases and len(rules) > 20, rules ^ cases


@test(fronts=None)
def rules_and_dashboard_speak_of_metrics_that_exist(stack):
    pool, camera = pools.make_pool(stack, "exec"), frames.camera(stack)
    frames.settled(stack, frames.frame(stack, camera))
    stack.camctl("node", "add", "metrics", "base_url=http://127.0.0.1:9", "models=nothing")
    with provider(stack):
        there = {name for name, labels in scrape(stack)}
    pools.drop_pool(stack, pool)
    stack.camctl("node", "remove", "metrics")
    there |= {re.sub(r"_(bucket|count|sum)$", "", name) for name in there}
    share = f"{stack.prefix}/share/camserver/contrib"
    for path in (f"{share}/grafana/camserver.json", f"{share}/prometheus/camserver.rules.yml"):
        text = open(path).read()
        if path.endswith(".json"):
            panels = json.loads(text)["panels"]
            text = "\n".join(t["expr"] for p in panels for t in p.get("targets", []))
            assert len(panels) > 30 and len({p["id"] for p in panels}) == len(panels)
        else:
            text = "\n".join(line for line in text.splitlines() if "expr:" in line)
        named = set(re.findall(r"\bcamserver_\w+", text))
        assert len(named) > 20 and named <= there, (path, sorted(named - there))
