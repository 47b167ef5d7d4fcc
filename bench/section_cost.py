# SPDX-License-Identifier: Apache-2.0
"""What it costs: memory of each program idle and loaded, WAL per job and per heartbeat, round trips per request and per job."""

import contextlib
import time

import section_pipeline
from harness import rss_kb, wait_until
from section_permits import load_limits

PROGRAMS = ("cam-dispatcher", "cam-manager", "camserver.fcgi", "gateway.fcgi")


def memory(bench, when, program, pids):
    sizes = sorted(rss_kb(pid) for pid in pids)
    if sizes:
        bench.report.row(f"{program}, resident, {when}" + (f", largest of {len(sizes)}" if len(sizes) > 1 else ""), [sizes[-1] / 1024], "MB")


def wal(bench, work, n):
    """Bytes of WAL for each of n things that work does."""
    bench.sql("CHECKPOINT")
    before = bench.one("SELECT pg_current_wal_insert_lsn()")
    work()
    return float(bench.one("SELECT pg_current_wal_insert_lsn() - %s::pg_lsn", before)) / n


def calls(bench, pattern):
    return bench.one("SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements WHERE query ~ %s", pattern)


def jobs(bench):
    n = int(2000 * bench.seconds)
    bench.sql("SELECT camserver.setting_set('analyze_inflight', %s)", str(section_pipeline.INFLIGHT))
    section_pipeline.fill(bench, n)
    bench.sql("SELECT pg_stat_statements_reset()")

    def drain():
        bench.spawn_dispatcher(1)
        wait_until(lambda: section_pipeline.done(bench), pause=0.1)

    with bench.instant_node():
        bytes_per_job = wal(bench, drain, n)
        memory(bench, "loaded", "cam-dispatcher", [bench.crowd[0].pid])
        trips = calls(bench, "job_claim|analysis_complete|job_fail|followup_") / n
        bench.stop_dispatchers()
    bench.report.row("WAL per job, claim to completion", [bytes_per_job], "bytes")
    bench.report.row("round trips per job", [trips], "")
    bench.report.ratio("round trips per job", trips, most=0.5)


def leases(bench):
    """Heartbeats by themselves, then whole cycles over HTTP."""
    bench.sql("SELECT camserver.stream_server_set('default', '{\"total_units\": 1000000}')")
    lease = bench.one("SELECT camserver.lease_acquire('bench', 'bench1')->>'lease_id'")
    n = int(200 * bench.seconds)

    def beat():
        with contextlib.closing(bench.connect()) as connection:
            cursor = connection.cursor()
            for _ in range(n):
                cursor.execute("SELECT camserver.lease_heartbeat('bench', %s)", (lease,))

    bench.report.row("WAL per heartbeat", [wal(bench, beat, n)], "bytes")
    bench.sql("SELECT pg_stat_statements_reset()")
    got = bench.load("lease", 32, bench.seconds, bench.http, "bench1")
    memory(bench, "loaded", "camserver.fcgi", bench.pids("camserver.fcgi"))
    bench.report.row("requests while round trips were counted", [3 * got["rate"] * bench.seconds], "")
    requests = bench.one("SELECT sum(calls)::bigint FROM pg_stat_statements WHERE query ~ 'caller_identify'")
    others = bench.one(f"""SELECT coalesce(sum(s.calls), 0)::bigint FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid
        WHERE r.rolname = 'camserver_api' AND s.query !~ 'caller_identify'""")
    bench.report.ratio("round trips per request", (requests + others) / requests, most=1.01)


def calls_of_models(bench):
    load_limits(bench, 1, f"http://127.0.0.1:{bench.node}")
    token = bench.camctl("token", "create", "bench", "--role", "viewer").strip()
    with bench.instant_node(bench.file("answer.json")):
        bench.load("request", 64, bench.seconds, bench.http, "POST", "/api/infer/bench1", 200, bench.file("call.json"), "application/json", token)
        memory(bench, "loaded", "gateway.fcgi", bench.pids("gateway.fcgi"))


def run(bench):
    bench.stack("up", "fcgi", "gateway", "dispatcher", "manager", "lighttpd")
    time.sleep(3)
    for program in PROGRAMS:
        memory(bench, "idle", program, bench.pids(program))
    bench.stack("stop", "dispatcher")
    jobs(bench)
    leases(bench)
    calls_of_models(bench)
