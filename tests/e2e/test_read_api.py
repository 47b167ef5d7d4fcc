# SPDX-License-Identifier: Apache-2.0
"""What is read: cameras, their newest images, events in pages, the queue; and the views for operators."""

import os
import uuid
from datetime import datetime, timedelta, timezone
from urllib.parse import quote, urlencode

from harness import test, unique
import pictures

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def rfc3339(at):
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def viewer(stack, front):
    return front.client(token=stack.token("viewer"))


def operator(stack, front):
    return front.client(token=stack.token("operator"))


def post_frame(client, camera, at, picture):
    query = urlencode({"camera_id": camera, "captured_at": rfc3339(at)})
    return client.post(f"/api/frames?{query}", picture, content_type="image/jpeg").expect(202)["frame_uuid"]


def add_frame(stack, camera, at, event=None, **columns):
    """Analysed already, without a job: no dispatcher has anything to do with it."""
    row = {"frame_uuid": str(uuid.uuid4()), "camera_id": camera, "captured_at": at, "received_at": at, "image_bytes": 1,
           "analyzed": True, "event_id": event, **columns}
    return stack.sql(f"INSERT INTO camserver.frames ({', '.join(row)}) VALUES ({', '.join(['%s'] * len(row))})"
                     " RETURNING frame_id, frame_uuid::text", *row.values())[0]


def add_event(stack, camera, at, **columns):
    """Closed, unless columns say otherwise; returns id and uuid."""
    end = at + timedelta(seconds=5)
    row = {"camera_id": camera, "start_at": at, "last_seen_at": end, "end_at": end, "state": "closed", "close_reason": "gap",
           "primary_event": "human", "severity_max": 1, "confidence_max": 0.5, "retention_class": "normal",
           "retention_reason": "severity 1", "created_at": at, "updated_at": at, **columns}
    return stack.sql(f"INSERT INTO camserver.events ({', '.join(row)}) VALUES ({', '.join(['%s'] * len(row))})"
                     " RETURNING event_id, event_uuid::text", *row.values())[0]


def add_job(stack, camera, status, **columns):
    """Of a kind and a time that no dispatcher takes up."""
    over = "now()" if status in ("dead", "done", "cancelled") else "NULL"
    row = {"kind": "escalate", "status": status, "camera_id": camera, **columns}
    return stack.one(f"INSERT INTO camserver.inference_jobs ({', '.join(row)},"
                     " captured_at, created_at, available_at, finished_at)"
                     f" VALUES ({', '.join(['%s'] * len(row))}, now(), now(), now() + interval '1 day', {over})"
                     " RETURNING job_id", *row.values())


def events(client, **params):
    return client.get(f"/api/events?{urlencode(params)}").expect(200)


def all_pages(client, path, name, between=lambda: None, **params):
    """Every item of a list, page after page."""
    items, cursor = [], None
    while True:
        data = client.get(f"{path}?{urlencode({**params, **({'cursor': cursor} if cursor else {})})}").expect(200)
        items += data[name]
        cursor = data["next"]
        if cursor is None:
            return items
        assert len(data[name]) == params.get("limit", 50)
        between()


# --- cameras

@test()
def the_list_of_cameras(stack, front):
    cameras = sorted(stack.server()[1] for _ in range(3))
    stack.sql("UPDATE camserver.cameras SET display_name = 'しょうめん', location_label = '門' WHERE camera_id = %s",
              cameras[0])
    stack.camctl("camera", "set", cameras[2], "enabled=false")
    add_frame(stack, cameras[0], START)
    _, newest = add_frame(stack, cameras[0], START + timedelta(seconds=2),
                          detected=True, primary_event="human", severity=2)
    add_frame(stack, cameras[0], START + timedelta(seconds=1))
    found = [c for c in front.client().get("/api/cameras").expect(200)["cameras"] if c["camera_id"] in cameras]
    assert found == [
        {"camera_id": cameras[0], "display_name": "しょうめん", "location_label": "門", "enabled": True,
         "latest_frame": {"frame_uuid": newest, "captured_at": rfc3339(START + timedelta(seconds=2)), "detected": True,
                          "primary_event": "human", "severity": 2}},
        {"camera_id": cameras[1], "display_name": found[1]["display_name"], "location_label": None, "enabled": True,
         "latest_frame": None},
        {"camera_id": cameras[2], "display_name": found[2]["display_name"], "location_label": None, "enabled": False,
         "latest_frame": None}], found
    front.client().get("/api/cameras?x=1").expect(400, "BAD_REQUEST")


