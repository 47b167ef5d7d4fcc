# SPDX-License-Identifier: Apache-2.0
"""Follow-ups under faults, at the size that counts: a thousand frames into an archive that dies, a receiver that is
down for a minute, and the removal of many thousand expired rows."""

import contextlib
import os
import subprocess
import threading
import time

import psycopg2

from frames import camera, rules
from harness import test, wait_until
from receivers import Receiver, channel, secret, settings
from test_archive import Rclone, archive_through_an_outage
from test_notify import notifications, see


@test(fronts=None)
def a_thousand_frames_through_rclone_to_webdav(stack):
    rclone = Rclone(stack)
    try:
        archive_through_an_outage(stack, rclone, "dav:", 1000, rclone.kill_dav, rclone.start_dav)
    finally:
        rclone.stop()


@test(fronts=None)
def a_thousand_frames_through_rclone_to_a_directory(stack):
    rclone = Rclone(stack)
    try:
        archive_through_an_outage(stack, rclone, rclone.store, 1000, rclone.kill_rcd, rclone.start_rcd)
    finally:
        rclone.stop()


@test(fronts=None)
def a_receiver_that_is_down_for_a_minute(stack):
    receiver = Receiver()
    cams = [camera(stack) for _ in range(10)]
    with settings(stack, notify_stale_sec=20), channel(stack, kind="webhook", url=receiver.url, secret_file=secret(stack)):
        receiver.stop()
        end, at, events, seen = time.monotonic() + 60, 0, 0, {}
        while time.monotonic() < end:
            for cam in cams:
                seen[see(stack, cam, at, ("human", "vehicle")[at % 2], 2)] = time.time()
                events += 1
            at += 1
            time.sleep(5)
        receiver.start()
        wait_until(lambda: stack.one("SELECT count(*) FROM camserver.notifications n JOIN camserver.channels c USING (channel_id)"
                                     " WHERE n.state IN ('pending', 'sending') AND c.enabled") == 0, timeout=180, what="the deliveries")
        bodies = receiver.bodies()
        # What is told alone is fresh, and shows the picture that it speaks of; the rest is one summary, two if some of it
        # grew old only while the first was on its way.
        ages = [round(r["time"] - seen[b["frame_uuid"]]) for r, b in zip(receiver.got, bodies) if b["kind"] == "event"]
        summaries = [b for b in bodies if b["kind"] == "summary"]
        print(f"# {events} things to tell, {len(bodies)} messages: {[b['kind'] for b in bodies]}; ages of those told alone: {ages} s")
        assert all(age <= 20 + 15 for age in ages), ages
        assert 1 <= len(summaries) <= 2, summaries
        assert all(b["frame_uuid"] in b["image_url"] for b in bodies if b["kind"] == "event"), bodies
        states = [n for cam in cams for n in notifications(stack, cam)]
        assert sum(n[3] for n in states) == events, "every frame is accounted for"
        assert all(n[0] in ("sent", "summarised", "suppressed") for n in states), states
        told = {i["camera_id"] for b in bodies if b["kind"] == "summary" for i in b["items"]} | {
            b["camera_id"] for b in bodies if b["kind"] == "event"}
        assert told == set(cams)
        for cam in cams:
            order = [b["first_at"] for b in bodies if b.get("camera_id") == cam]
            assert order == sorted(order), (cam, order)
        assert len(bodies) < events / 2
    receiver.stop()
    rules(stack)


@contextlib.contextmanager
def busy_machine():
    """Two programs for each core that want all of it."""
    burning = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * os.cpu_count())]
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.wait()


