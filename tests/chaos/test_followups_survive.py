# SPDX-License-Identifier: Apache-2.0
"""Follow-ups under faults, at the size that counts: a thousand frames into an archive that dies, a receiver that is
down for a minute, and the removal of many thousand expired rows."""

import time

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
        end, at, events = time.monotonic() + 60, 0, 0
        while time.monotonic() < end:
            for cam in cams:
                see(stack, cam, at, ("human", "vehicle")[at % 2], 2)
                events += 1
            at += 1
            time.sleep(5)
        receiver.start()
        wait_until(lambda: stack.one("SELECT count(*) FROM camserver.notifications n JOIN camserver.channels c USING (channel_id)"
                                     " WHERE n.state IN ('pending', 'sending') AND c.enabled") == 0, timeout=180, what="the deliveries")
        bodies = receiver.bodies()
        print(f"# {events} things to tell, {len(bodies)} messages: {[b['kind'] for b in bodies]}")
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


@test(fronts=None)
def many_expired_rows_go_in_short_batches(stack):
    cam = camera(stack)
    stack.sql("INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes, analyzed, analyzed_at, detected,"
              " image_removed_at, retention_class) SELECT gen_random_uuid(), %s, now() - interval '20 days', now() - interval '20 days', 1, true,"
              " now(), true, now(), 'normal' FROM generate_series(1, 20000)", cam)
    stack.sql("INSERT INTO camserver.frame_tags SELECT frame_id, t, 'x' FROM camserver.frames, unnest(ARRAY['a', 'b', 'c']) t WHERE camera_id = %s", cam)
    longest, batches = 0, 0
    stack.sql("UPDATE camserver.sweeps SET next_run_at = '-infinity' WHERE name = 'expired_rows'")
    seen = None
    while stack.one("SELECT count(*) FROM camserver.frames WHERE camera_id = %s", cam) > 0:
        run, ms, count = stack.sql("SELECT last_run_at, last_ms::float, last_count FROM camserver.sweeps WHERE name = 'expired_rows'")[0]
        if run != seen and count:
            seen, batches, longest = run, batches + 1, max(longest, ms)
        time.sleep(0.01)
    print(f"# 20,000 rows with three tags each: the longest of {batches} batches looked at took {longest:.1f} ms")
    assert batches > 5