@test()
def the_newest_image(stack, front):
    camera, client, sender = stack.server()[1], viewer(stack, front), front.client(token=stack.token("ingest"))
    path = f"/api/cameras/{camera}/latest.jpg"
    client.get(path).expect(404, "NO_FRAME")
    post_frame(sender, camera, START + timedelta(seconds=5), pictures.CHECKS)
    newest = post_frame(sender, camera, START + timedelta(seconds=9), pictures.GRADIENT)
    post_frame(sender, camera, START, pictures.PROGRESSIVE)  # late
    answer = client.get(path)
    assert answer.status == 200 and answer.body == pictures.GRADIENT
    assert answer.headers["Content-Type"] == "image/jpeg" and answer.headers["ETag"] == f'"{newest}"'
    assert answer.headers["Content-Length"] == str(len(pictures.GRADIENT))
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert front.client().get(path + "?t=123456").body == pictures.GRADIENT  # a page's way to ask again
    head = client.request("HEAD", path)
    assert head.status == 200 and head.body == b"" and head.headers["ETag"] == f'"{newest}"'
    for tag in (f'"{newest}"', f'W/"{newest}"', f'"x", "{newest}"', "*"):
        answer = client.get(path, headers={"If-None-Match": tag})
        assert answer.status == 304 and answer.body == b"", (tag, answer.status)
        assert answer.headers["ETag"] == f'"{newest}"'
    for tag in (newest, f'"{uuid.uuid4()}"', '""'):
        assert client.get(path, headers={"If-None-Match": tag}).body == pictures.GRADIENT, tag
    post_frame(sender, camera, START + timedelta(seconds=10), pictures.GRADIENT_FLIPPED)
    assert client.get(path, headers={"If-None-Match": f'"{newest}"'}).body == pictures.GRADIENT_FLIPPED


@test()
def a_large_image(stack, front):
    camera, picture = stack.server()[1], pictures.grown(5_000_000)
    post_frame(front.client(token=stack.token("ingest")), camera, START, picture)
    for _ in range(3):
        answer = front.client().get(f"/api/cameras/{camera}/latest.jpg")
        assert answer.status == 200 and answer.body == picture


@test()
def an_image_that_is_gone(stack, front):
    camera, sender = stack.server()[1], front.client(token=stack.token("ingest"))
    path = f"/api/cameras/{camera}/latest.jpg"
    frames = [post_frame(sender, camera, START + timedelta(seconds=i), pictures.grown(1000 + i)) for i in range(7)]
    for i in (6, 5, 4, 3):
        os.unlink(f"{stack.directory}/spool/infer/{frames[i]}.jpg")
        answer = front.client().get(path, headers={"If-None-Match": f'"{frames[i]}"'})
        assert answer.status == 200 and answer.headers["ETag"] == f'"{frames[i - 1]}"' and len(answer.body) == 999 + i
    os.unlink(f"{stack.directory}/spool/infer/{frames[2]}.jpg")
    front.client().get(path).expect(404, "NO_FRAME")  # it looks back five frames, no further


@test()
def images_of_no_camera(stack, front):
    for camera in ("no_such_camera", "..", "a" * 65, "%2e%2e%2fetc", "a%20b"):
        answer = front.client().get(f"/api/cameras/{camera}/latest.jpg")
        assert answer.status in (400, 404), (camera, answer.status)
    front.client().get("/api/cameras/no_such_camera/latest.jpg").expect(404, "UNKNOWN_CAMERA")
    front.client().get("/api/cameras/no_such_camera/latest.png").expect(404, "NOT_FOUND")
    front.client().get("/api/cameras/no_such_camera/latest.jpg?size=1").expect(400, "BAD_REQUEST")


