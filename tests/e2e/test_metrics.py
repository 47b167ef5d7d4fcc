# SPDX-License-Identifier: Apache-2.0
"""What /metrics tells: clean text, the database's truth, and something also while the database is away."""

import os
import re
import signal
import subprocess

from harness import test, wait_until

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
        if name == "camserver_request_duration_seconds_bucket" and labels.startswith('route="lease",status="2xx"')]


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
