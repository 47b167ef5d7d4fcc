# SPDX-License-Identifier: Apache-2.0
"""The specification's test list for the dispatcher (section 10), with the real dispatchers, the real database and
cam-analyzer over HTTP."""

import time

from frames import PICTURE, camera, epoch, events, frame, job, result, rules, settled
from harness import test, wait_until


def on(cam, **rule):
    return {"match": {"path": "/v1/analyze", "camera_id": cam}, **rule}


# --- 10.1


@test(fronts=None)
def a_job_is_claimed_and_done(stack):
    cam = camera(stack)
    name = frame(stack, cam)
    assert settled(stack, name)[0][:2] == ("done", 1)
    assert stack.one("SELECT locked_token IS NULL AND finished_at IS NOT NULL FROM camserver.inference_jobs"
                     " WHERE kind = 'analyze' AND camera_id = %s", cam)


@test(fronts=None)
def the_result_is_in_the_frame(stack):
    cam = camera(stack)
    rules(stack, result(cam, "human", 2, tags=["human.presence", "behavior.loitering", "odd"], confidence=0.75, count_hint=3,
                        something_new={"deep": [1, 2]}))
    name = frame(stack, cam)
    settled(stack, name)
    row = stack.sql("SELECT analyzed, detected, primary_event, unknown_flag, severity, confidence, count_hint, tags_json,"
                    " retention_class::text, retention_reason, result_json->'something_new' FROM camserver.frames"
                    " WHERE frame_uuid = %s", name)[0]
    assert row == (True, True, "human", False, 2, 0.75, 3, ["human.presence", "behavior.loitering", "odd"],
                   "quarantine", "behavior.loitering", {"deep": [1, 2]}), row
    tags = stack.sql("SELECT tag_id, tag_group FROM camserver.frame_tags JOIN camserver.frames USING (frame_id)"
                     " WHERE frame_uuid = %s ORDER BY 1", name)
    assert tags == [("behavior.loitering", "behavior"), ("human.presence", "human"), ("odd", "odd")], tags
    rules(stack)


@test(fronts=None)
def nothing_detected_makes_no_event(stack):
    cam = camera(stack)
    rules(stack, result(cam, "none", 0, detected=False))
    name = frame(stack, cam)
    settled(stack, name)
    assert events(stack, cam) == []
    assert stack.one("SELECT detected FROM camserver.frames WHERE frame_uuid = %s", name) is False
    rules(stack)


@test(fronts=None)
def an_event_opens_merges_and_closes(stack):
    cam = camera(stack)
    rules(stack, result(cam))
    settled(stack, frame(stack, cam, 0))
    assert [e[0] for e in events(stack, cam)] == ["open"]
    settled(stack, frame(stack, cam, 30), frame(stack, cam, 60))
    (state, _, primary, count, *_, start, last, _, _), = events(stack, cam)
    assert (state, primary, count) == ("open", "human", 3)
    assert abs(start - epoch(cam, 0)) < 0.01 and abs(last - epoch(cam, 60)) < 0.01
    stack.sql("UPDATE camserver.events SET last_seen_at = now() - interval '121 s', start_at = now() - interval '200 s'"
              " WHERE camera_id = %s", cam)
    wait_until(lambda: events(stack, cam)[0][:2] == ("closed", "stale"), what="the close")
    assert stack.one("SELECT end_at = last_seen_at FROM camserver.events WHERE camera_id = %s", cam)
    rules(stack)


@test(fronts=None)
def the_best_frame_has_the_highest_score(stack):
    cam = camera(stack)
    best = None
    for at, severity, confidence in ((0, 1, 0.5), (1, 2, 0.1), (2, 1, 0.9), (3, 2, 0.05)):
        rules(stack, result(cam, "human", severity, confidence=confidence))
        name = frame(stack, cam, at)
        settled(stack, name)
        best = name if (severity, confidence) == (2, 0.1) else best
    uuid = stack.one("SELECT f.frame_uuid::text FROM camserver.events e JOIN camserver.frames f ON f.frame_id = e.best_frame_id"
                     " WHERE e.camera_id = %s", cam)
    assert uuid == best
    assert events(stack, cam)[0][4:6] == (2, "quarantine")
    rules(stack)