# --- events

@test()
def an_event_in_full(stack, front):
    camera = stack.server()[1]
    event, name = add_event(stack, camera, START, primary_event="hazard", severity_max=3, retention_class="case",
                            retention_reason="case", case_id="K-1", retention_before='{"class": "quarantine"}',
                            summary="煙", frame_count=2, confidence_max=0.75)
    best, best_uuid = add_frame(stack, camera, START + timedelta(seconds=5), event, severity=3, confidence=0.75,
        primary_event="hazard", tags_json='["hazard.smoke"]', count_hint=2,
        result_json='{"bboxes": [{"x1": 0.25, "y1": 0, "x2": 1, "y2": 1, "label": "smoke", "conf": 0.5}]}')
    _, first_uuid = add_frame(stack, camera, START, event, severity=2, primary_event="hazard",
                              result_json='{"bboxes": "none"}')
    stack.sql("UPDATE camserver.events SET best_frame_id = %s WHERE event_id = %s", best, event)
    stack.sql("INSERT INTO camserver.event_tags VALUES (%s, 'hazard.smoke', 'hazard'), (%s, 'zoo.lion', 'zoo')",
              event, event)
    end = rfc3339(START + timedelta(seconds=5))
    shown = {"event_uuid": name, "camera_id": camera, "start_at": rfc3339(START), "end_at": end, "last_seen_at": end,
             "state": "closed", "close_reason": "gap", "primary_event": "hazard", "severity_max": 3,
             "confidence_max": 0.75, "tags": ["hazard.smoke", "zoo.lion"], "best_frame_uuid": best_uuid,
             "frame_count": 2, "retention_class": "case", "retention_reason": "case", "case_id": "K-1",
             "summary": "煙"}
    assert events(front.client(), camera_id=camera) == {"events": [shown], "next": None}
    for spelling in (name, name.upper()):
        data = front.client().get(f"/api/events/{spelling}").expect(200)
        assert data == {**shown,
            "tags": [{"tag_id": "hazard.smoke", "tag_group": "hazard", "label_ja": "煙"},
                     {"tag_id": "zoo.lion", "tag_group": "zoo", "label_ja": None}],
            "frames": [{"frame_uuid": first_uuid, "captured_at": rfc3339(START), "severity": 2, "confidence": None,
                        "primary_event": "hazard", "tags": [], "bboxes": [], "count_hint": None, "archived": False},
                       {"frame_uuid": best_uuid, "captured_at": end, "severity": 3,
                        "confidence": 0.75, "primary_event": "hazard", "tags": ["hazard.smoke"], "count_hint": 2,
                        "bboxes": [{"x1": 0.25, "y1": 0, "x2": 1, "y2": 1, "label": "smoke", "conf": 0.5}],
                        "archived": False}],
            "notifications": [], "review": None}, data


@test()
def an_event_of_many_frames_shows_the_newest_500(stack, front):
    camera = stack.server()[1]
    event, name = add_event(stack, camera, START)
    stack.sql("INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes, event_id)"
              " SELECT gen_random_uuid(), %s, %s + n * interval '1 second', now(), 1, %s FROM generate_series(1, 600) n",
              camera, START, event)
    times = [f["captured_at"] for f in front.client().get(f"/api/events/{name}").expect(200)["frames"]]
    assert times == [rfc3339(START + timedelta(seconds=n)) for n in range(101, 601)]


@test()
def events_that_are_none(stack, front):
    for name in (str(uuid.uuid4()), "1", "x" * 36, "a" * 300):
        front.client().get(f"/api/events/{name}").expect(404, "UNKNOWN_EVENT")
    front.client().get(f"/api/events/{uuid.uuid4()}?x=1").expect(400, "BAD_REQUEST")
    assert events(front.client(), camera_id=unique("none")) == {"events": [], "next": None}


