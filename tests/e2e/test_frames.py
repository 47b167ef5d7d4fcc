# SPDX-License-Identifier: Apache-2.0
"""Frames come in: every answer of POST /api/frames, and what is in the spool and the database afterwards."""

import os
import threading
import time
import uuid
from urllib.parse import urlencode

from harness import test, unique, wait_until
import pictures

WHEN = "2026-01-31T23:59:59.250Z"
FAR = "now() + interval '1 day'"


def spool(stack):
    return f"{stack.directory}/spool/infer"


def files(stack, frame):
    return [name for name in os.listdir(spool(stack)) if name.startswith(frame)]


def content(stack, frame):
    with open(f"{spool(stack)}/{frame}.jpg", "rb") as f:
        return f.read()


def camera_of(stack):
    return stack.server()[1]


def sender(stack, front, role="ingest"):
    return front.client(token=stack.token(role))


def post(client, camera=None, body=pictures.GRADIENT, content_type="image/jpeg", query=None, headers=None, **params):
    if query is None:
        query = urlencode({"camera_id": camera, "captured_at": WHEN, **params})
    return client.post(f"/api/frames?{query}", body, content_type=content_type, headers=headers)


def frames(stack, frame):
    return stack.one("SELECT count(*) FROM camserver.frames WHERE frame_uuid = %s", frame)


def jobs(stack, frame):
    return [row[0] for row in stack.sql(
        "SELECT job_id FROM camserver.inference_jobs JOIN camserver.frames USING (frame_id)"
        " WHERE frame_uuid = %s AND kind = 'analyze'", frame)]


def nothing_left(stack, frame):
    assert frames(stack, frame) == 0
    assert files(stack, frame) == [], files(stack, frame)


@test()
def a_frame_is_stored_and_queued(stack, front):
    camera, client = camera_of(stack), sender(stack, front)
    for i, picture in enumerate(pictures.ALL):
        frame = str(uuid.uuid4())
        data = post(client, camera, picture, frame_uuid=frame, priority=i - 2).expect(202)
        assert data == {"frame_uuid": frame, "job_id": jobs(stack, frame)[0], "duplicate": False}, data
        assert content(stack, frame) == picture
        row = stack.sql("SELECT f.camera_id, f.image_bytes, camserver.rfc3339(f.captured_at), j.priority, j.kind::text"
                        " FROM camserver.frames f JOIN camserver.inference_jobs j USING (frame_id)"
                        " WHERE frame_uuid = %s AND j.kind = 'analyze'", frame)
        assert row == [(camera, len(picture), WHEN, i - 2, "analyze")], row


@test()
def an_id_is_made_if_none_is_sent(stack, front):
    camera, client = camera_of(stack), sender(stack, front)
    first, second = post(client, camera).expect(202), post(client, camera).expect(202)
    assert first["frame_uuid"] != second["frame_uuid"]
    for data in (first, second):
        assert str(uuid.UUID(data["frame_uuid"])) == data["frame_uuid"]
        assert content(stack, data["frame_uuid"]) == pictures.GRADIENT


@test()
def the_same_frame_again_is_the_same_answer(stack, front):
    camera, client = camera_of(stack), sender(stack, front)
    frame = str(uuid.uuid4())
    first = post(client, camera, frame_uuid=frame).expect(202)
    for name in (frame, frame.upper(), frame):
        again = post(client, camera, frame_uuid=name).expect(202)
        assert again == {**first, "duplicate": True}, again
    assert frames(stack, frame) == 1 and len(jobs(stack, frame)) == 1
    assert len(files(stack, frame)) == 1 and not files(stack, frame.upper())


@test()
def another_image_under_a_known_id_is_refused(stack, front):
    camera, other, client = camera_of(stack), camera_of(stack), sender(stack, front)
    frame = str(uuid.uuid4())
    post(client, camera, frame_uuid=frame).expect(202)
    post(client, camera, pictures.CHECKS, frame_uuid=frame).expect(409, "FRAME_CONFLICT")
    post(client, other, frame_uuid=frame).expect(409, "FRAME_CONFLICT")
    assert content(stack, frame) == pictures.GRADIENT
    # Also when the first image is gone by now.
    os.unlink(f"{spool(stack)}/{frame}.jpg")
    post(client, other, frame_uuid=frame).expect(409, "FRAME_CONFLICT")
    assert files(stack, frame) == []
    assert len(jobs(stack, frame)) == 1


