# SPDX-License-Identifier: Apache-2.0
"""Retention: each class goes on its day from disk, archive and tables; a case stays. Time is moved by moving what was
received into the past; test_clock moves the clock."""

import os
import uuid

from frames import PICTURE, camera, frame, picture, result, rules, settled, spool
from harness import test, wait_until
from receivers import configured, settings
from test_archive import Rclone, archived, files, objects

NOW = "UPDATE camserver.sweeps SET next_run_at = '-infinity' WHERE name = 'expired_rows'"


def age(stack, cam, days):
    """All that is known of the camera happened so many days earlier."""
    stack.sql("UPDATE camserver.frames SET received_at = received_at - make_interval(days => %s), captured_at = captured_at -"
              " make_interval(days => %s), analyzed_at = analyzed_at - make_interval(days => %s) WHERE camera_id = %s", days, days, days, cam)
    stack.sql("UPDATE camserver.events SET start_at = start_at - make_interval(days => %s), last_seen_at = last_seen_at - make_interval(days => %s),"
              " end_at = end_at - make_interval(days => %s), created_at = created_at - make_interval(days => %s) WHERE camera_id = %s",
              days, days, days, days, cam)


def left(stack, cam):
    """Images in the spool, in the archive, rows of frames, of events."""
    names = [r[0] for r in stack.sql("SELECT frame_uuid::text FROM camserver.frames WHERE camera_id = %s", cam)]
    return (sum(os.path.exists(f"{stack.directory}/spool/infer/{n}.jpg") for n in names),
            sum(cam in p for p in files(f"{stack.directory}/archive")), len(names),
            stack.one("SELECT count(*) FROM camserver.events WHERE camera_id = %s", cam))


def becomes(stack, cam, wanted):
    def reached():
        stack.sql(NOW)
        return left(stack, cam) == wanted
    try:
        wait_until(reached, timeout=60, what=f"{wanted}")
    except AssertionError as e:
        raise AssertionError(f"{e}: {left(stack, cam)}") from None


def close_events(stack, cam):
    stack.sql("UPDATE camserver.events SET state = 'closed', end_at = last_seen_at, close_reason = 'stale' WHERE camera_id = %s AND state = 'open'", cam)


@test(fronts=None)
def each_class_goes_on_its_day(stack):
    normal, quarantine, case, nothing = cams = [camera(stack) for _ in range(4)]
    rules(stack, result(normal, "human", 1), result(quarantine, "human", 3), result(case, "human", 3),
          result(nothing, "none", 0, detected=False))
    names = [frame(stack, cam, i, data=picture(i)) for cam in cams for i in range(3)]
    settled(stack, *names)
    for cam in (normal, quarantine, case):
        archived(stack, cam, 3)
        close_events(stack, cam)
    stack.camctl("case", "attach", stack.one("SELECT event_uuid::text FROM camserver.events WHERE camera_id = %s", case), "kept")
    wait_until(lambda: all(p.startswith("case/kept/") for p in objects(stack, case)), what="the case's move")
    assert left(stack, normal) == left(stack, quarantine) == left(stack, case) == (3, 3, 3, 1)
    assert left(stack, nothing) == (3, 0, 3, 0)

    for cam in cams:
        age(stack, cam, 13)
    with settings(stack, keep_spool_sec=0):
        # Archived images leave the spool, those without a detection too; all else is there on the 13th day.
        for cam in (normal, quarantine, case):
            becomes(stack, cam, (0, 3, 3, 1))
        becomes(stack, nothing, (0, 0, 3, 0))
    for cam in cams:
        age(stack, cam, 2)
    becomes(stack, normal, (0, 0, 0, 0))
    becomes(stack, nothing, (0, 0, 0, 0))
    assert left(stack, quarantine) == left(stack, case) == (0, 3, 3, 1)
    for cam in (quarantine, case):
        age(stack, cam, 44)
    stack.sql(NOW)
    assert left(stack, quarantine) == (0, 3, 3, 1), "59 days"
    for cam in (quarantine, case):
        age(stack, cam, 2)
    becomes(stack, quarantine, (0, 0, 0, 0))
    age(stack, case, 3650)
    stack.sql(NOW)
    wait_until(lambda: stack.one("SELECT next_run_at > now() FROM camserver.sweeps WHERE name = 'expired_rows'"), what="the sweep")
    assert left(stack, case) == (0, 3, 3, 1)
    rules(stack)


@test(fronts=None)
def without_an_archive_the_spool_keeps_the_image_for_its_class(stack):
    cam = camera(stack)
    rules(stack, result(cam, "human", 1))
    name = frame(stack, cam)
    settled(stack, name)
    archived(stack, cam, 1)
    path = f"{stack.directory}/archive/{list(objects(stack, cam))[0]}"
    stack.sql("DELETE FROM camserver.archive_objects WHERE frame_id = (SELECT frame_id FROM camserver.frames WHERE frame_uuid = %s)", name)
    os.unlink(path)
    close_events(stack, cam)
    age(stack, cam, 13)
    assert left(stack, cam) == (1, 0, 1, 1)
    age(stack, cam, 2)
    becomes(stack, cam, (0, 0, 0, 0))
    rules(stack)