@test()
def filters(stack, front):
    camera, client = stack.server()[1], front.client()
    minute = timedelta(minutes=1)
    kinds = ("human", "hazard", "animal", "human")
    names = [add_event(stack, camera, START + i * minute, primary_event=kinds[i], severity_max=i)[1] for i in range(4)]
    names.append(add_event(stack, camera, START + 4 * minute, state="open", end_at=None, close_reason=None, severity_max=0,
                           last_seen_at=datetime.now(timezone.utc))[1])

    def found(**params):
        return sorted(names.index(e["event_uuid"]) for e in events(client, camera_id=camera, **params)["events"])
    assert found() == [0, 1, 2, 3, 4]
    assert found(primary_event="human") == [0, 3, 4]
    assert found(primary_event="hazard") == [1] and found(primary_event="nothing") == []
    assert found(state="open") == [4] and found(state="closed") == [0, 1, 2, 3]
    assert found(severity=0) == [0, 1, 2, 3, 4] and found(severity=2) == [2, 3]
    assert found(since=rfc3339(START + minute)) == [1, 2, 3, 4]
    assert found(before=rfc3339(START + minute)) == [0]
    assert found(since=rfc3339(START + minute), before=rfc3339(START + 3 * minute)) == [1, 2]
    assert found(since="2026-01-01T09:02:00+09:00") == [2, 3, 4]
    assert found(primary_event="human", state="closed", severity=1) == [3]
    assert found(since=rfc3339(START + 3 * minute), before=rfc3339(START)) == []
    everywhere = events(client, since=rfc3339(START), before=rfc3339(START + minute), limit=200)["events"]
    assert names[0] in [e["event_uuid"] for e in everywhere]


