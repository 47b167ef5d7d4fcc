# SPDX-License-Identifier: Apache-2.0
"""cam-dispatcher as a daemon: sweeps done once, clean stop, reload, restart, counters and metrics."""

import os
import signal

from harness import test, unique, wait_until


@test(fronts=None)
def each_sweep_is_done_by_one_of_them_at_its_interval(stack):
    for name in ("leases", "sessions", "admission_metrics"):
        before = stack.one("SELECT last_run_at FROM camserver.sweeps WHERE name = %s", name)
        wait_until(lambda: stack.one("SELECT last_run_at FROM camserver.sweeps WHERE name = %s", name) != before, timeout=25)
    gaps = stack.sql("SELECT extract(epoch FROM recorded_at - lag(recorded_at) OVER (ORDER BY metric_id)) AS gap"
                     " FROM camserver.admission_metrics")
    assert all(gap[0] is None or gap[0] > 5 for gap in gaps), gaps  # two dispatchers, still one row in 10 s; each is written a moment after its time
    assert not stack.sql("SELECT * FROM camserver.sweep_list WHERE last_error IS NOT NULL")


@test(fronts=None)
def metrics_are_pruned_after_a_day(stack):
    stack.sql("INSERT INTO camserver.admission_metrics (recorded_at, active_modals, active_suggest, cpu_percent,"
              " memory_percent, requests_total, rejections_total, units_used, modal_budget, active_ui_users)"
              " SELECT now() - h * interval '1 hour', 0, false, 0, 0, 0, 0, 0, 0, 0 FROM generate_series(20, 40) h")
    stack.sql("UPDATE camserver.sweeps SET next_run_at = '-infinity' WHERE name = 'prune'")
    old = "SELECT count(*) FROM camserver.admission_metrics WHERE recorded_at < now() - interval '%s hours'"
    wait_until(lambda: stack.one(old % 24) == 0, what="the pruning")
    assert stack.one(old % 19) >= 4


@test()
def refusals_are_counted_by_reason(stack, front):
    count = lambda: dict(stack.sql("SELECT reason, refused FROM camserver.refusals"))
    rows = lambda: stack.sql("SELECT requests_total, rejections_total FROM camserver.admission_metrics ORDER BY metric_id DESC LIMIT 1")
    wait_until(lambda: "OVER_CAPACITY" in count(), what="the first report of the counters")
    before = count()
    _, camera = stack.server(total_units=15)
    for _ in range(7):
        front.client().lease(camera).expect(503, "OVER_CAPACITY")
    wait_until(lambda: count()["OVER_CAPACITY"] >= before["OVER_CAPACITY"] + 7, what="the counters' report")
    wait_until(lambda: rows() and rows()[0][1] >= sum(before.values()) + 7, timeout=25, what="the metrics row")
    assert rows()[0][0] >= rows()[0][1]


@test(fronts=None)
def SIGTERM_signs_off_and_ends_well(stack):
    pid = stack.pids("cam-dispatcher")[0]
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: pid not in stack.pids("cam-dispatcher"), what="the end")
    assert stack.one("SELECT state FROM camserver.dispatcher_list WHERE pid = %s ORDER BY started_at DESC LIMIT 1", pid) == "stopped"
    stack.stack("start", "dispatcher")
    wait_until(lambda: len(stack.pids("cam-dispatcher")) == 2)


@test(fronts=None)
def a_killed_dispatcher_is_seen_as_dead_and_the_sweeps_go_on(stack):
    pid = stack.pids("cam-dispatcher")[0]
    os.kill(pid, signal.SIGKILL)
    state = "SELECT state FROM camserver.dispatcher_list WHERE pid = %s ORDER BY started_at DESC LIMIT 1"
    stack.sql("UPDATE camserver.dispatchers SET last_heartbeat = last_heartbeat - interval '31 s' WHERE pid = %s", pid)
    assert stack.one(state, pid) == "dead"
    before = stack.one("SELECT last_run_at FROM camserver.sweeps WHERE name = 'leases'")
    wait_until(lambda: stack.one("SELECT last_run_at FROM camserver.sweeps WHERE name = 'leases'") != before, timeout=25)
    stack.stack("start", "dispatcher")
    wait_until(lambda: len(stack.pids("cam-dispatcher")) == 2)


@test(fronts=None)
def SIGHUP_reads_the_configuration_again_and_survives_a_bad_one(stack):
    good = open(stack.conf).read()
    pid = stack.pids("cam-dispatcher")[0]
    both = lambda: stack.log("dispatcher1") + stack.log("dispatcher2")
    try:
        with open(stack.conf, "a") as f:
            f.write("LOG_LEVEL=loud\n")
        os.kill(pid, signal.SIGHUP)
        wait_until(lambda: "LOG_LEVEL must be one of" in both(), what="the complaint")
        assert pid in stack.pids("cam-dispatcher")
    finally:
        with open(stack.conf, "w") as f:
            f.write(good)
    os.kill(pid, signal.SIGHUP)
    wait_until(lambda: "configuration reloaded" in both(), what="the reload")
    host = lambda: stack.one("SELECT heartbeat_age_sec < 25 FROM camserver.dispatcher_list WHERE pid = %s"
                             " ORDER BY started_at DESC LIMIT 1", pid)
    assert host()


@test(fronts=None)
def hand_edited_leases_are_mended(stack):
    server, camera = stack.server()
    stack.fronts["lighttpd"].client().lease(camera, "main").expect(201)
    stack.sql("DELETE FROM camserver.modal_leases WHERE stream_server_id = %s", server)
    assert stack.usage(server) == 2
    stack.sql("UPDATE camserver.sweeps SET next_run_at = '-infinity' WHERE name = 'usage'")
    wait_until(lambda: stack.usage(server) == 0, what="the recount")