@test(fronts=None)
def images_without_a_detection_go_after_an_hour(stack):
    import os
    seen, empty = camera(stack), camera(stack)
    rules(stack, result(seen), result(empty, "none", 0, detected=False))
    kept, young, old = frame(stack, seen), frame(stack, empty), frame(stack, empty, 1)
    settled(stack, kept, young, old)
    stack.sql("UPDATE camserver.frames SET analyzed_at = analyzed_at - interval '1 hour', received_at = received_at - interval '1 hour' WHERE frame_uuid = ANY(%s::uuid[])", [kept, old])
    path = lambda name: f"{stack.directory}/spool/infer/{name}.jpg"
    wait_until(lambda: not os.path.exists(path(old)), what="the removal")
    assert os.path.exists(path(kept)) and os.path.exists(path(young))
    wait_until(lambda: stack.one("SELECT image_removed_at IS NOT NULL FROM camserver.frames WHERE frame_uuid = %s", old), what="the note")
    rules(stack)


# --- 10.2


@test(fronts=None)
def no_connection_puts_the_job_back(stack):
    cam = camera(stack)
    stack.stack("stop", "analyzer")
    name = frame(stack, cam)
    wait_until(lambda: job(stack, name)[2], what="the first failure")
    status, attempt, error = job(stack, name)
    assert status in ("waiting", "queued") and attempt <= 1, (status, attempt, error)
    stack.stack("start", "analyzer")
    assert settled(stack, name, timeout=60)[0][0] == "done"


@test(fronts=None)
def schema_mismatch_is_told_once_and_spends_no_attempt(stack):
    stack.stack("stop", "analyzer")
    stack.stack("start", "analyzer")  # a fresh one knows no schema
    stack.sql("DELETE FROM camserver.schema_pushes")
    cam = camera(stack)
    names = [frame(stack, cam, i) for i in range(20)]
    assert all(j[:2] == ("done", 1) for j in settled(stack, *names))
    debug = analyzer_requests(stack)
    assert debug["put_schema"] == 1, debug
    assert stack.one("SELECT accepted FROM camserver.schema_pushes")


@test(fronts=None)
def a_mismatch_wrapped_in_detail_is_understood(stack):
    cam = camera(stack)
    stack.sql("UPDATE camserver.schema_pushes SET started_at = '-infinity'")
    rules(stack, on(cam, times=1, status=409, body={"detail": {"error": "schema_mismatch", "current": "old"}}))
    assert settled(stack, frame(stack, cam))[0][:2] == ("done", 1)
    rules(stack)


@test(fronts=None)
def overload_is_waited_out(stack):
    cam = camera(stack)
    rules(stack, on(cam, times=3, status=429, headers={"Retry-After": "1"}, body={"error": "overloaded"}))
    name = frame(stack, cam)
    wait_until(lambda: (job(stack, name)[2] or "").startswith("status 429"), what="the 429")
    status, attempt, error = settled(stack, name)[0]
    assert status == "done" and 2 <= attempt <= 4, (status, attempt, error)
    rules(stack)


@test(fronts=None)
def max_attempt_is_the_end(stack):
    cam = camera(stack)
    stack.sql("UPDATE camserver.settings SET value = '3' WHERE name = 'job_max_attempt'")
    stack.sql("UPDATE camserver.settings SET value = '50' WHERE name = 'job_backoff_base_ms'")
    try:
        # long, and cut inside a character: what is kept must still be text
        rules(stack, on(cam, status=500, body={"error": "broken", "detail": "カ" * 200}))
        name = frame(stack, cam)
        status, attempt, error = settled(stack, name, timeout=60)[0]
        assert (status, attempt) == ("dead", 3) and "status 500" in error and "broken" in error
        assert stack.one("SELECT camserver.job_retry(job_id) FROM camserver.inference_jobs WHERE camera_id = %s AND kind = 'analyze'", cam)["outcome"] == "OK"
        rules(stack)
        assert settled(stack, name, timeout=60)[0][0] == "done"
    finally:
        stack.sql("UPDATE camserver.settings SET value = '8' WHERE name = 'job_max_attempt'")
        stack.sql("UPDATE camserver.settings SET value = '1000' WHERE name = 'job_backoff_base_ms'")
        rules(stack)


# --- 10.3