@test()
def what_a_crash_of_the_machine_left_is_replaced(stack, front):
    """Under the frame's own name, without a row: empty, short, or with zeros where the rest should be."""
    for left in (b"", pictures.GRADIENT[:-40], pictures.GRADIENT[:-40] + bytes(40)):
        camera, client, frame = camera_of(stack), sender(stack, front), str(uuid.uuid4())
        with open(f"{spool(stack)}/{frame}.jpg", "wb") as f:
            f.write(left)
        os.chmod(f.name, 0o666)
        assert post(client, camera, frame_uuid=frame).expect(202)["duplicate"] is False
        assert content(stack, frame) == pictures.GRADIENT and len(files(stack, frame)) == 1
        assert frames(stack, frame) == 1 and len(jobs(stack, frame)) == 1


def together(calls):
    """Runs them at once; their answers in order."""
    answers, gate = [None] * len(calls), threading.Barrier(len(calls))

    def run(i):
        gate.wait()
        answers[i] = calls[i]()
    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return answers


@test()
def one_frame_posted_many_times_at_once(stack, front):
    camera, client = camera_of(stack), sender(stack, front)
    for _ in range(5):
        frame = str(uuid.uuid4())
        answers = together([lambda: post(client, camera, frame_uuid=frame)] * 4)
        data = [answer.expect(202) for answer in answers]
        assert sorted(d["duplicate"] for d in data) == [False, True, True, True], data
        assert len({d["job_id"] for d in data}) == 1
        assert frames(stack, frame) == 1 and len(jobs(stack, frame)) == 1 and len(files(stack, frame)) == 1


@test()
def a_refused_frame_never_takes_an_accepted_ones_file(stack, front):
    camera, client, stranger = camera_of(stack), sender(stack, front), sender(stack, front, "viewer")
    for _ in range(15):
        frame = str(uuid.uuid4())
        refused = lambda: post(stranger, camera, frame_uuid=frame)
        accepted = lambda: post(client, camera, frame_uuid=frame)
        answers = together([refused, accepted, refused, refused])
        answers[1].expect(202)
        for i in (0, 2, 3):
            answers[i].expect(403, "FORBIDDEN")
        assert content(stack, frame) == pictures.GRADIENT


@test()
def not_a_JPEG(stack, front):
    camera, client = camera_of(stack), sender(stack, front)
    for name, body in pictures.broken().items():
        frame = str(uuid.uuid4())
        data = post(client, camera, body, frame_uuid=frame).expect(400, "BAD_REQUEST")
        assert data["detail"], name
        nothing_left(stack, frame)
    for kind in ("image/png", "image/jpegx", "application/octet-stream", "multipart/form-data; boundary=x", "", None):
        answer = post(client, camera, content_type=kind)
        answer.expect(415, "UNSUPPORTED_MEDIA_TYPE")
    post(client, camera, content_type="Image/JPEG; q=1").expect(202)


@test()
def sizes(stack, front):
    camera, client = camera_of(stack), sender(stack, front)
    for size in (5_000_000, 4_999_999, 1_000_000, 65_536):
        frame, body = str(uuid.uuid4()), pictures.grown(size)
        assert len(body) == size
        post(client, camera, body, frame_uuid=frame).expect(202)
        assert content(stack, frame) == body
    for size in (5_000_001, 6_000_000, 12_000_000):
        frame = str(uuid.uuid4())
        post(client, camera, pictures.grown(size), frame_uuid=frame).expect(413, "PAYLOAD_TOO_LARGE")
        nothing_left(stack, frame)
    post(client, camera).expect(202)


