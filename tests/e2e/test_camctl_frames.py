# SPDX-License-Identifier: Apache-2.0
"""camctl's commands for frames, jobs, events and schemas, and the drawn cameras."""

import json
import os
import signal
import subprocess

from harness import test, unique, wait_until


def camera_of(stack):
    camera = unique("cam")
    stack.camctl("camera", "add", camera)
    return camera


def picture(stack, kind="entrance", at=0):
    path = f"{stack.directory}/tmp/{unique('p')}.jpg"
    stack.camctl("demo-cameras", "--draw", path, "--camera", kind, "--at", str(at))
    return path


def spooled(stack):
    directory = f"{stack.directory}/spool/infer"
    return set(os.listdir(directory)) if os.path.isdir(directory) else set()


def frames(stack, camera):
    return stack.sql("SELECT frame_uuid::text, image_bytes, extract(epoch FROM captured_at)::float8, frame_id"
                     " FROM camserver.frames WHERE camera_id = %s ORDER BY captured_at", camera)


def dead_job(stack, camera, **columns):
    """Dispatchers leave it alone."""
    values = {"status": "dead", "kind": "notify", "attempt": 5, **columns}
    return stack.one(f"INSERT INTO camserver.inference_jobs (camera_id, captured_at, created_at, available_at, finished_at,"
                     f" {', '.join(values)}) VALUES (%s, now(), now(), now(), now(), {', '.join(['%s'] * len(values))})"
                     f" RETURNING job_id", camera, *values.values())


@test(fronts=None)
def enqueue_hands_in_files_as_frames(stack):
    camera, path = camera_of(stack), picture(stack)
    data = open(path, "rb").read()
    done = stack.camctl("enqueue", "--camera", camera, "--priority", "7", path)
    assert "1 of 1 frames enqueued" in done.stdout, done.stdout
    (uuid, size, _, frame), = frames(stack, camera)
    assert size == len(data)
    assert stack.one("SELECT priority FROM camserver.inference_jobs WHERE frame_id = %s AND kind = 'analyze'", frame) == 7
    # Once analysed the image may go; until then it is what was handed in, and the dispatchers' account may read it.
    path = f"{stack.directory}/spool/infer/{uuid}.jpg"
    if os.path.exists(path):
        assert open(path, "rb").read() == data
        assert os.stat(path).st_uid == os.stat(f"{stack.directory}/spool").st_uid


@test(fronts=None)
def enqueue_spaces_frames(stack):
    camera, path = camera_of(stack), picture(stack)
    stack.camctl("enqueue", "--camera", camera, "--captured-at", "2026-01-02T03:04:05Z", "--interval", "2.5", path, path, path)
    base = 1767323045
    assert [f[2] for f in frames(stack, camera)] == [base, base + 2.5, base + 5]
    camera = camera_of(stack)
    stack.camctl("enqueue", "--camera", camera, "--interval", "3600", path, path, path)
    first, middle, last = (f[2] for f in frames(stack, camera))
    assert middle - first == last - middle == 3600
    assert abs(last - stack.one("SELECT extract(epoch FROM now())::float8")) < 120


@test(fronts=None)
def enqueue_names_and_skips_bad_files(stack):
    camera, good = camera_of(stack), picture(stack)
    data = open(good, "rb").read()
    paths = {}
    for name, content in (("short", data[:-300]), ("text", b"hello"), ("empty", b""), ("large", data + b"\0" * 5000000)):
        paths[name] = f"{stack.directory}/tmp/{unique(name)}.jpg"
        with open(paths[name], "wb") as f:
            f.write(content)
    paths["missing"], paths["directory"] = "/nowhere.jpg", stack.directory
    before = spooled(stack)
    done = stack.camctl("enqueue", "--camera", camera, good, *paths.values(), good, check=False)
    assert done.returncode == 1, done.stdout
    for path in paths.values():
        assert f"camctl: {path}: " in done.stderr, (path, done.stderr)
    assert "2 of 8 frames enqueued" in done.stdout and "6 failed" in done.stdout, done.stdout
    assert len(frames(stack, camera)) == 2
    assert len(spooled(stack) - before) <= 2