@test()
def pages_show_each_event_once_while_new_ones_come(stack, front):
    camera, client = stack.server()[1], front.client()
    # Fives that begin at the very same moment: the order among them is by id.
    names = [add_event(stack, camera, START + timedelta(microseconds=i // 5))[1] for i in range(60)]
    newest_first = names[::-1]
    for limit in (1, 7, 20, 59, 60, 200):
        shown = all_pages(client, "/api/events", "events", camera_id=camera, limit=limit)
        assert [e["event_uuid"] for e in shown] == newest_first
    late = []

    def more():
        late.append(add_event(stack, camera, START + timedelta(days=1, seconds=len(late)))[1])
    for params in ({"camera_id": camera, "limit": 4}, {"limit": 9}):
        seen = [e["event_uuid"] for e in all_pages(client, "/api/events", "events", more, **params)]
        assert [name for name in seen if name in names] == newest_first, "each once"
        assert not set(seen) & set(late[-3:]), "what came later is on the first page of the next time"
    some = all_pages(client, "/api/events", "events", camera_id=camera, limit=4, since=rfc3339(START),
                     before=rfc3339(START + timedelta(hours=1)))
    assert [e["event_uuid"] for e in some] == newest_first


@test()
def bad_queries_for_events(stack, front):
    client = front.client()
    for query in ("x=1", "limit=0", "limit=201", "limit=-1", "limit=a", "limit=", "limit=5&limit=6", "severity=4",
                  "severity=-1", "state=ajar", "state=OPEN", "since=yesterday", "before=2026-01-01", "camera_id=a%27b",
                  "primary_event=a%20b", "camera_id=%ff", "camera_id=" + "a" * 65, "cursor=" + "e" * 300, "cursor=%7f"):
        answer = client.get(f"/api/events?{query}")
        if answer.status == 400 and "%" in query and not answer.body.startswith(b"{"):
            continue  # the web server refuses it by itself
        data = answer.expect(400, "BAD_REQUEST")
        assert f'"{query.split("=")[0]}"' in data["detail"], (query, data)
    one = "0" * 15 + "1"
    for cursor in ("x", "e", "0", "e" + "0" * 31, "e" + "0" * 33, "e" + "0" * 32, "e" + "f" * 32, "j" + "0" * 16,
                   "E" + one + one, "e7" + "f" * 15 + one, "e" + one + "f" * 16, "e" + "0" * 30 + "zz", "' OR 1=1"):
        client.get(f"/api/events?cursor={quote(cursor)}").expect(400, "BAD_CURSOR")
    client.get("/api/events?limit=200&" + "x" * 3000).expect(414, "URI_TOO_LONG")
    client.get("/api/events?").expect(200)


# --- jobs

@test()
def the_queue_in_pages(stack, front):
    camera, client = stack.server()[1], operator(stack, front)
    frame, frame_uuid = add_frame(stack, camera, START)
    dead = add_job(stack, camera, "dead", frame_id=frame, attempt=5, last_error="no answer", priority=7)
    others = [add_job(stack, camera, status) for status in ("waiting", "done", "cancelled", "waiting")]
    data = client.get(f"/api/jobs?camera_id={camera}&status=dead").expect(200)
    job = data["jobs"][0]
    assert data["next"] is None and len(data["jobs"]) == 1
    times = [job.pop(name) for name in ("created_at", "available_at", "finished_at")]
    assert all(t.endswith("Z") for t in times)
    assert job == {"job_id": dead, "kind": "escalate", "status": "dead", "priority": 7, "camera_id": camera,
                   "frame_uuid": frame_uuid, "attempt": 5, "max_attempt": job["max_attempt"], "locked_by": None,
                   "last_error": "no answer"}, job
    assert set(data["counts"]) == {"queued", "waiting", "running", "dead"}
    assert data["counts"]["dead"] >= 1 and data["counts"]["waiting"] >= 2, data["counts"]
    for limit in (1, 2, 5, 200):
        seen = [j["job_id"] for j in all_pages(client, "/api/jobs", "jobs", camera_id=camera, limit=limit)]
        assert seen == (others[::-1] + [dead]), seen
    ids = lambda query: [j["job_id"] for j in client.get(f"/api/jobs?camera_id={camera}&{query}").expect(200)["jobs"]]
    assert ids("status=waiting") == [others[3], others[0]] and ids("kind=escalate&status=done") == [others[1]]
    assert ids("kind=notify") == []
    for query in ("status=asleep", "status=DEAD", "kind=dance", "limit=0", "camera_id=%20", "order=up", "status=dead%7Cdone"):
        client.get(f"/api/jobs?{query}").expect(400, "BAD_REQUEST")
    for cursor in ("j", "j" + "f" * 16, "e" + "0" * 32, "12"):
        client.get(f"/api/jobs?cursor={cursor}").expect(400, "BAD_CURSOR")


@test()
def counts_stop_at_ten_thousand(stack, front):
    camera = stack.server()[1]
    stack.sql("INSERT INTO camserver.inference_jobs (kind, status, camera_id, captured_at, created_at, available_at)"
              " SELECT 'escalate', 'waiting', %s, now(), now(), now() + interval '1 day'"
              " FROM generate_series(1, 10050)", camera)
    try:
        assert operator(stack, front).get("/api/jobs").expect(200)["counts"]["waiting"] == 10000
    finally:
        stack.sql("DELETE FROM camserver.inference_jobs WHERE camera_id = %s", camera)


@test()
def jobs_are_retried_and_cancelled(stack, front):
    camera, client = stack.server()[1], operator(stack, front)
    dead, waiting, done = (add_job(stack, camera, status) for status in ("dead", "waiting", "done"))
    assert client.post(f"/api/jobs/{waiting}/cancel").expect(200) == {"job_id": waiting, "status": "cancelled"}
    assert client.post(f"/api/jobs/{waiting}/cancel").expect(409, "JOB_STATE")["status"] == "cancelled"
    why = stack.one("SELECT last_error FROM camserver.inference_jobs WHERE job_id = %s", waiting)
    assert why.startswith("cancelled by token:"), why
    for word in ("retry", "cancel"):
        assert client.post(f"/api/jobs/{done}/{word}").expect(409, "JOB_STATE")["status"] == "done"
        for job in ("99999999999", "0", "x", "-1", "1.5", "9" * 18, "9" * 30, "1%20"):
            client.post(f"/api/jobs/{job}/{word}").expect(404, "UNKNOWN_JOB")
        client.post(f"/api/jobs/{done}/{word}?force=1").expect(400, "BAD_REQUEST")
    assert client.post(f"/api/jobs/{dead}/retry").expect(200) == {"job_id": dead, "status": "queued"}
    stack.sql("DELETE FROM camserver.inference_jobs WHERE camera_id = %s", camera)


# --- who may

@test()
def roles(stack, front):
    camera = stack.server()[1]
    for path in ("/api/cameras", f"/api/cameras/{camera}/latest.jpg", "/api/events", f"/api/events/{uuid.uuid4()}"):
        front.client(token=stack.token("ingest")).get(path).expect(403, "FORBIDDEN")
        front.client(token="wrong").get(path).expect(401, "UNAUTHORIZED")
        for client in (front.client(), viewer(stack, front), operator(stack, front)):
            assert client.get(path).status in (200, 404), path
        answer = viewer(stack, front).post(path)
        answer.expect(405, "METHOD_NOT_ALLOWED")
        assert answer.headers["Allow"] == "GET, HEAD"
    job = add_job(stack, camera, "dead")
    for method, path in (("GET", "/api/jobs"), ("POST", f"/api/jobs/{job}/retry"), ("POST", f"/api/jobs/{job}/cancel")):
        front.client().request(method, path).expect(401, "UNAUTHORIZED")
        viewer(stack, front).request(method, path).expect(403, "FORBIDDEN")
        front.client(token=stack.token("ingest")).request(method, path).expect(403, "FORBIDDEN")
    assert stack.one("SELECT status FROM camserver.inference_jobs WHERE job_id = %s", job) == "dead"


# --- the views

@test(fronts=None)
def operators_see_the_queue_in_psql(stack):
    camera = stack.server()[1]
    frame, frame_uuid = add_frame(stack, camera, START)
    dead = add_job(stack, camera, "dead", frame_id=frame, last_error="gave up")
    add_job(stack, camera, "done")
    waiting = add_job(stack, camera, "waiting")
    stack.sql("UPDATE camserver.inference_jobs SET created_at = '2000-01-01' WHERE job_id = %s", waiting)
    _, event = add_event(stack, camera, START, state="open", end_at=None, close_reason=None, best_frame_id=frame,
                         last_seen_at=datetime.now(timezone.utc))
    ops = stack.connect("camserver_ops").cursor()

    def rows(query, *params):
        ops.execute(query, params or None)
        return ops.fetchall()
    queue = {row[0]: row[1:] for row in rows(
        "SELECT status, jobs, oldest_age_sec FROM camserver.queue WHERE kind = 'escalate'")}
    assert queue["dead"][0] >= 1 and queue["done"][0] >= 1 and queue["waiting"][1] > 8e8, queue
    assert rows("SELECT sum(done) FROM camserver.throughput WHERE kind = 'escalate'")[0][0] >= 1
    assert rows("SELECT next_try_sec > 0 FROM camserver.oldest_waiting WHERE job_id = %s", waiting) in ([(True,)], [])
    assert len(rows("SELECT * FROM camserver.oldest_waiting")) <= 50
    assert rows("SELECT frame_uuid::text, last_error FROM camserver.dead_jobs WHERE job_id = %s", dead) \
        == [(frame_uuid, "gave up")]
    assert rows("SELECT event_uuid::text, best_frame_uuid::text FROM camserver.open_events WHERE camera_id = %s", camera) \
        == [(event, frame_uuid)]


@test(fronts=None)
def operators_see_who_holds_vacuum_up(stack):
    with stack.connect() as holder:
        holder.autocommit = False
        cursor = holder.cursor()
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT pg_backend_pid() FROM camserver.events LIMIT 1")
        pid = holder.info.backend_pid
        found = stack.sql("SELECT source, age_xids >= 0, age_sec >= 0, state FROM camserver.xmin_age"
                          " WHERE pid = %s", pid)
        assert found == [("session", True, True, "idle in transaction")], found
        ops = stack.connect("camserver_ops").cursor()
        ops.execute("SELECT source FROM camserver.xmin_age WHERE pid = %s", (pid,))
        assert ops.fetchall() == [("session",)]
        holder.rollback()
