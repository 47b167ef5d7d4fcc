# SPDX-License-Identifier: Apache-2.0
"""Analyses and questions on workers of a pool: started for them, used again, given back or evicted whatever happens."""

import contextlib
import json
import os
import signal

from frames import camera, frame, job, rules, settled
from harness import test, unique, wait_until
from pools import drop_pool, reason, rows, running
from receivers import configured, reload, settings
from test_dispatch_limits import FOR_EVER, bucket, ended_calls, limited, stats
from test_escalate import GOOD, completion, ended, unknown


@contextlib.contextmanager
def pooled(stack, model="is21", script=(), **properties):
    """Calls of the model go to workers of a new pool while the block runs; its name and its workers' script."""
    pool = unique("pool")
    path = f"{stack.directory}/{pool}.json"
    write(path, *script)
    stack.camctl("pool", "add", pool, "driver=exec", f"command={stack.prefix}/sbin/cam-analyzer --script {path}", "stop_grace_sec=5",
                 "acquire_timeout_sec=30", *[f"{k}={v}" for k, v in properties.items()])
    try:
        with limited(stack, model, pool=pool, requests=1000, window_ms=FOR_EVER, concurrent=8):
            reload(stack)  # the dispatchers hear of the pool with their heartbeat
            yield pool, path
            wait_until(lambda: not rows(stack, pool, "in_use"), what="the return of all workers")
    finally:
        reload(stack)
        drop_pool(stack, pool)


def write(path, *rules):
    with open(path, "w") as f:
        json.dump({"rules": list(rules)}, f)
    os.chmod(path, 0o644)


def counts(stack, pool):
    """Starts that went well, calls that were granted."""
    return stack.one("SELECT starts_ok FROM camserver.pools WHERE name = %s", pool), \
        stack.one("SELECT coalesce(sum(calls), 0)::integer FROM camserver.workers WHERE pool = %s", pool)


@test(fronts=None)
def analyses_start_a_worker_and_use_it_again(stack):
    cam = camera(stack)
    with pooled(stack, max_capacity=3) as (pool, _):
        before = stats(stack)["analyze"]
        wait_until(lambda: all(f"pool {pool}" in stack.log(f"dispatcher{i + 1}") for i in range(int(stack.settings["DISPATCHERS"]))),
                   what="the news")
        assert not rows(stack, pool)
        assert settled(stack, frame(stack, cam, 0), timeout=60)[0][:2] == ("done", 1)
        assert counts(stack, pool)[0] == 1, "a cold start"
        assert settled(stack, frame(stack, cam, 1), timeout=60)[0][:2] == ("done", 1)
        started, calls = counts(stack, pool)
        assert started == 1 and calls >= 2, (started, calls)
        names = [frame(stack, cam, i) for i in range(2, 26)]
        assert {j[:2] for j in settled(stack, *names, timeout=90)} == {("done", 1)}
        assert counts(stack, pool)[0] <= 3, "no more than may run"
        assert stats(stack)["analyze"] == before, "and the node has nothing to do"
        assert stack.one("SELECT count(*) FROM camserver.frames WHERE camera_id = %s AND analyzed", cam) == 26
        wait_until(lambda: bucket(stack)[1:] == (0, 0), what="the last release")
        assert set(ended_calls(stack)) == {"released"}


@test(fronts=None)
def a_worker_that_dies_in_a_call_is_evicted_and_the_frame_analysed(stack):
    cam = camera(stack)
    with pooled(stack, script=[{"match": {"path": "/v1/analyze", "camera_id": cam}, "hang": True}], max_capacity=1) as (pool, path):
        name = frame(stack, cam)
        wait_until(lambda: rows(stack, pool, "in_use") and job(stack, name)[0] == "running" and asks(stack, pool), 60, "a call that hangs")
        (worker, pid), = running(stack, pool).items()
        write(path)
        os.kill(pid, signal.SIGKILL)
        status, attempt, _ = settled(stack, name, timeout=60)[0]
        assert (status, attempt) == ("done", 2), (status, attempt)
        assert worker not in rows(stack, pool), "it is not used again"
        assert reason(stack, worker)
        assert settled(stack, frame(stack, cam, 1))[0][:2] == ("done", 1)


def asks(stack, pool):
    """Whether the pool's worker has an analysis under way that is past its schema."""
    ports = stack.sql("SELECT port FROM camserver.workers WHERE pool = %s AND state = 'in_use'", pool)
    return any(stats(stack, port)["concurrent"] == 1 for port, in ports)


@test(fronts=None)
def no_worker_spends_no_attempt(stack):
    cam = camera(stack)
    with pooled(stack, max_capacity=0) as (pool, _):
        name = frame(stack, cam)
        wait_until(lambda: "POOL_DISABLED" in (job(stack, name)[2] or ""), what="the refusal")
        stack.camctl("pool", "set", pool, "max_capacity=2")
        assert settled(stack, name, timeout=90)[0][:2] == ("done", 1)


@test(fronts=None)
def a_stopped_dispatcher_leaves_no_worker_in_use(stack):
    cam = camera(stack)
    with pooled(stack, script=[{"match": {"path": "/v1/analyze", "camera_id": cam}, "hang": True}], max_capacity=2) as (pool, path):
        names = [frame(stack, cam, i) for i in range(3)]
        wait_until(lambda: rows(stack, pool, "in_use") and asks(stack, pool), 60, "calls that hang")
        write(path)
        stack.stack("stop", "dispatcher")
        wait_until(lambda: not rows(stack, pool, "in_use"), what="the return of all workers")
        assert bucket(stack)[1:] == (0, 0), "nor a permit or a place in the queue"
        stack.stack("start", "dispatcher")
        assert {j[0] for j in settled(stack, *names, timeout=90)} == {"done"}


@test(fronts=None)
def questions_are_put_to_a_worker_of_the_model_s_pool(stack):
    status, headers, body = completion(json.dumps(GOOD, ensure_ascii=False))
    name = unique("eyes")
    with pooled(stack, name, script=[{"match": {"path": "/v1/chat/completions"}, "status": 200, "body": body.decode()}], max_capacity=1) as (pool, _), \
            settings(stack, escalate_camera_sec=0), configured(stack, LLM_MODEL=name):
        def asked():
            cam = unknown(stack)
            return stack.one("SELECT count(*) FROM camserver.llm_reviews WHERE camera_id = %s", cam) and cam
        cam = wait_until(asked, 60, "a dispatcher that knows of the model")
        assert ended(stack, cam)[:3] == ("ok", None, GOOD["summary"])
        assert counts(stack, pool)[0] == 1
        wait_until(lambda: rows(stack, pool, "idle"), what="the return of the worker")
    rules(stack)
