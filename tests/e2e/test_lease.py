# SPDX-License-Identifier: Apache-2.0
"""The specification's test list for admission (section 11.1 and 11.2), and the rest of its API."""

import json
import re
import time
import uuid

from harness import test, unique, wait_until

OVER_CAPACITY_JA = "現在多数のアクセスがありストリーム数が上限に達しています。しばらく経ってからアクセスしてください"
ALREADY_JA = "既に別のカメラを表示中です"
OVERLOAD_JA = "サーバーが高負荷のためしばらく経ってからお試しください"


@test()
def lease_granted_within_the_budget(stack, front):
    server, camera = stack.server()
    data = front.client().lease(camera).expect(201)
    uuid.UUID(data["lease_id"])
    assert data["allowed_quality"] == "sub"
    assert data["stream_url"] == f"wss://camserver/stream/{camera}"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", data["expires_at"])
    assert stack.usage(server) == 1
    left = stack.one("SELECT round(extract(epoch FROM expires_at - created_at)) FROM camserver.modal_leases"
                     " WHERE lease_id = %s", data["lease_id"])
    assert left == 300


@test()
def main_stream_costs_two_units(stack, front):
    server, camera = stack.server()
    assert front.client().lease(camera, "main").expect(201)["allowed_quality"] == "main"
    assert stack.usage(server) == 2


@test()
def over_the_budget_is_refused_as_OVER_CAPACITY(stack, front):
    server, camera = stack.server(total_units=17)  # 17 - 5 - 10 = 2
    front.client().lease(camera).expect(201)
    front.client().lease(camera).expect(201)
    answer = front.client().lease(camera)
    data = answer.expect(503, "OVER_CAPACITY")
    assert data["message"] == OVER_CAPACITY_JA
    assert (data["units_needed"], data["units_available"], data["modal_budget"], data["modal_usage"]) == (1, 0, 2, 2)
    assert int(answer.headers["Retry-After"]) == data["retry_after"] > 0
    english = front.client().post("/api/modal/lease", {"camera_id": camera}, headers={"Accept-Language": "en-GB,ja;q=0.5"})
    assert "in use" in english.expect(503, "OVER_CAPACITY")["message"]


@test()
def a_default_server_has_thirty_five_units(stack, front):
    server, camera = stack.server()
    for _ in range(17):
        front.client().lease(camera, "main").expect(201)
    front.client().lease(camera, "main").expect(503, "OVER_CAPACITY")
    front.client().lease(camera, "sub").expect(201)
    front.client().lease(camera, "sub").expect(503, "OVER_CAPACITY")
    assert stack.usage(server) == 35


@test()
def main_is_downgraded_only_on_request(stack, front):
    _, camera = stack.server(total_units=16)
    front.client().lease(camera, "main").expect(503, "OVER_CAPACITY")
    assert front.client().lease(camera, "main", allow_downgrade=True).expect(201)["allowed_quality"] == "sub"


@test()
def a_second_lease_of_one_user_is_refused(stack, front):
    _, camera = stack.server()
    viewer = front.client()
    first = viewer.lease(camera).expect(201)
    data = viewer.lease(camera).expect(409, "USER_ALREADY_HAS_MODAL")
    assert data["message"] == ALREADY_JA
    assert data["lease_id"] == first["lease_id"] and data["camera_id"] == camera
    viewer.delete(f"/api/modal/lease/{first['lease_id']}").expect(200)
    viewer.lease(camera).expect(201)


@test()
def a_lost_answer_can_be_asked_for_again(stack, front):
    server, camera = stack.server()
    viewer, lease_id = front.client(), str(uuid.uuid4())
    viewer.get("/api/system/status").expect(200)  # brings the session cookie
    for _ in range(3):
        assert viewer.lease(camera, lease_id=lease_id).expect(201)["lease_id"] == lease_id
    assert stack.usage(server) == 1
    front.client().lease(camera, lease_id=lease_id).expect(409, "BAD_LEASE_ID")
    assert stack.usage(server) == 1


