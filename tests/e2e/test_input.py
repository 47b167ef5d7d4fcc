# SPDX-License-Identifier: Apache-2.0
"""Bad input gets a clear answer, and the process serves the next request."""

import json
import uuid

from harness import test


def still_serves(stack, front):
    _, camera = stack.server()
    front.client().lease(camera).expect(201)


def lease_body(stack, front, body, status, code, **kw):
    return front.client().post("/api/modal/lease", body, **kw).expect(status, code)


@test()
def wrong_lease_ids(stack, front):
    pids = stack.pids("camserver.fcgi")
    for lease in (str(uuid.uuid4()), "1", "x" * 36, "%00", "..", "550e8400-e29b-41d4-a716-44665544000g", "a" * 300):
        answer = front.client().post(f"/api/modal/lease/{lease}/heartbeat")
        assert answer.status in (400, 404), (lease, answer.status)
        if lease != "%00" and lease != "..":  # web servers refuse or resolve these themselves
            answer.expect(404, "UNKNOWN_LEASE")
            front.client().delete(f"/api/modal/lease/{lease}").expect(404, "UNKNOWN_LEASE")
    still_serves(stack, front)
    assert stack.pids("camserver.fcgi") == pids


@test()
def bad_JSON(stack, front):
    _, camera = stack.server()
    for body in ("", "{", "[]", "null", "42", '"x"', '{"camera_id":}', "{'camera_id':'x'}", '{"camera_id":"a"} x',
                 '{"camera_id":"a"', "\x00", '{"camera_id":"a\\u0000b"}', '{"camera_id":"a"}{"camera_id":"b"}'):
        data = lease_body(stack, front, body, 400, "BAD_REQUEST")
        assert data["detail"], body
    for body in ({"camera_id": 5}, {"camera_id": ["a"]}, {}, {"camera_id": ""}, {"camera_id": camera, "quality": "huge"},
                 {"camera_id": camera, "quality": 1}, {"camera_id": camera, "allow_downgrade": "yes"},
                 {"camera_id": camera, "lease_id": "nope"}, {"camera_id": "a" * 65}, {"camera_id": "a b"},
                 {"camera_id": "../etc"}, {"camera_id": "x'; DROP TABLE cameras; --"}, {"camera_id": "a" * 4000}):
        lease_body(stack, front, body, 400, "BAD_REQUEST")
    still_serves(stack, front)


@test()
def deep_JSON(stack, front):
    for depth in (17, 1000, 1900):
        lease_body(stack, front, '{"camera_id":' + "[" * depth + "]" * depth + "}", 400, "BAD_REQUEST")
        lease_body(stack, front, '{"a":' * depth, 400 if 5 * depth <= 4096 else 413, None)
    still_serves(stack, front)


@test()
def a_ten_megabyte_body(stack, front):
    pids = stack.pids("camserver.fcgi")
    lease_body(stack, front, b'{"camera_id":"' + b"a" * 10_000_000 + b'"}', 413, "PAYLOAD_TOO_LARGE")
    lease_body(stack, front, b"x" * 4097, 413, "PAYLOAD_TOO_LARGE")
    front.client().post(f"/api/modal/lease/{uuid.uuid4()}/heartbeat", b"y" * 100_000).expect(413, "PAYLOAD_TOO_LARGE")
    still_serves(stack, front)
    assert stack.pids("camserver.fcgi") == pids


@test()
def wrong_methods_say_which_are_right(stack, front):
    for path, method, allow in (("/api/modal/lease", "GET", "POST"), ("/api/modal/lease", "PUT", "POST"),
                                (f"/api/modal/lease/{uuid.uuid4()}", "POST", "DELETE"),
                                (f"/api/modal/lease/{uuid.uuid4()}/heartbeat", "GET", "POST"),
                                ("/api/system/status", "POST", "GET, HEAD"), ("/healthz", "DELETE", "GET, HEAD")):
        answer = front.client().request(method, path)
        answer.expect(405, "METHOD_NOT_ALLOWED")
        assert answer.headers["Allow"] == allow, (path, answer.headers["Allow"])


@test()
def HEAD_is_GET_without_a_body(stack, front):
    answer = front.client().request("HEAD", "/api/system/status")
    assert answer.status == 200 and answer.body == b""


@test()
def wrong_content_types(stack, front):
    _, camera = stack.server()
    body = json.dumps({"camera_id": camera})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", "multipart/form-data; boundary=x"):
        lease_body(stack, front, body, 415, "UNSUPPORTED_MEDIA_TYPE", content_type=kind)
    front.client().post("/api/modal/lease", body.encode(), content_type=None).expect(415, "UNSUPPORTED_MEDIA_TYPE")
    front.client().post("/api/modal/lease", body, content_type="Application/JSON; charset=utf-8").expect(201)


@test()
def broken_UTF8(stack, front):
    for broken in (b"\xff\xfe", b"caf\xe9", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"):
        lease_body(stack, front, b'{"camera_id":"' + broken + b'"}', 400, "BAD_REQUEST")
    lease_body(stack, front, {"camera_id": "カメラ"}, 400, "BAD_REQUEST")
    still_serves(stack, front)


@test()
def unknown_and_disabled_cameras(stack, front):
    _, camera = stack.server()
    lease_body(stack, front, {"camera_id": "no_such_camera"}, 404, "UNKNOWN_CAMERA")
    stack.camctl("camera", "set", camera, "enabled=false")
    lease_body(stack, front, {"camera_id": camera}, 404, "UNKNOWN_CAMERA")


@test()
def unknown_addresses(stack, front):
    for path in ("/api/", "/api/nothing", "/api/modal", "/api/modal/lease/", "/api//modal/lease", "/api/modal/lease/x/y/z",
                 "/api/system/status/", "/api/%e3%82%ab", "/api/a%0ab", "/api/" + "p" * 600):
        answer = front.client().get(path)
        assert 400 <= answer.status < 500, (path, answer.status)
    front.client().get("/api/nothing").expect(404, "NOT_FOUND")
    front.client().get("/api/" + "p" * 600).expect(414, "URI_TOO_LONG")


@test()
def a_body_that_was_announced_longer_than_it_is(stack, front):
    import socket
    with socket.create_connection(("127.0.0.1", front.port)) as s:
        s.sendall(b"POST /api/modal/lease HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        s.shutdown(socket.SHUT_WR)
        s.settimeout(20)
        s.recv(1000)
    still_serves(stack, front)


@test()
def clients_that_hang_up(stack, front):
    import socket
    pids = stack.pids("camserver.fcgi")
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", front.port)) as s:
            s.sendall(b"GET /api/system/status HTTP/1.1\r\nHost: x\r\n\r\n")
    still_serves(stack, front)
    assert stack.pids("camserver.fcgi") == pids