@test()
def a_body_in_chunks(stack, front):
    camera, client = camera_of(stack), sender(stack, front)
    body, frame = pictures.grown(300_000), str(uuid.uuid4())
    pieces = [b"%x\r\n%s\r\n" % (len(body[i:i + 7000]), body[i:i + 7000]) for i in range(0, len(body), 7000)]
    answer = post(client, camera, b"".join(pieces) + b"0\r\n\r\n", frame_uuid=frame,
                  headers={"Transfer-Encoding": "chunked"})
    answer.expect(202)
    assert content(stack, frame) == body


@test()
def a_body_that_breaks_off(stack, front):
    import socket
    camera, token, frame = camera_of(stack), stack.token("ingest"), str(uuid.uuid4())
    query = urlencode({"camera_id": camera, "captured_at": WHEN, "frame_uuid": frame})
    with socket.create_connection(("127.0.0.1", front.port)) as s:
        s.sendall(f"POST /api/frames?{query} HTTP/1.1\r\nHost: x\r\nContent-Type: image/jpeg\r\n"
                  f"Authorization: Bearer {token}\r\nContent-Length: 400000\r\n\r\n".encode() + pictures.GRADIENT)
        s.shutdown(socket.SHUT_WR)
        s.settimeout(20)
        s.recv(1000)
    nothing_left(stack, frame)
    post(front.client(token=token), camera, frame_uuid=frame).expect(202)


@test()
def bad_queries(stack, front):
    camera, client = camera_of(stack), sender(stack, front)
    good = f"camera_id={camera}&captured_at={WHEN}"
    before = sorted(os.listdir(spool(stack)))
    for query, named in (
            ("", "camera_id"), (f"captured_at={WHEN}", "camera_id"), (f"camera_id={camera}", "captured_at"),
            (f"{good}&color=red", "color"), (f"{good}&Camera_id={camera}", "Camera_id"),
            (f"{good}&camera_id={camera}", "camera_id"), (f"{good}&camera%5fid={camera}", "camera_id"),
            (f"{good}&priority", "priority"), (f"{good}&priority=", "priority"),
            (f"{good}&&priority=1", '"'), (f"{good}&", '"'), (f"&{good}", '"'), (f"{good}&=1", '"'),
            (f"camera_id=&captured_at={WHEN}", "camera_id"), (f"camera_id=..%2Fx&captured_at={WHEN}", "camera_id"),
            (f"camera_id={'a' * 65}&captured_at={WHEN}", "camera_id"),
            (f"camera_id={'a' * 300}&captured_at={WHEN}", "camera_id"),
            (f"camera_id=a%00b&captured_at={WHEN}", "camera_id"), (f"camera_id=a%zz&captured_at={WHEN}", "camera_id"),
            (f"camera_id=a%4&captured_at={WHEN}", "camera_id"), (f"camera_id=a%E3%82%AB&captured_at={WHEN}", "camera_id"),
            *[(f"{good}&priority={p}", "priority") for p in (101, -101, 1.5, "+1", "1e1", "9" * 20, "0x1", "-", "1%20")],
            *[(f"{good}&frame_uuid={u}", "frame_uuid") for u in (1, "0" * 36, "../../../../etc/passwd", "a" * 36)]):
        answer = post(client, query=query)
        if answer.status == 400 and "%" in query and not answer.body.startswith(b"{"):
            continue  # the web server refuses it by itself
        data = answer.expect(400, "BAD_REQUEST")
        assert named in data["detail"], (query, data)
    post(client, query=good + "&priority=" + "1" * 3000).expect(414, "URI_TOO_LONG")
    assert sorted(os.listdir(spool(stack))) == before
    for priority in (-100, 100, 0):
        post(client, camera, priority=priority).expect(202)