def expired(stack, n):
    """A camera with n frames that are to go: with three tags, an archived image and a job each."""
    cam = camera(stack)
    stack.sql("INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes, analyzed, analyzed_at, detected,"
              " image_removed_at, retention_class) SELECT gen_random_uuid(), %s, now() - interval '20 days', now() - interval '20 days', 1, true,"
              " now(), true, now(), 'normal' FROM generate_series(1, %s)", cam, n)
    stack.sql("INSERT INTO camserver.frame_tags SELECT frame_id, t, 'x' FROM camserver.frames, unnest(ARRAY['a', 'b', 'c']) t WHERE camera_id = %s", cam)
    stack.sql("INSERT INTO camserver.archive_objects SELECT frame_id, 'dir', 'x/' || frame_id, 1, repeat('0', 64), now(), false, now()"
              " FROM camserver.frames WHERE camera_id = %s", cam)
    stack.sql("INSERT INTO camserver.inference_jobs (kind, camera_id, frame_id, captured_at, max_attempt, created_at, available_at, status,"
              " finished_at) SELECT 'archive', camera_id, frame_id, captured_at, 8, received_at, received_at, 'done', received_at"
              " FROM camserver.frames WHERE camera_id = %s", cam)
    return cam


NEXT_ROWS = (
    "UPDATE camserver.frames SET blur_score = 1 WHERE frame_id = (SELECT min(frame_id) FROM camserver.frames WHERE camera_id = %s)",
    "UPDATE camserver.inference_jobs SET priority = 1 WHERE job_id = (SELECT min(job_id) FROM camserver.inference_jobs WHERE camera_id = %s)")
OWN_AFFAIR = "SELECT set_config('test.camera', %s, false)"


def remove_while_wanted(stack, cam):
    """The sweeps remove all of it; two others want the very rows that are next, and give up after 100 ms. Returns what their
    statements took in ms, None where one gave up; what one took that nobody is in the way of; and what the batches took."""
    waits, own, done = [], [], threading.Event()

    def want(statement, took):
        with contextlib.closing(stack.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '100ms'")
            while not done.is_set():
                start = time.monotonic()
                try:
                    cursor.execute(statement, (cam,))
                    took.append((time.monotonic() - start) * 1000)
                except psycopg2.errors.LockNotAvailable:
                    took.append(None)

    wanting = [threading.Thread(target=want, args=a, daemon=True) for a in (*((s, waits) for s in NEXT_ROWS), (OWN_AFFAIR, own))]
    for thread in wanting:
        thread.start()
    stack.sql("UPDATE camserver.sweeps SET next_run_at = '-infinity' WHERE name IN ('prune', 'expired_rows')")
    batches = {}
    # But for the one that somebody is at, and which then is left alone.
    while stack.one("SELECT count(*) FROM camserver.frames WHERE camera_id = %s", cam) > 1:
        for name, run, ms, count in stack.sql("SELECT name, last_run_at, last_ms::float, last_count FROM camserver.sweeps"
                                              " WHERE name IN ('prune', 'expired_rows') AND last_count > 0"):
            batches[name, run] = ms, count
        time.sleep(0.01)
    wait_until(lambda: stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE camera_id = %s", cam) <= 1, 60, "the end of the jobs")
    done.set()
    for thread in wanting:
        thread.join()
    return waits, own, list(batches.values())


@test(fronts=None)
def many_expired_rows_go_in_short_batches(stack):
    """Somebody who wants the very rows that are being removed, and gives up after 100 ms, never has to; nor on a machine
    that has more to do than it can. (If it is so busy with others that a statement takes as long which waits for nobody, this
    says nothing.)"""
    for load in (contextlib.nullcontext, busy_machine):
        cam = expired(stack, 10000)
        with load():
            waits, own, batches = remove_while_wanted(stack, cam)
        print(f"# {load.__name__}: 10,000 frames with three tags, an archived image and a job each: the longest of {len(batches)} batches"
              f" looked at took {max(ms for ms, _ in batches):.1f} ms, the largest had {max(n for _, n in batches)} rows; of {len(waits)}"
              f" statements on them the longest took {max(w or 0 for w in waits):.0f} ms, {waits.count(None)} gave up after 100 ms;"
              f" one that waits for nobody took {max(own):.0f} ms", flush=True)
        assert len(batches) > 5 and len(waits) > 50 and max(n for _, n in batches) <= 1000
        assert None not in waits or max(own) > 50, "somebody had to wait for a lock for more than 100 ms"