@test()
def overload_is_refused_as_SYSTEM_OVERLOAD(stack, front):
    host = unique("h")
    _, camera = stack.server(host=host)
    stack.sql("SELECT camserver.health_report(gen_random_uuid(), %s, 0, 97, 50, 0, 'overload', true, true, 'cpu')", host)
    data = front.client().lease(camera).expect(503, "SYSTEM_OVERLOAD")
    assert data["message"] == OVERLOAD_JA
    assert 5 <= data["retry_after"] <= 60
    assert "heavy load" in front.client().post(
        "/api/modal/lease", {"camera_id": camera}, headers={"Accept-Language": "en"}).json["message"]
    # A stale sample is not believed.
    stack.sql("UPDATE camserver.system_health SET sampled_at = sampled_at - interval '31 s' WHERE host = %s", host)
    stack.announce()
    front.client().lease(camera).expect(201)


@test()
def overload_comes_first_then_one_per_user_then_budget(stack, front):
    host = unique("h")
    server, camera = stack.server(host=host, total_units=16)
    viewer = front.client()
    viewer.lease(camera).expect(201)
    viewer.lease(camera).expect(409, "USER_ALREADY_HAS_MODAL")
    front.client().lease(camera).expect(503, "OVER_CAPACITY")
    stack.sql("SELECT camserver.health_report(gen_random_uuid(), %s, 0, 97, 50, 0, 'overload', true, true, 'cpu')", host)
    viewer.lease(camera).expect(503, "SYSTEM_OVERLOAD")


@test()
def heartbeat_answers_the_remaining_time_and_extends_nothing(stack, front):
    _, camera = stack.server()
    viewer = front.client()
    lease = viewer.lease(camera).expect(201)["lease_id"]
    stack.sql("UPDATE camserver.modal_leases SET expires_at = expires_at - interval '100 s',"
              " last_heartbeat = last_heartbeat - interval '30 s' WHERE lease_id = %s", lease)
    data = viewer.post(f"/api/modal/lease/{lease}/heartbeat").expect(200)
    assert data["ok"] is True and 190 <= data["remaining_sec"] <= 200, data
    age, left = stack.sql("SELECT extract(epoch FROM clock_timestamp() - last_heartbeat),"
                          " extract(epoch FROM expires_at - clock_timestamp())"
                          " FROM camserver.modal_leases WHERE lease_id = %s", lease)[0]
    assert age < 25 and left <= 200


@test()
def a_lease_ends_at_its_TTL(stack, front):
    server, camera = stack.server(modal_ttl_sec=2, heartbeat_interval_sec=30)
    viewer = front.client()
    lease = viewer.lease(camera).expect(201)["lease_id"]
    viewer.post(f"/api/modal/lease/{lease}/heartbeat").expect(200)
    wait_until(lambda: viewer.post(f"/api/modal/lease/{lease}/heartbeat").status == 410, what="the TTL")
    data = viewer.post(f"/api/modal/lease/{lease}/heartbeat").expect(410, "LEASE_EXPIRED")
    assert data["end_reason"] == "ttl"
    wait_until(lambda: stack.usage(server) == 0, timeout=25, what="the sweep")
    viewer.post(f"/api/modal/lease/{lease}/heartbeat").expect(410, "LEASE_EXPIRED")
    viewer.lease(camera).expect(201)


@test()
def a_lease_ends_without_heartbeats(stack, front):
    server, camera = stack.server(heartbeat_interval_sec=1, heartbeat_grace_sec=2)
    viewer = front.client()
    lease = viewer.lease(camera).expect(201)["lease_id"]
    for _ in range(6):  # kept alive for longer than the grace
        time.sleep(0.5)
        viewer.post(f"/api/modal/lease/{lease}/heartbeat").expect(200)
    wait_until(lambda: stack.usage(server) == 0, timeout=25, what="the sweep")
    data = viewer.post(f"/api/modal/lease/{lease}/heartbeat").expect(410, "LEASE_EXPIRED")
    assert data["end_reason"] == "heartbeat"
    assert stack.one("SELECT end_reason FROM camserver.ended_leases WHERE lease_id = %s", lease) == "heartbeat"


@test()
def a_dead_lease_never_blocks_swept_or_not(stack, front):
    server, camera = stack.server(total_units=16)
    old = front.client()
    lease = old.lease(camera).expect(201)["lease_id"]
    front.client().lease(camera).expect(503, "OVER_CAPACITY")
    stack.sql("WITH aged AS (UPDATE camserver.modal_leases SET last_heartbeat = last_heartbeat - interval '46 s'"
              " WHERE lease_id = %s RETURNING stream_server_id)"
              " UPDATE camserver.stream_usage SET next_dead_at = '-infinity' WHERE stream_server_id = %s", lease, server)
    stack.announce()
    front.client().lease(camera).expect(201)
    assert stack.usage(server) == 1