@test(fronts=None)
def the_same_kind_merges_another_kind_is_another_event(stack):
    cam = camera(stack)
    for at, kind in ((0, "human"), (10, "human"), (20, "animal"), (30, "animal")):
        rules(stack, result(cam, kind))
        settled(stack, frame(stack, cam, at))
    assert [e[:4] for e in events(stack, cam)] == [("closed", "changed", "human", 2), ("open", None, "animal", 2)]
    rules(stack)


@test(fronts=None)
def a_long_gap_is_another_event(stack):
    cam = camera(stack)
    stack.sql("UPDATE camserver.settings SET value = '10' WHERE name = 'event_merge_gap_sec'")
    try:
        rules(stack, result(cam))
        for at in (0, 10, 21):
            settled(stack, frame(stack, cam, at))
        assert [e[:4] for e in events(stack, cam)] == [("closed", "gap", "human", 2), ("open", None, "human", 1)]
    finally:
        stack.sql("UPDATE camserver.settings SET value = '90' WHERE name = 'event_merge_gap_sec'")
        rules(stack)


@test(fronts=None)
def late_frames_extend_and_never_shorten(stack):
    cam = camera(stack)
    rules(stack, result(cam))
    for at in (40, 10, 25, -30):
        settled(stack, frame(stack, cam, at))
    (state, _, _, count, *_, start, last, _, _), = events(stack, cam)
    assert (state, count) == ("open", 4) and abs(start - epoch(cam, -30)) < 0.01 and abs(last - epoch(cam, 40)) < 0.01
    rules(stack, result(cam, "animal"))
    settled(stack, frame(stack, cam, 20))  # late and of another kind: an event of its own, the open one stays
    assert sorted(e[:4] for e in events(stack, cam)) == [("closed", "changed", "animal", 1), ("open", None, "human", 4)]
    rules(stack)


@test(fronts=None)
def a_detection_feeds_the_suggestion(stack):
    cam = camera(stack)
    stack.sql("UPDATE camserver.suggest_state SET expires_at = '-infinity'")
    rules(stack, result(cam, "hazard", 3, tags=["hazard.fire"]))
    settled(stack, frame(stack, cam))
    suggestion = stack.one("SELECT camserver.suggest_get()")
    assert suggestion["camera_id"] == cam and suggestion["score"] > 150, suggestion
    stack.sql("UPDATE camserver.suggest_state SET expires_at = '-infinity'")
    rules(stack)


# --- what can go wrong


