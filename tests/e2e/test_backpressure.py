# SPDX-License-Identifier: Apache-2.0
"""Three stages: accepted, accepted late, refused. For frames against the queue, for model calls against those who wait."""

import contextlib
import datetime
import threading
import uuid

import frames
import pictures
from harness import test, wait_until
from test_gateway import chat, occupied, provider, setting, waiters
from test_metrics import scrape

MAX = 200


def post(client, camera, **query):
    query.setdefault("captured_at", datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z"))
    text = "&".join(f"{k}={v}" for k, v in {"camera_id": camera, **query}.items())
    return client.post(f"/api/frames?{text}", pictures.GRADIENT, content_type="image/jpeg")


@contextlib.contextmanager
def still_queue(stack, **settings):
    """Nobody works on the queue, and the count is always fresh; yields a function that fills it with so many analyses."""
    filler = frames.camera(stack)
    stack.stack("stop", "dispatcher")
    with contextlib.ExitStack() as changed:
        for name, value in {"ingest_queue_max": MAX, "queue_count_ms": 0, "camera_queue_max": 100000, **settings}.items():
            changed.enter_context(setting(stack, name, value))

        def fill(n):
            stack.sql("""DELETE FROM camserver.inference_jobs WHERE camera_id = %s AND frame_id IS NULL""", filler)
            there = stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE kind = 'analyze' AND status IN ('queued', 'waiting')")
            assert there <= n, (there, n)
            stack.sql("""INSERT INTO camserver.inference_jobs (kind, status, camera_id, captured_at, created_at, available_at)
                SELECT 'analyze', CASE WHEN g %% 2 = 0 THEN 'queued' ELSE 'waiting' END::camserver.job_status, %s, now(), now(),
                    now() + interval '1 day' FROM generate_series(1, %s) g""", filler, n - there)

        try:
            yield fill
        finally:
            stack.sql("DELETE FROM camserver.inference_jobs WHERE camera_id = %s AND frame_id IS NULL", filler)
            stack.stack("start", "dispatcher")


def stage(stack, queue="ingest"):
    return stack.fronts["lighttpd"].client().get("/api/system/status").expect(200)["backpressure"][queue]


@test()
def the_queue_in_steps(stack, front):
    """The delay is what the server decided, told in a header; nothing here is timed."""
    camera, client = frames.camera(stack), front.client(token=stack.token("ingest"))
    wait_until(lambda: stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE kind = 'analyze' AND status IN"
                                 " ('queued', 'waiting', 'running')") == 0, timeout=60, what="an empty queue")
    accepted, before, delays = [], scrape(stack), 0
    with still_queue(stack) as fill:
        print("# load    status   delay  expected")
        for percent in (0, 10, 20, 30, 40, 45, 50, 55, 60, 65, 70, 75, 79, 80, 90, 100):
            fill(MAX * percent // 100)
            load = MAX * percent // 100 * 100 / MAX
            expected = int((load - 50) / 30 * 100 + 1e-9) if load >= 50 else 0
            frame = str(uuid.uuid4())
            # A worker that has just refused goes on doing so for half a second.
            answer = wait_until(lambda: [a for a in (post(client, camera, frame_uuid=frame),) if percent >= 80 or a.status == 202],
                                what="the stage")[0]
            delay = int(answer.headers.get("X-Backpressure-Delay-Ms", 0))
            print(f"# {load:5.1f} %  {answer.status}   {delay:4} ms  {expected if percent < 80 else '-':>4}")
            stack.announce()
            now = stage(stack)
            if percent >= 80:
                data = answer.expect(503, "QUEUE_FULL")
                assert data["queue_max"] == MAX and data["queue"] * 100 >= 80 * MAX and data["retry_after"] > 0, data
                assert now["stage"] == "overloaded"
            else:
                assert set(answer.expect(202)) == {"frame_uuid", "job_id", "duplicate"}
                assert delay in (expected, expected - 1), (percent, delay, expected)
                accepted.append(frame)
                delays += delay > 0
                assert now["stage"] == ("warning" if now["load_percent"] >= 50 else "normal"), now
        # Those we have are not turned away when their senders ask again; what was refused has left nothing.
        assert post(client, camera, frame_uuid=accepted[0]).expect(202)["duplicate"] is True
        assert stack.one("SELECT count(*) FROM camserver.frames WHERE camera_id = %s", camera) == len(accepted)
        after = scrape(stack)
        assert after["camserver_backpressure_stage", 'queue="ingest"'] == 2
        assert after["camserver_queue_size", 'queue="ingest"'] == MAX and after["camserver_queue_limit", 'queue="ingest"'] == MAX
        name = "camserver_backpressure_rejections_total", 'queue="ingest"'
        assert after[name] - before[name] == 3, (before[name], after[name])
        for name in ("camserver_backpressure_delayed_total", "camserver_backpressure_delay_seconds_count"):
            assert after[name, 'queue="ingest"'] - before[name, 'queue="ingest"'] == delays, name
        # Other limits, at once.
        with setting(stack, "ingest_queue_max", 10 * MAX):
            wait_until(lambda: post(client, camera, frame_uuid=accepted[0]).status == 202 and stage(stack)["stage"] == "normal",
                       what="another stage")
    for status, attempt, error in frames.settled(stack, *accepted, timeout=60):
        assert status == "done", (status, attempt, error)


@test()
def a_delayed_frame_delays_nobody_else(stack, front):
    camera, token, viewer = frames.camera(stack), stack.token("ingest"), front.client()
    lease = viewer.lease(camera).expect(201)["lease_id"]
    senders = len(stack.workers("fcgi-ingest"))
    with still_queue(stack, backpressure_warning_percent=0, backpressure_delay_ms=10000) as fill:
        fill(MAX * 60 // 100)
        assert stage(stack)["queued"] == MAX * 60 // 100  # and counted
        # A worker that has just refused goes on doing so for half a second.
        threads = [threading.Thread(target=lambda: wait_until(lambda: post(front.client(token=token), camera).status == 202))
                   for _ in range(senders)]
        for t in threads:
            t.start()
        delayed = "camserver_backpressure_delayed_total", 'queue="ingest"'
        before = scrape(stack)[delayed]
        wait_until(lambda: stack.one("SELECT count(*) FROM camserver.frames WHERE camera_id = %s", camera) == senders, what="the frames")
        # Every process of the ingest is held up now.
        viewer.post(f"/api/modal/lease/{lease}/heartbeat").expect(200)
        viewer.get("/api/system/status").expect(200)
        assert all(t.is_alive() for t in threads), "they were not held up"
        assert stack.one("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'camserver.fcgi' AND state LIKE 'idle in%%'") == 0
        for t in threads:
            t.join()
        assert scrape(stack)[delayed] - before <= senders
    viewer.delete(f"/api/modal/lease/{lease}").expect(200)


@test()
def model_calls_that_wait(stack, front):
    token, results = stack.token("viewer"), []
    with setting(stack, "gateway_queue_max", 10), provider(stack, concurrent=1) as up:
        model = up.models[0]

        def ask():
            results.append(front.client(token=token, timeout=60).post("/v1/chat/completions", chat(model)).status)

        with occupied(stack, model):
            before = scrape(stack)
            threads = []
            for n in range(8):
                threads.append(threading.Thread(target=ask))
                threads[-1].start()
                wait_until(lambda: waiters(stack, model) == n + 1, what="the waiter")
            for _ in range(3):
                data = front.client(token=token).post("/v1/chat/completions", chat(model)).expect(503, "QUEUE_FULL")
                assert (data["queue"], data["queue_max"], data["error"]["type"]) == (8, 10, "server_error"), data
            now = scrape(stack)
            assert now["camserver_queue_size", 'queue="gateway"'] == 8 and now["camserver_queue_limit", 'queue="gateway"'] == 10
            assert now["camserver_backpressure_stage", 'queue="gateway"'] == 2
            assert stage(stack, "gateway")["stage"] == "overloaded"
            key = "camserver_backpressure_rejections_total", 'queue="gateway"'
            assert now[key] - before[key] == 3
            # The sixth waited at 50 %, so without delay; the seventh and eighth at 60 and 70 %: 33 and 66 ms.
            for name, more in (("camserver_backpressure_delayed_total", 2), ("camserver_backpressure_delay_seconds_count", 2),
                               ("camserver_backpressure_delay_seconds_sum", 0.099)):
                key = name, 'queue="gateway"'
                assert abs(now[key] - before[key] - more) < 1e-6, (name, before[key], now[key])
            assert waiters(stack, model) == 8
        for t in threads:
            t.join()
        assert results == [200] * 8, results
        wait_until(lambda: stage(stack, "gateway")["stage"] == "normal", what="the end of the wait")
