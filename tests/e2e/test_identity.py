# SPDX-License-Identifier: Apache-2.0
"""Who is calling: session cookies, bearer tokens, the web server's sign-in; and requests from other sites."""

from harness import Client, test, unique


@test()
def a_browser_gets_a_session_of_its_own(stack, front):
    viewer = front.client()
    answer = viewer.get("/api/system/status")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie, cookie
    first = viewer.cookie
    assert viewer.get("/api/system/status").headers["Set-Cookie"] is None
    assert viewer.cookie == first and front.client().get("/api/system/status").headers["Set-Cookie"] != cookie


@test()
def the_cookie_itself_is_not_in_the_database(stack, front):
    _, camera = stack.server()
    viewer = front.client()
    lease = viewer.lease(camera).expect(201)["lease_id"]
    user = stack.one("SELECT user_id FROM camserver.modal_leases WHERE lease_id = %s", lease)
    assert user.startswith("anon:") and viewer.cookie.split("=")[1] not in user


@test()
def a_cookie_of_another_form_is_replaced(stack, front):
    for value in ("x", "0" * 63, "0" * 65, "G" * 64, "' OR 1=1"):
        viewer = front.client()
        viewer.cookie = f"camserver_session={value}"
        assert viewer.get("/api/system/status").headers["Set-Cookie"], value


@test()
def tokens_work_until_revoked_and_only_for_their_role(stack, front):
    _, camera = stack.server()
    name = unique("t")
    token = stack.camctl("token", "create", name, "--role", "viewer").stdout.strip()
    robot = front.client(token=token)
    answer = robot.lease(camera)
    answer.expect(201)
    assert answer.headers["Set-Cookie"] is None
    assert name in stack.camctl("token", "list").stdout and token not in stack.camctl("token", "list").stdout
    stack.camctl("token", "revoke", name)
    answer = robot.get("/api/system/status")
    answer.expect(401, "UNAUTHORIZED")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    front.client(token=stack.token("ingest")).get("/api/system/status").expect(403, "FORBIDDEN")
    front.client(token=stack.token("operator")).get("/api/system/status").expect(200)


@test()
def wrong_tokens_are_refused_not_ignored(stack, front):
    for token in ("cam_wrong", "x" * 300, "カメラ".encode().decode("latin-1")):
        front.client(token=token).get("/api/system/status").expect(401, "UNAUTHORIZED")
    expired = stack.camctl("token", "create", unique("t"), "--days", "1").stdout.strip()
    front.client(token=expired).get("/api/system/status").expect(200)
    stack.sql("UPDATE camserver.api_tokens SET expires_at = clock_timestamp() WHERE expires_at IS NOT NULL")
    stack.announce()
    front.client(token=expired).get("/api/system/status").expect(401, "UNAUTHORIZED")


@test()
def the_web_servers_sign_in_names_the_user(stack, front):
    _, camera = stack.server()
    assert Client(front.auth_port).get("/api/system/status").status == 401
    alice = front.signed_in("alice")
    stack.sql("DELETE FROM camserver.modal_leases WHERE user_id = 'user:alice'")
    stack.sql("SELECT camserver.usage_recount()")
    lease = alice.lease(camera).expect(201)["lease_id"]
    assert stack.one("SELECT user_id FROM camserver.modal_leases WHERE lease_id = %s", lease) == "user:alice"
    front.signed_in("alice").lease(camera).expect(409, "USER_ALREADY_HAS_MODAL")  # another browser, the same person
    alice.delete(f"/api/modal/lease/{lease}").expect(200)


@test()
def a_request_header_cannot_forge_the_sign_in(stack, front):
    _, camera = stack.server()
    lease = front.client().post("/api/modal/lease", {"camera_id": camera}, headers={
        "Remote-User": "boss", "Remote_User": "boss", "X-Remote-User": "boss"}).expect(201)["lease_id"]
    assert stack.one("SELECT user_id FROM camserver.modal_leases WHERE lease_id = %s", lease).startswith("anon:")


@test()
def writes_from_other_sites_are_refused(stack, front):
    _, camera = stack.server()
    body = {"camera_id": camera}
    host = f"127.0.0.1:{front.port}"
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"},
                    {"Origin": "null"}):
        front.client().post("/api/modal/lease", body, headers=headers).expect(403, "CROSS_SITE")
    for headers in ({"Sec-Fetch-Site": "same-origin", "Origin": f"http://{host}"}, {"Origin": f"http://{host}"},
                    {"Sec-Fetch-Site": "none"}):
        front.client().post("/api/modal/lease", body, headers=headers).expect(201)
    front.client().get("/api/system/status", headers={"Origin": "https://evil.example"}).expect(200)
    front.client(token=stack.token("viewer")).post("/api/modal/lease", body, headers={"Origin": "https://app.example"}).expect(201)