@test(fronts=None)
def every_bad_image_ends_dead_with_its_reason(stack):
    cam = camera(stack)
    cases = {"corrupt": (b"\xff\xd8" + b"garbage" * 100, "status 400"), "truncated": (PICTURE[:len(PICTURE) // 2], "status 400"),
             "empty": (b"", "cannot be read from the spool"), "six megabytes": (PICTURE + b"\0" * 6_000_000, "cannot be read"),
             "vanished": (None, "No such file")}
    names = {what: frame(stack, cam, i, data) for i, (what, (data, _)) in enumerate(cases.items())}
    settled(stack, *names.values())
    for what, (_, reason) in cases.items():
        status, attempt, error = job(stack, names[what])
        assert status == "dead" and reason in error, (what, status, error)
    good = frame(stack, cam, 50)
    assert settled(stack, good)[0][0] == "done"


@test(fronts=None)
def an_analyzer_that_answers_nonsense_is_survived(stack):
    nonsense = {
        "html": dict(status=200, content_type="text/html", body="<html><body>Welcome</body></html>"),
        "half": dict(status=200, body='{"detected": true, "primary_event": "hu'),
        "types": dict(status=200, body={"detected": "yes", "primary_event": 7}),
        "severity": dict(status=200, body={"detected": True, "primary_event": "human", "severity": 9}),
        "tags": dict(status=200, body={"detected": True, "primary_event": "human", "tags": [1, 2]}),
        "nothing said": dict(status=200, body={}),
        "huge": dict(status=200, body_bytes=200_000_000),
        "closed": dict(close=True),
    }
    try:
        cams = {what: camera(stack) for what in nonsense}
        rules(stack, *[on(cams[what], times=2, **answer) for what, answer in nonsense.items()])
        names = {what: frame(stack, cams[what]) for what in nonsense}
        failed = {what: "" for what in nonsense}  # every error that was seen on the way

        def all_done():
            for what, name in names.items():
                status, _, error = job(stack, name)
                if error and error not in failed[what]:
                    failed[what] += error + "; "
            return all(job(stack, n)[0] == "done" for n in names.values())
        wait_until(all_done, timeout=60, what="recovery")
        for what in ("html", "half", "types", "severity", "tags", "nothing said"):
            assert "cannot be used" in failed[what], failed
        # "closed" may show no error: on a connection that was kept, curl sends the request once more by itself
        assert "larger than allowed" in failed["huge"], failed
    finally:
        rules(stack)


@test(fronts=None)
def an_analyzer_that_never_answers_stalls_nobody(stack):
    slow, quick = camera(stack), camera(stack)
    rules(stack, on(slow, times=2, hang=True))
    hanging = [frame(stack, slow, i) for i in range(2)]
    time.sleep(0.5)
    names = [frame(stack, quick, i) for i in range(20)]
    settled(stack, *names, timeout=8)
    assert any(job(stack, n)[0] == "running" for n in hanging)
    assert all(j[0] == "done" for j in settled(stack, *hanging, timeout=60))
    rules(stack)


@test(fronts=None)
def fields_that_are_missing_are_normal(stack):
    cam = camera(stack)
    rules(stack, on(cam, status=200, body={"primary_event": "vehicle", "brand_new": True}))
    name = frame(stack, cam)
    settled(stack, name)
    row = stack.sql("SELECT detected, severity, confidence, count_hint, tags_json, unknown_flag, result_json FROM camserver.frames"
                    " WHERE frame_uuid = %s", name)[0]
    assert row == (True, 0, None, None, [], False, {"primary_event": "vehicle", "brand_new": True}), row
    assert events(stack, cam)[0][2] == "vehicle"
    rules(stack)


@test(fronts=None)
def one_result_that_the_database_will_not_have_does_not_sink_the_others(stack):
    bad, good = camera(stack), camera(stack)
    stack.sql("UPDATE camserver.settings SET value = '2' WHERE name = 'job_max_attempt'")
    try:
        rules(stack, on(bad, status=200, body='{"detected": true, "primary_event": "human", "note": "nul \\u0000 inside"}'))
        names = [frame(stack, good, i) for i in range(10)]
        poison = frame(stack, bad)
        names += [frame(stack, good, 10 + i) for i in range(10)]
        assert all(j[0] == "done" for j in settled(stack, *names))
        status, _, error = settled(stack, poison)[0]
        assert status == "dead" and "\\u0000" in error, (status, error)
    finally:
        stack.sql("UPDATE camserver.settings SET value = '8' WHERE name = 'job_max_attempt'")
        rules(stack)


@test(fronts=None)
def higher_priority_goes_first_and_stale_frames_are_dropped(stack):
    cam = camera(stack)
    stack.stack("stop", "dispatcher")
    stack.sql("UPDATE camserver.settings SET value = '3600' WHERE name = 'job_max_age_sec'")
    try:
        old = frame(stack, cam, -7200)
        names = [frame(stack, cam, i, priority=i) for i in range(5)]
        rows = stack.sql("SELECT frame_uuid::text FROM camserver.job_claim('analyze', gen_random_uuid(), 3)")
        assert [r[0] for r in rows] == [names[4], names[3], names[2]]
    finally:
        stack.stack("start", "dispatcher")  # the claim above was nobody's: it is rescued
    assert all(j[0] == "done" for j in settled(stack, *names))
    status, _, error = settled(stack, old)[0]
    assert status == "cancelled" and error.startswith("stale: the frame was"), (status, error)
    stack.sql("UPDATE camserver.settings SET value = '0' WHERE name = 'job_max_age_sec'")


@test(fronts=None)
def SIGTERM_gives_back_what_is_under_way(stack):
    cam = camera(stack)
    rules(stack, on(cam, hang=True))
    names = [frame(stack, cam, i) for i in range(12)]
    wait_until(lambda: any(job(stack, n)[0] == "running" for n in names), what="work")
    stack.stack("stop", "dispatcher")
    assert not stack.pids("cam-dispatcher")
    assert all(job(stack, n)[0] in ("queued", "waiting") for n in names), [job(stack, n) for n in names]
    rules(stack)
    stack.stack("start", "dispatcher")
    assert all(j[0] == "done" for j in settled(stack, *names))


def analyzer_requests(stack):
    import json
    import urllib.request
    with urllib.request.urlopen(f"http://127.0.0.1:{stack.settings['ANALYZER_PORT']}/debug/requests") as answer:
        return json.load(answer)