@test(fronts=None)
def enqueue_refused_leaves_nothing_behind(stack):
    camera, path = camera_of(stack), picture(stack)
    before = spooled(stack)
    for words, complaint in (((path,), "--camera"), (("--camera", camera), "no file"),
                             (("--camera", unique("no"), path, path), "no enabled camera"),
                             (("--camera", camera, "--captured-at", "yesterday", path), "--captured-at"),
                             (("--camera", camera, "--captured-at", "2026-02-30T00:00:00Z", path), "out of range"),
                             (("--camera", camera, "--captured-at", "2999-01-01T00:00:00Z", path), "future"),
                             (("--camera", camera, "--priority", "1000", path), "--priority"),
                             (("--camera", camera, "--interval", "x", path), "--interval"),
                             (("--camera", camera, "--colour", path), "no such option")):
        done = stack.camctl("enqueue", *words, check=False)
        assert done.returncode == 1 and (complaint in done.stderr or "Usage" in done.stderr), (words, done.stderr)
    assert frames(stack, camera) == []
    assert spooled(stack) <= before


@test(fronts=None)
def enqueue_waits_for_a_full_queue(stack):
    camera, path = camera_of(stack), picture(stack)
    # Waiting for ever, so that no dispatcher takes it out of the queue.
    block = lambda: stack.one(
        "INSERT INTO camserver.inference_jobs (kind, status, camera_id, captured_at, created_at, available_at)"
        " VALUES ('analyze', 'waiting', %s, now(), now(), 'infinity') RETURNING job_id", camera)
    jobs = [block(), block()]
    before = stack.one("SELECT value FROM camserver.settings WHERE name = 'camera_queue_max'")
    stack.camctl("setting", "set", "camera_queue_max", "2")
    waiting = None
    try:
        done = stack.camctl("enqueue", "--camera", camera, "--no-wait", path, check=False)
        assert done.returncode == 1 and "camera_queue_max" in done.stderr, done.stderr
        waiting = subprocess.Popen([f"{stack.prefix}/bin/camctl", "-c", stack.conf, "enqueue", "--camera", camera, path],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert "trying again" in waiting.stderr.readline()
        assert waiting.poll() is None and frames(stack, camera) == []
        stack.camctl("jobs", "cancel", str(jobs[0]))
        out, _ = waiting.communicate(timeout=60)
        assert waiting.returncode == 0 and "1 of 1" in out
        assert len(frames(stack, camera)) == 1
    finally:
        stack.camctl("setting", "set", "camera_queue_max", before)
        stack.camctl("jobs", "cancel", str(jobs[1]))
        if waiting is not None and waiting.poll() is None:
            waiting.kill()


@test(fronts=None)
def jobs_are_listed_retried_and_cancelled(stack):
    camera = camera_of(stack)
    one, two = dead_job(stack, camera, last_error="the node said no"), dead_job(stack, camera, kind="archive")
    rows = json.loads(stack.camctl("jobs", "--camera", camera, "--status", "dead", "--json").stdout)
    assert [r["job_id"] for r in rows] == [two, one] and rows[1]["last_error"] == "the node said no"
    assert [r["job_id"] for r in json.loads(stack.camctl("jobs", "--camera", camera, "--kind", "archive", "--json").stdout)] == [two]
    assert len(json.loads(stack.camctl("jobs", "--camera", camera, "--limit", "1", "--json").stdout)) == 1
    assert "the node said no" in stack.camctl("jobs", "--camera", camera).stdout
    for words, complaint in ((["--status", "x"], "job_status"), (["--kind", "x"], "job_kind"), (["--limit", "0"], "--limit"),
                             (["x"], "unexpected"), (["--what"], "no such option"), (["retry", "x"], "not a job id"),
                             (["retry", "999999999"], "no job"), (["cancel", "-1"], "not a job id")):
        done = stack.camctl("jobs", *words, check=False)
        assert done.returncode == 1 and complaint in done.stderr, (words, done.stderr)

    status = lambda job: stack.one("SELECT status FROM camserver.inference_jobs WHERE job_id = %s", job)
    assert "cancelled" in stack.camctl("jobs", "cancel", str(two)).stdout and status(two) == "cancelled"
    done = stack.camctl("jobs", "cancel", str(two), check=False)
    assert done.returncode == 1 and "is cancelled" in done.stderr
    assert "queued again" in stack.camctl("jobs", "retry", str(two)).stdout
    assert "dead jobs queued again" in stack.camctl("jobs", "retry", "--all-dead").stdout
    assert status(one) != "dead" or stack.one("SELECT attempt FROM camserver.inference_jobs WHERE job_id = %s", one) < 5
    stack.sql("DELETE FROM camserver.inference_jobs WHERE camera_id = %s", camera)


@test(fronts=None)
def events_are_listed(stack):
    camera = camera_of(stack)
    insert = ("INSERT INTO camserver.events (camera_id, start_at, last_seen_at, end_at, state, close_reason, primary_event,"
              " severity_max, retention_class, created_at, updated_at)"
              " VALUES (%s, now(), now(), %s, %s, %s, 'human', 1, 'normal', now(), now()) RETURNING event_id")
    closed = stack.one(insert, camera, "now", "closed", "gap")
    opened = stack.one(insert, camera, None, "open", None)
    stack.sql("INSERT INTO camserver.event_tags VALUES (%s, 'human.presence', 'human'), (%s, 'motion.detected', 'motion')",
              opened, opened)
    listed = lambda *words: json.loads(stack.camctl("events", "--camera", camera, *words, "--json").stdout)
    assert sorted(e["event_id"] for e in listed()) == [closed, opened]
    row, = listed("--state", "open")
    assert row["event_id"] == opened and row["tags"] == "human.presence motion.detected"
    assert len(listed("--limit", "1")) == 1
    assert "human" in stack.camctl("events", "--camera", camera).stdout
    done = stack.camctl("events", "--state", "ajar", check=False)
    assert done.returncode == 1 and "event_state" in done.stderr


@test(fronts=None)
def a_camera_without_history_can_be_removed(stack):
    camera = camera_of(stack)
    assert "removed" in stack.camctl("camera", "remove", camera).stdout
    done = stack.camctl("camera", "remove", camera, check=False)
    assert done.returncode == 1 and "there is no camera" in done.stderr
    camera = camera_of(stack)
    stack.camctl("enqueue", "--camera", camera, picture(stack))
    done = stack.camctl("camera", "remove", camera, check=False)
    assert done.returncode == 1 and "enabled=false" in done.stderr


def a_schema(**changes):
    tag = {"id": "human.presence", "group": "human", "label_ja": "人物", "severity_default": 1, "notify_allowed": False,
           "retention_hint": "normal"}
    tag.update(changes.pop("tag", {}))
    return {"schema_version": unique("v"), "primary_events": ["none", "human"], "tag_groups": ["human"], "tags": [tag], **changes}


def load(stack, schema):
    path = f"{stack.directory}/tmp/{unique('schema')}.json"
    with open(path, "w") as f:
        f.write(schema if isinstance(schema, str) else json.dumps(schema))
    return stack.camctl("schema", "load", path, check=False)


@test(fronts=None)
def schemas_are_loaded_once_and_never_changed(stack):
    schema = a_schema()
    version = schema["schema_version"]
    done = load(stack, schema)
    assert done.returncode == 0 and f"schema {version} loaded, 1 tags" in done.stdout, done.stderr
    assert stack.sql("SELECT tag_id, tag_group, label_ja, severity_default, notify_allowed, retention_hint"
                     " FROM camserver.schema_tags WHERE schema_version = %s", version) == [
        ("human.presence", "human", "人物", 1, False, "normal")]
    assert "already" in load(stack, schema).stdout
    schema["tags"][0]["severity_default"] = 2
    done = load(stack, schema)
    assert done.returncode == 1 and "other content" in done.stderr
    minimal = a_schema(tags=[{"id": "x", "group": "human"}])
    assert load(stack, minimal).returncode == 0
    rows = {r["schema_version"]: r for r in json.loads(stack.camctl("schema", "list", "--json").stdout)}
    assert rows["2025-12-28.1"]["in_use"] and not rows[version]["in_use"] and rows[version]["tags"] == 1


@test(fronts=None)
def bad_schemas_are_refused_with_the_reason(stack):
    count = stack.one("SELECT count(*) FROM camserver.schema_versions")
    twice = a_schema()
    twice["tags"] *= 2
    for schema, complaint in (("{", "ends in the middle"), ("[1]", "object is expected"), ({}, "schema_version"),
                              (a_schema(schema_version="v" * 65), "schema_version"), (a_schema(schema_version=3), "schema_version"),
                              (a_schema(primary_events="none"), "primary_events must be an array"),
                              (a_schema(tag_groups=[1]), "tag_groups must hold texts"), (a_schema(tags=[]), "tags must be"),
                              (a_schema(tags=["x"]), "tags[0]"), (a_schema(tag={"id": ""}), "id must be"),
                              (a_schema(tag={"group": "other"}), "one of tag_groups"), (a_schema(tag={"group": []}), "one of tag_groups"),
                              (a_schema(tag={"label_ja": 1}), "label_ja"), (a_schema(tag={"severity_default": 4}), "severity_default"),
                              (a_schema(tag={"notify_allowed": "yes"}), "notify_allowed"),
                              (a_schema(tag={"retention_hint": "ever"}), "retention_hint"), (twice, "more than one tag")):
        done = load(stack, schema)
        assert done.returncode == 1 and complaint in done.stderr, (schema, done.stderr)
    assert stack.camctl("schema", "load", "/nowhere.json", check=False).returncode == 1
    assert stack.one("SELECT count(*) FROM camserver.schema_versions") == count


@test(fronts=None)
def demo_cameras_feed_frames(stack):
    count = lambda: stack.one("SELECT count(*) FROM camserver.frames WHERE camera_id LIKE 'demo\\_%%'")
    before = count()
    done = stack.camctl("demo-cameras", "--cameras", "4", "--rate", "2", "--seconds", "3")
    assert "4 drawn cameras" in done.stderr, done.stderr
    assert stack.one("SELECT display_name FROM camserver.cameras WHERE camera_id = 'demo_2f'") == "2F corridor"
    assert stack.one("SELECT display_name FROM camserver.cameras WHERE camera_id = 'demo_entrance_2'") == "Entrance 2"
    assert 8 <= count() - before <= 24  # a slow machine leaves frames out
    assert len(done.stderr.splitlines()) <= 4, done.stderr
    stack.camctl("camera", "set", "demo_2f", "display_name=Mine")
    stack.camctl("demo-cameras", "--seconds", "1")
    assert stack.one("SELECT display_name FROM camserver.cameras WHERE camera_id = 'demo_2f'") == "Mine"
    for words, complaint in ((["--cameras", "0"], "--cameras"), (["--rate", "-1"], "--rate"), (["x"], "unexpected"),
                             (["--draw", "/tmp/x.jpg", "--camera", "attic"], "entrance, parking or 2f"),
                             (["--draw", "/nowhere/x.jpg", "--camera", "2f"], "/nowhere/x.jpg")):
        done = stack.camctl("demo-cameras", *words, check=False)
        assert done.returncode == 1 and complaint in done.stderr, (words, done.stderr)


@test(fronts=None)
def demo_cameras_make_events(stack):
    """Through the real dispatcher and the real analyzer; somebody walks through after 6 seconds."""
    since = stack.one("SELECT clock_timestamp()")
    demo = subprocess.Popen([f"{stack.prefix}/bin/camctl", "-c", stack.conf, "demo-cameras", "--cameras", "1", "--rate", "2"],
                            stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: stack.sql("SELECT 1 FROM camserver.events WHERE camera_id = 'demo_entrance' AND primary_event = 'human'"
                                     " AND last_seen_at > %s", since), timeout=90, what="an event")
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(timeout=20) == 0
    finally:
        if demo.poll() is None:
            demo.kill()


@test(fronts=None)
def demo_cameras_survive_a_database_that_is_away_and_stop_when_told(stack):
    """On a cluster address that is nobody's at first, as if PostgreSQL came up later."""
    directory = f"{stack.directory}/tmp/{unique('pg')}"
    url = f"ADMIN_DATABASE_URL=host={directory} user={stack.admin} dbname=camserver"
    log = f"{stack.directory}/log/{unique('demo')}.log"
    count = lambda: stack.one("SELECT count(*) FROM camserver.frames WHERE camera_id = 'demo_entrance'")
    before = count()
    with open(log, "w") as stderr:
        demo = subprocess.Popen([f"{stack.prefix}/bin/camctl", "-c", stack.conf, "-o", url, "demo-cameras", "--rate", "5"],
                                stderr=stderr)
    try:
        wait_until(lambda: "frames are lost" in open(log).read(), what="a word about the database")
        os.symlink(stack.pg_host, directory)
        wait_until(lambda: count() >= before + 2, what="frames after the database came")
        os.remove(directory)
        assert open(log).read().count("frames are lost") == 1 and "accepted again" in open(log).read()
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(timeout=20) == 0
    finally:
        if demo.poll() is None:
            demo.kill()
