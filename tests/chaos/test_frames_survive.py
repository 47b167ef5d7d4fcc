# SPDX-License-Identifier: Apache-2.0
"""Whatever dies in the middle: every frame is analysed, and its effects are there exactly once."""

import os
import random
import signal
import threading
import time

from frames import STARTS, camera, result, rules, spool
from harness import test, wait_until
from test_archive import files, objects

FRAMES = int(os.environ.get("CHAOS_FRAMES", 5000))
CAMERAS = 10


def feed(stack, cams):
    """All frames at once, in few transactions; every camera sees a person for the whole time."""
    names = [spool(stack) for _ in range(FRAMES)]
    for i in range(0, FRAMES, 500):
        stack.sql("SELECT camserver.frame_ingest('chaos', u, (%s::text[])[1 + o %% %s], %s + o * interval '10 ms', 0, 1000)"
                  " FROM unnest(%s::uuid[]) WITH ORDINALITY AS f (u, o)", cams, CAMERAS, STARTS[cams[0]], names[i:i + 500])
    return names


def left(stack, cams):
    try:
        return stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE camera_id = ANY(%s)"
                         " AND status IN ('queued', 'waiting', 'running')", cams)
    except Exception:
        stack.connection = None
        return None


def check_exactly_once(stack, cams):
    statuses = stack.sql("SELECT kind::text, status::text, count(*) FROM camserver.inference_jobs WHERE camera_id = ANY(%s) GROUP BY 1, 2 ORDER BY 1",
                         cams)
    assert statuses == [("analyze", "done", FRAMES), ("archive", "done", FRAMES)], statuses
    kept = files(f"{stack.directory}/archive")
    kept = {path: kept[path] for path in kept if any(f"/{cam}/" in path for cam in cams)}
    assert kept == {path: sum for cam in cams for path, sum in objects(stack, cam).items()} and len(kept) == FRAMES, len(kept)
    frames, tags = stack.sql("SELECT count(*) FILTER (WHERE analyzed AND event_id IS NOT NULL), (SELECT count(*) FROM camserver.frame_tags"
                             " JOIN camserver.frames USING (frame_id) WHERE camera_id = ANY(%s))"
                             " FROM camserver.frames WHERE camera_id = ANY(%s)", cams, cams)[0]
    assert (frames, tags) == (FRAMES, FRAMES), (frames, tags)
    counted, real = stack.sql("SELECT sum(frame_count), (SELECT count(*) FROM camserver.frames f WHERE f.event_id IN"
                              " (SELECT event_id FROM camserver.events WHERE camera_id = ANY(%s)))"
                              " FROM camserver.events WHERE camera_id = ANY(%s)", cams, cams)[0]
    assert counted == real == FRAMES, (counted, real)
    events, event_tags = stack.sql("SELECT count(*), (SELECT count(*) FROM camserver.event_tags JOIN camserver.events USING (event_id)"
                                   " WHERE camera_id = ANY(%s)) FROM camserver.events WHERE camera_id = ANY(%s)", cams, cams)[0]
    assert events == event_tags == CAMERAS, (events, event_tags)


def prepare(stack, **rule):
    cams = [camera(stack) for _ in range(CAMERAS)]
    for name, value in (("dispatcher_stale_sec", 3), ("camera_queue_max", FRAMES), ("job_max_attempt", 50),
                        ("job_backoff_base_ms", 200), ("event_merge_gap_sec", 3600), ("event_close_grace_sec", 3600)):
        stack.sql("SELECT camserver.setting_set(%s, %s)", name, str(value))
    entry = result("cam*", "human", 1, tags=["human.presence"])
    entry.update(rule)
    rules(stack, entry)
    time.sleep(11)  # the dispatchers learn the tunables with their heartbeat
    return cams


@test(fronts=None)
def dispatchers_killed_every_second(stack):
    cams = prepare(stack, delay_ms=15)
    feed(stack, cams)
    kills = 0
    end = time.monotonic() + 900
    while left(stack, cams) and time.monotonic() < end:
        pids = stack.pids("cam-dispatcher")
        # for the last ones nobody is killed any more, or they could go on for ever
        if pids and left(stack, cams) > FRAMES // 20:
            os.kill(random.choice(pids), signal.SIGKILL)
            kills += 1
        time.sleep(1)
        stack.stack("start", "dispatcher")
    check_exactly_once(stack, cams)
    rescued = stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE camera_id = ANY(%s) AND attempt > 1", cams)
    print(f"# {FRAMES} frames, {kills} kills, {rescued} jobs done by a later attempt")
    assert kills > 3 and rescued > 0


@test(fronts=None)
def a_zombie_finds_its_writes_refused(stack):
    """Stopped (not killed) for longer than its heartbeat may be silent: its jobs are done by others meanwhile."""
    cams = prepare(stack, delay_ms=200)
    before = stack.one("SELECT coalesce(sum(value), 0) FROM camserver.host_counters WHERE name = 'fenced_writes'")
    feed(stack, cams)
    wait_until(lambda: left(stack, cams) < FRAMES, what="work")
    pid = stack.pids("cam-dispatcher")[0]
    os.kill(pid, signal.SIGSTOP)
    time.sleep(8)
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: left(stack, cams) == 0, timeout=900, what="the end")
    check_exactly_once(stack, cams)
    wait_until(lambda: stack.one("SELECT coalesce(sum(value), 0) FROM camserver.host_counters WHERE name = 'fenced_writes'") > before,
               what="the count of refused writes")


@test(fronts=None)
def the_database_restarted_three_times(stack):
    cams = prepare(stack, delay_ms=5)
    feed(stack, cams)
    pids = stack.pids("cam-dispatcher")
    for how in ("stop", "kill", "stop"):
        time.sleep(3)
        stack.stack(how, "pg")
        time.sleep(1)
        stack.stack("start", "pg")
        stack.connection = None
    wait_until(lambda: left(stack, cams) == 0, timeout=900, what="the end")
    check_exactly_once(stack, cams)
    assert stack.pids("cam-dispatcher") == pids, "no dispatcher had to be restarted"


@test(fronts=None)
def the_analyzer_away_then_busy_then_well(stack):
    cams = prepare(stack)
    stack.sql("SELECT camserver.setting_set('job_max_attempt', '8')")
    stack.sql("SELECT camserver.setting_set('job_backoff_base_ms', '1000')")
    count = lambda: stack.one("SELECT coalesce(sum(value), 0) FROM camserver.host_counters WHERE name = 'node_requests'")
    time.sleep(6)  # the counters are reported every 5 s
    before = count()
    stack.stack("stop", "analyzer")
    feed(stack, cams)
    time.sleep(20)
    during = count() - before
    rules(stack, {"match": {"path": "/v1/analyze"}, "status": 429, "headers": {"Retry-After": "1"}, "body": {"error": "overloaded"}})
    stack.stack("start", "analyzer")
    time.sleep(10)
    rules(stack, result("cam*", "human", 1, tags=["human.presence"]))
    wait_until(lambda: left(stack, cams) == 0, timeout=900, what="the end")
    check_exactly_once(stack, cams)
    most = stack.one("SELECT max(attempt) FROM camserver.inference_jobs WHERE camera_id = ANY(%s)", cams)
    print(f"# {during} requests in 20 s without a node, for {FRAMES} waiting jobs and 3 dispatchers; at most {most} attempts")
    assert during < 200, during
