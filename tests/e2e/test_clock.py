# SPDX-License-Identifier: Apache-2.0
"""Retention with a clock that is moved forward: PostgreSQL and dispatcher believe that it is 61 minutes, 13, 15, 59 and 61
days later, and each class disappears on its day from disk, archive and tables; a case stays."""

import datetime
import os

from clock import clock_stack, move
from frames import STARTS, camera, frame, picture, result, rules, settled
from harness import test, wait_until
from test_archive import archived, files, objects

EACH = 3  # frames of each class


def left(stack, cam, names):
    """Of a camera's frames: images in the spool, images in the archive, rows; and its events."""
    return (sum(os.path.exists(f"{stack.directory}/spool/infer/{n}.jpg") for n in names),
            sum(f"/{cam}/" in p for p in files(f"{stack.directory}/archive")),
            stack.one("SELECT count(*) FROM camserver.frames WHERE frame_uuid = ANY(%s::uuid[])", names),
            stack.one("SELECT count(*) FROM camserver.events WHERE camera_id = %s", cam))


def becomes(stack, seen, **wanted):
    look = lambda: {name: left(stack, *seen[name]) for name in wanted}
    try:
        wait_until(lambda: look() == wanted, timeout=60, what="the day's expiry")
    except AssertionError as e:
        raise AssertionError(f"{e}: {look()}, expected {wanted}") from None


def nothing_is_due(stack):
    """What the dispatcher would be told to remove now."""
    assert stack.sql("SELECT * FROM camserver.spool_expire(100)") == stack.sql("SELECT * FROM camserver.archive_expire('dir', 100)") == []
    assert stack.one("SELECT camserver.rows_expire()")["count"] == 0


def see(stack, day=0, **what):
    """A camera of each name with frames as the rule says, on that day."""
    cams = {name: camera(stack) for name in what}
    rules(stack, *(result(cams[name], *rule) for name, rule in what.items()))
    seen = {}
    for name, cam in cams.items():
        STARTS[cam] += datetime.timedelta(days=day)
        seen[name] = cam, [frame(stack, cam, i, data=picture(i)) for i in range(EACH)]
    settled(stack, *[n for _, names in seen.values() for n in names])
    return seen


@test(fronts=None, needs=("plain",))
def each_class_goes_when_the_clock_is_moved_to_its_day(like):
    with clock_stack(like) as stack:
        stack.sql("UPDATE camserver.sweeps SET interval_sec = 1 WHERE name IN ('expired_rows', 'events')")
        dispatcher = stack.pids("cam-dispatcher")
        seen = see(stack, undetected=("none", 0, False), normal=("human", 1), quarantine=("human", 3), case=("human", 3))
        for name in ("normal", "quarantine", "case"):
            archived(stack, seen[name][0], EACH)
        stack.camctl("case", "attach", stack.one("SELECT event_uuid::text FROM camserver.events WHERE camera_id = %s", seen["case"][0]), "kept")
        wait_until(lambda: all(p.startswith("case/kept/") for p in objects(stack, seen["case"][0])), what="the case's move")
        whole = (EACH, EACH, EACH, 1)
        becomes(stack, seen, undetected=(EACH, 0, EACH, 0), normal=whole, quarantine=whole, case=whole)

        move(stack, "+59m")
        nothing_is_due(stack)
        move(stack, "+61m")
        becomes(stack, seen, undetected=(0, 0, EACH, 0), normal=whole, quarantine=whole, case=whole)

        move(stack, "+13d")  # what is archived has left the spool
        kept, gone = (0, EACH, EACH, 1), (0, 0, 0, 0)
        becomes(stack, seen, undetected=(0, 0, EACH, 0), normal=kept, quarantine=kept, case=kept)
        nothing_is_due(stack)
        seen.update(see(stack, 13, later=("human", 1)))
        archived(stack, seen["later"][0], EACH)

        move(stack, "+15d")
        becomes(stack, seen, undetected=gone, normal=gone, quarantine=kept, case=kept, later=kept)
        nothing_is_due(stack)

        move(stack, "+59d")
        becomes(stack, seen, later=gone, quarantine=kept, case=kept)
        nothing_is_due(stack)

        move(stack, "+61d")
        becomes(stack, seen, quarantine=gone, case=kept)
        nothing_is_due(stack)

        move(stack, "+3650d")
        nothing_is_due(stack)
        becomes(stack, seen, case=kept)
        assert list(files(f"{stack.directory}/archive").items()) and all(p.startswith("case/kept/") for p in files(f"{stack.directory}/archive"))
        assert not os.listdir(f"{stack.directory}/spool/infer")
        assert stack.pids("cam-dispatcher") == dispatcher, "which took every move of the clock without a restart"
        assert not stack.sql("SELECT name, last_error FROM camserver.sweeps WHERE last_error IS NOT NULL")
