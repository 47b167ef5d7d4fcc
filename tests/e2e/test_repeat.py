# SPDX-License-Identifier: Apache-2.0
"""Answers that are repeated for a moment: never past a change made on this host, never to whom they do not belong."""

import contextlib

from harness import test, unique, wait_until

ROUNDS, PROCESSES = 100, 8  # asking so often in a row meets every process of the pool


def repeated(front):
    lines = front.client().get("/metrics").body.decode().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("camserver_answers_repeated_total ")))


def of_server(client, server):
    status = client.get("/api/system/status").expect(200)
    return next(s for s in status["servers"] if s["stream_server_id"] == server)


@contextlib.contextmanager
def option(stack, line):
    """The pool of camserver.fcgi with one more line in its configuration."""
    before = open(stack.conf).read()
    try:
        with open(stack.conf, "w") as f:
            f.write(f"{before}\n{line}\n")
        stack.stack("stop", "fcgi")
        stack.stack("start", "fcgi")
        yield
    finally:
        with open(stack.conf, "w") as f:
            f.write(before)
        stack.stack("stop", "fcgi")
        stack.stack("start", "fcgi")


@test()
def everybody_reads_what_was_written(stack, front):
    """Refusals are repeated all the time here, and yet the first to ask after each release is served."""
    server, camera = stack.server(total_units=16)  # one unit for leases
    holder, rival, onlooker = front.client(), front.client(), front.client()
    lease = holder.lease(camera).expect(201)["lease_id"]
    before = repeated(front)
    for _ in range(ROUNDS):
        for _ in range(3):
            rival.lease(camera).expect(503, "OVER_CAPACITY")
        assert of_server(onlooker, server)["modal_usage"] == 1
        holder.delete(f"/api/modal/lease/{lease}").expect(200)
        assert of_server(onlooker, server)["modal_usage"] == 0
        lease = rival.lease(camera).expect(201)["lease_id"]
        assert of_server(onlooker, server)["modal_usage"] == 1
        holder, rival = rival, holder
    assert repeated(front) > before, "nothing was repeated: this test has seen nothing"


@test()
def one_lease_a_user_comes_before_a_repeated_refusal(stack, front):
    _, camera = stack.server(total_units=16)
    holder, rival = front.client(), front.client()
    lease = holder.lease(camera).expect(201)["lease_id"]
    for _ in range(ROUNDS):
        rival.lease(camera).expect(503, "OVER_CAPACITY")
        assert holder.lease(camera).expect(409, "USER_ALREADY_HAS_MODAL")["lease_id"] == lease


@test()
def a_refusal_is_repeated_in_its_own_language_and_words(stack, front):
    _, camera = stack.server(total_units=16)
    front.client().lease(camera).expect(201)
    rival = front.client()
    for _ in range(PROCESSES):
        plain = rival.lease(camera).expect(503, "OVER_CAPACITY")
        english = rival.post("/api/modal/lease", {"camera_id": camera}, headers={"Accept-Language": "en"}).expect(503)
        main = rival.lease(camera, "main").expect(503, "OVER_CAPACITY")
        assert plain["message"] != english["message"] and "in use" in english["message"]
        assert (plain["units_needed"], main["units_needed"]) == (1, 2)
        assert rival.lease(camera, "main", allow_downgrade=True).expect(503)["units_needed"] == 1
        assert "good_ms" not in plain


@test()
def a_newcomer_gets_a_cookie_with_a_repeated_refusal(stack, front):
    _, camera = stack.server(total_units=16)
    front.client().lease(camera).expect(201)
    cookies = set()
    for _ in range(PROCESSES):
        newcomer = front.client()
        newcomer.lease(camera).expect(503, "OVER_CAPACITY")
        cookies.add(newcomer.cookie)
    assert None not in cookies and len(cookies) == PROCESSES


@test()
def nobody_is_served_what_only_others_may_see(stack, front):
    """A token that may not look gets nothing repeated, however often those who may have asked before."""
    viewer, ingest = front.client(token=stack.token("viewer")), front.client(token=stack.token("ingest"))
    nobody = front.client(token="cam_" + "0" * 48)
    for _ in range(PROCESSES):
        viewer.get("/api/system/status").expect(200)
        ingest.get("/api/system/status").expect(403, "FORBIDDEN")
        nobody.get("/api/system/status").expect(401, "UNAUTHORIZED")


@test()
def a_revoked_token_stops_working(stack, front):
    """With camctl at once; from elsewhere, here psql, within a moment."""
    for elsewhere in (False, True):
        name = unique("t")
        client = front.client(token=stack.camctl("token", "create", name, "--role", "viewer").stdout.strip())
        for _ in range(PROCESSES):
            client.get("/api/system/status").expect(200)
        if elsewhere:
            stack.sql("SELECT camserver.token_revoke(%s)", name)
            wait_until(lambda: client.get("/api/system/status").status == 401)
        else:
            stack.camctl("token", "revoke", name)
        for _ in range(PROCESSES):
            client.get("/api/system/status").expect(401, "UNAUTHORIZED")


@test()
def what_is_changed_elsewhere_is_seen_in_a_moment(stack, front):
    server, camera = stack.server(total_units=15)
    client = front.client()
    client.lease(camera).expect(503, "OVER_CAPACITY")
    stack.sql("SELECT camserver.stream_server_set(%s, '{\"total_units\": 16}')", server)
    wait_until(lambda: of_server(client, server)["total_units"] == 16)
    wait_until(lambda: client.lease(camera).status == 201)


@test()
def a_lease_that_dies_makes_room_for_the_first_who_asks(stack, front):
    """The holder goes silent: refusals are repeated until its lease can be dead, and not beyond."""
    server, camera = stack.server(total_units=16, heartbeat_interval_sec=1, heartbeat_grace_sec=1)
    for _ in range(3):
        front.client().lease(camera).expect(201)
        rival = front.client()
        dead = "SELECT clock_timestamp() > last_heartbeat + grace_sec * interval '1 s' FROM camserver.modal_leases WHERE stream_server_id = %s"
        answer = rival.lease(camera)
        while not stack.one(dead, server):
            answer = rival.lease(camera)
        if answer.status != 201:
            answer = rival.lease(camera)
        lease = answer.expect(201)["lease_id"]
        rival.delete(f"/api/modal/lease/{lease}").expect(200)


@test(fronts=("lighttpd",))
def it_can_be_switched_off(stack, front):
    server, camera = stack.server(total_units=15)
    with option(stack, "ANSWER_CACHE_MS=0"):
        client = front.client()
        client.get("/api/system/status").expect(200)
        before = repeated(front)
        for units in range(16, 16 + PROCESSES):
            client.lease(camera).expect(503, "OVER_CAPACITY")
            stack.sql("SELECT camserver.stream_server_set(%s, jsonb_build_object('total_units', %s))", server, units)
            assert of_server(client, server)["total_units"] == units
            lease = client.lease(camera).expect(201)["lease_id"]
            client.delete(f"/api/modal/lease/{lease}").expect(200)
            stack.sql("SELECT camserver.stream_server_set(%s, '{\"total_units\": 15}')", server)
        assert repeated(front) == before
    client.get("/api/system/status").expect(200)