@test()
def times(stack, front):
    camera, client = camera_of(stack), sender(stack, front)
    for bad in ("yesterday", "2026-01-31", "2026-01-31T23:59:59", "2026-01-31 23:59:59Z", "2026-02-29T00:00:00Z",
                "2026-13-01T00:00:00Z", "2026-00-10T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T23:60:00Z",
                "2026-01-31T23:59:61Z", "2026-01-31T23:59:59.Z", "2026-01-31T23:59:59,5Z", "2026-01-31T23:59:59+0900",
                "2026-01-31T23:59:59+24:00", "2026-01-31T23:59Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+09:00",
                "99999-01-01T00:00:00Z", "2026-01-31T23:59:59.1234567890Z", "2026-01-31T23:59:59Z ", "now", "infinity",
                "0"):
        data = post(client, camera, captured_at=bad).expect(400, "BAD_REQUEST")
        assert "captured_at" in data["detail"], (bad, data)
    for good, utc in (("2024-02-29t12:00:00z", "2024-02-29T12:00:00.000Z"),
                      ("2026-01-01T08:59:59.5+09:00", "2025-12-31T23:59:59.500Z"),
                      ("2026-01-01T00:00:00-23:59", "2026-01-01T23:59:00.000Z"),
                      ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
                      ("2026-01-31T23:59:59.123456789Z", "2026-01-31T23:59:59.123Z")):
        for query in (urlencode({"camera_id": camera, "captured_at": good}), f"camera_id={camera}&captured_at={good}"):
            frame = post(client, query=query).expect(202)["frame_uuid"]
            stored = stack.one("SELECT camserver.rfc3339(captured_at) FROM camserver.frames WHERE frame_uuid = %s", frame)
            assert stored == utc, (good, stored)
    frame = str(uuid.uuid4())
    data = post(client, camera, captured_at="2099-01-01T00:00:00Z", frame_uuid=frame).expect(400, "BAD_CAPTURED_AT")
    assert data["server_time"]
    nothing_left(stack, frame)


@test()
def unknown_and_disabled_cameras_get_nothing_stored(stack, front):
    camera, client = camera_of(stack), sender(stack, front)
    stack.camctl("camera", "set", camera, "enabled=false")
    for name in (camera, "no_such_camera"):
        frame = str(uuid.uuid4())
        post(client, name, frame_uuid=frame).expect(404, "UNKNOWN_CAMERA")
        nothing_left(stack, frame)


@test()
def a_full_queue_says_when_to_come_back(stack, front):
    camera, client = camera_of(stack), sender(stack, front)
    known = str(uuid.uuid4())
    post(client, camera, frame_uuid=known).expect(202)
    limit = int(stack.one("SELECT value FROM camserver.settings WHERE name = 'camera_queue_max'"))
    stack.sql(f"INSERT INTO camserver.inference_jobs (status, camera_id, captured_at, created_at, available_at)"
              f" SELECT 'waiting', %s, now(), now(), {FAR} FROM generate_series(1, %s)", camera, limit)
    stack.sql("UPDATE camserver.queue_count SET counted_at = '-infinity'")  # who has much is found when all is counted, now
    frame = str(uuid.uuid4())
    data = post(client, camera, frame_uuid=frame).expect(503, "QUEUE_FULL")
    assert data["camera_queue_max"] == limit and data["retry_after"] > 0
    nothing_left(stack, frame)
    post(client, camera, frame_uuid=known).expect(202)  # what is known is still known
    stack.sql("DELETE FROM camserver.inference_jobs WHERE camera_id = %s AND status = 'waiting'", camera)
    post(client, camera, frame_uuid=frame).expect(202)


@test()
def only_the_role_ingest(stack, front):
    camera, frame = camera_of(stack), str(uuid.uuid4())
    anonymous = front.client()
    answer = post(anonymous, camera, frame_uuid=frame)
    answer.expect(401, "UNAUTHORIZED")
    assert "Bearer" in answer.headers["WWW-Authenticate"] and anonymous.cookie is None
    anonymous.get("/api/system/status").expect(200)  # with a session cookie it is no different
    post(anonymous, camera, frame_uuid=frame).expect(401, "UNAUTHORIZED")
    post(front.client(token="wrong"), camera, frame_uuid=frame).expect(401, "UNAUTHORIZED")
    post(sender(stack, front, "viewer"), camera, frame_uuid=frame).expect(403, "FORBIDDEN")
    post(front.signed_in("alice"), camera, frame_uuid=frame).expect(403, "FORBIDDEN")
    nothing_left(stack, frame)
    post(sender(stack, front, "operator"), camera, frame_uuid=frame).expect(202)
    answer = sender(stack, front).get("/api/frames")
    answer.expect(405, "METHOD_NOT_ALLOWED")
    assert answer.headers["Allow"] == "POST"