@test(fronts=None)
def both_archives_lose_what_expires_whichever_is_configured(stack):
    rclone, cam = Rclone(stack), camera(stack)
    rules(stack, result(cam, "human", 1))
    try:
        settled(stack, frame(stack, cam, 0))
        archived(stack, cam, 1)
        with configured(stack, **rclone.options("dav:")):
            settled(stack, frame(stack, cam, 1))
            archived(stack, cam, 2)
            assert len(files(rclone.store)) == 1
            close_events(stack, cam)
            # As long as rclone's remote is away its image is not forgotten.
            rclone.kill_dav()
            age(stack, cam, 15)
            becomes(stack, cam, (0, 0, 1, 1))
            assert len(files(rclone.store)) == 1
            rclone.start_dav()
            becomes(stack, cam, (0, 0, 0, 0))
            assert not files(rclone.store)
        assert not [d for d, _, _ in os.walk(f"{stack.directory}/archive") if cam in d], "nor is its empty directory kept"
    finally:
        rclone.stop()
    rules(stack)


@test(fronts=None)
def a_case_in_time_keeps_its_image_and_one_too_late_is_told(stack):
    """While the archive is away: what has expired is decided, but its file is still there."""
    rclone, early, late = Rclone(stack), camera(stack), camera(stack)
    event = lambda cam: stack.one("SELECT event_uuid::text FROM camserver.events WHERE camera_id = %s", cam)
    rules(stack, result(early, "human", 1), result(late, "human", 1))
    try:
        with settings(stack, job_backoff_base_ms=200, job_backoff_max_ms=1000), configured(stack, **rclone.options("dav:")):
            settled(stack, frame(stack, early), frame(stack, late))
            archived(stack, early, 1), archived(stack, late, 1)
            rclone.kill_dav()
            assert stack.camctl("case", "attach", event(early), "in-time").stderr == ""
            age(stack, early, 15)
            age(stack, late, 15)
            wait_until(lambda: not objects(stack, late), timeout=60, what="the expiry")
            becomes(stack, late, (0, 0, 1, 1))
            assert len(files(rclone.store)) == 2
            assert "of 1 of its frames the image is gone" in stack.camctl("case", "attach", event(late), "too-late").stderr
            rclone.start_dav()
            wait_until(lambda: [p.split("/")[:3] for p in files(rclone.store)] == [["case", "in-time", early]], timeout=60, what="the end of both")
            wait_until(lambda: files(rclone.store) == objects(stack, early), what="the note of the move")
            assert not objects(stack, late)
            assert stack.one("SELECT count(*) FROM camserver.frames WHERE camera_id = %s AND retention_class = 'case'", late) == 1
    finally:
        rclone.stop()
    rules(stack)


@test(fronts=None)
def files_that_no_frame_names_go(stack):
    known = frame(stack, camera(stack))
    orphan, young = spool(stack), spool(stack)
    half = f"{stack.directory}/spool/infer/{uuid.uuid4()}.jpg.{uuid.uuid4()}.tmp"
    with open(half, "wb") as f:
        f.write(PICTURE)
    for path in (f"{stack.directory}/spool/infer/{orphan}.jpg", f"{stack.directory}/spool/infer/{known}.jpg", half):
        os.utime(path, (1, 1))
    stack.stack("stop", "dispatcher")
    stack.stack("start", "dispatcher")  # the first look is at the start
    wait_until(lambda: not os.path.exists(f"{stack.directory}/spool/infer/{orphan}.jpg") and not os.path.exists(half), what="their end")
    assert os.path.exists(f"{stack.directory}/spool/infer/{known}.jpg") and os.path.exists(f"{stack.directory}/spool/infer/{young}.jpg")
    os.unlink(f"{stack.directory}/spool/infer/{young}.jpg")


@test(fronts=None)
def rules_changed_in_the_table_count_from_the_next_heartbeat(stack):
    cam = camera(stack)
    rules(stack, result(cam, "human", 1, tags=["human.presence"]))
    stack.sql("INSERT INTO camserver.retention_rules VALUES (5, 'human.*', 'quarantine')")
    try:
        def classified():
            name = frame(stack, cam, classified.at)
            classified.at += 1
            settled(stack, name)
            return stack.sql("SELECT retention_class::text, retention_reason FROM camserver.frames WHERE frame_uuid = %s", name)[0]
        classified.at = 0
        wait_until(lambda: classified() == ("quarantine", "human.presence"), timeout=40, what="the rule's effect")
    finally:
        stack.sql("DELETE FROM camserver.retention_rules WHERE position = 5")
    wait_until(lambda: classified() == ("normal", "detected"), timeout=40, what="its end")
    rules(stack)