@test()
def releasing_frees_the_units_at_once_and_may_be_repeated(stack, front):
    server, camera = stack.server()
    viewer = front.client()
    lease = viewer.lease(camera, "main").expect(201)["lease_id"]
    assert viewer.delete(f"/api/modal/lease/{lease}").expect(200) == {"ok": True}
    assert stack.usage(server) == 0
    viewer.delete(f"/api/modal/lease/{lease}").expect(200)
    assert stack.usage(server) == 0


@test()
def somebody_elses_lease_is_not_found(stack, front):
    server, camera = stack.server()
    lease = front.client().lease(camera).expect(201)["lease_id"]
    stranger = front.client()
    stranger.post(f"/api/modal/lease/{lease}/heartbeat").expect(404, "UNKNOWN_LEASE")
    stranger.delete(f"/api/modal/lease/{lease}").expect(404, "UNKNOWN_LEASE")
    assert stack.usage(server) == 1


@test()
def an_operator_takes_a_lease_away(stack, front):
    server, camera = stack.server()
    viewer = front.client()
    lease = viewer.lease(camera).expect(201)["lease_id"]
    assert lease in stack.camctl("leases").stdout
    stack.camctl("leases", "revoke", lease)
    assert viewer.post(f"/api/modal/lease/{lease}/heartbeat").expect(410, "LEASE_EXPIRED")["end_reason"] == "revoked"
    assert stack.usage(server) == 0
    assert stack.camctl("leases", "revoke", lease, check=False).returncode == 1


@test()
def a_budget_changed_at_run_time_counts_at_once(stack, front):
    server, camera = stack.server(total_units=16)
    front.client().lease(camera).expect(201)
    front.client().lease(camera).expect(503, "OVER_CAPACITY")
    stack.camctl("server", "set", server, "total_units=17")
    front.client().lease(camera).expect(201)
    stack.camctl("server", "set", server, "total_units=15")  # below what is in use: it drains by itself
    assert front.client().lease(camera).expect(503, "OVER_CAPACITY")["modal_budget"] == 0
    assert stack.usage(server) == 2


@test()
def status_has_the_fields_of_the_specification(stack, front):
    data = front.client().get("/api/system/status").expect(200)
    for name in ("healthy", "cpu_percent", "memory_percent", "active_modals", "modal_budget_remaining", "suggest_active"):
        assert name in data, name
    server, camera = stack.server()
    mine = lambda: next(s for s in front.client().get("/api/system/status").json["servers"] if s["stream_server_id"] == server)
    assert mine()["modal_budget"] == 35 and mine()["modal_usage"] == 0
    front.client().lease(camera, "main").expect(201)
    assert mine()["modal_usage"] == 2 and mine()["active_modals"] == 1


@test()
def the_suggested_camera_is_the_same_for_all(stack, front):
    _, camera = stack.server()
    stack.sql("UPDATE camserver.suggest_state SET expires_at = '-infinity'")
    assert front.client().get("/api/suggest").expect(200) == {"suggest_active": False}
    assert stack.one("SELECT camserver.suggest_offer(%s, 120, true, 'hazard.fire')", camera) == "started"
    for viewer in (front.client(), front.client()):
        data = viewer.get("/api/suggest").expect(200)
        assert data["suggest_active"] and data["camera_id"] == camera and data["reason"] == "hazard.fire"
    assert front.client().get("/api/system/status").json["suggest_active"] is True
    stack.sql("UPDATE camserver.suggest_state SET expires_at = '-infinity'")


@test()
def viewers_who_poll_count_as_active_users(stack, front):
    before = stack.one("SELECT count(*) FROM camserver.ui_sessions")
    for _ in range(3):
        viewer = front.client()
        for _ in range(5):
            viewer.get("/api/system/status").expect(200)
    assert stack.one("SELECT count(*) FROM camserver.ui_sessions") >= before + 3
    stack.sql("UPDATE camserver.sweeps SET next_run_at = '-infinity' WHERE name = 'sessions'")
    wait_until(lambda: stack.one("SELECT active_ui_users FROM camserver.suggest_state") >= 3, what="the count")