@test()
def messages_in_both_languages(stack, front):
    client = sender(stack, front)
    japanese = post(client, "no_such_camera").expect(404)["message"]
    english = post(client, "no_such_camera", headers={"Accept-Language": "en"}).expect(404)["message"]
    assert english.isascii() and not japanese.isascii()


@test()
def while_the_database_is_away_no_frame_is_taken(stack, front):
    camera, client = camera_of(stack), sender(stack, front)
    workers = len(stack.workers("fcgi-ingest"))
    sent = [str(uuid.uuid4()) for _ in range(5 * workers)]
    post(client, camera).expect(202)
    stack.stack("stop", "pg")
    stack.connection = None
    try:
        for frame in sent:
            post(client, camera, frame_uuid=frame).expect(503, "DB_UNAVAILABLE")
        # A worker notices by the first call that fails, whose file it keeps; no more than that.
        assert sum(len(files(stack, frame)) for frame in sent) <= workers
    finally:
        stack.stack("start", "pg")
    for frame in sent:
        wait_until(lambda: post(client, camera, frame_uuid=frame).status == 202, what="the frame")
        assert frames(stack, frame) == 1 and len(jobs(stack, frame)) == 1 and content(stack, frame) == pictures.GRADIENT
    time.sleep(0.5)  # a worker that was not asked since may refuse for this long


@test()
def an_answer_that_was_lost_is_asked_for_again(stack, front):
    """The database goes away in the middle of the call: the file stays, and the same request again completes it."""
    camera, client = camera_of(stack), sender(stack, front)
    answers = []
    with stack.connect() as holder:
        holder.autocommit = False
        holder.cursor().execute("LOCK TABLE camserver.frames IN EXCLUSIVE MODE")
        thread = threading.Thread(target=lambda: answers.append(post(client, camera)))
        thread.start()
        wait_until(lambda: stack.one("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                                     " WHERE usename = 'camserver_api' AND wait_event_type = 'Lock'"), what="the call")
        thread.join()
        holder.rollback()
    frame = answers[0].expect(503, "DB_UNAVAILABLE")["frame_uuid"]
    assert frames(stack, frame) == 0 and content(stack, frame) == pictures.GRADIENT
    data = post(client, camera, frame_uuid=frame).expect(202)
    assert data["frame_uuid"] == frame and not data["duplicate"]
    assert frames(stack, frame) == 1 and len(jobs(stack, frame)) == 1 and len(files(stack, frame)) == 1


@test()
def without_a_spool(stack, front):
    camera, client, frame = camera_of(stack), sender(stack, front), str(uuid.uuid4())
    away = f"{stack.directory}/spool/{unique('away')}"
    os.rename(spool(stack), away)
    try:
        open(spool(stack), "w").close()
        post(client, camera, frame_uuid=frame).expect(503, "SPOOL_UNAVAILABLE")
        front.client().get("/api/system/status").expect(200)
        os.unlink(spool(stack))
        post(client, camera, frame_uuid=frame).expect(202)  # it makes the directory anew
        os.rename(f"{spool(stack)}/{frame}.jpg", f"{away}/{frame}.jpg")
        os.rmdir(spool(stack))
    finally:
        os.rename(away, spool(stack))
    post(client, camera, frame_uuid=frame).expect(202)
    assert content(stack, frame) == pictures.GRADIENT


@test()
def no_temporary_files_stay(stack, front):
    post(sender(stack, front), camera_of(stack)).expect(202)
    assert [name for name in os.listdir(spool(stack)) if not name.endswith(".jpg")] == []
