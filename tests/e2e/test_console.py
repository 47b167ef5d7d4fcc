# SPDX-License-Identifier: Apache-2.0
"""What the console's pages poll: who may, what is in it, 304 while nothing changes. The pages themselves: tests/browser."""

from frames import PICTURE, camera, frame, result, rules
from harness import test, unique, wait_until


@test()
def the_wall_names_its_caller_and_links_its_pictures(stack, front):
    cam, viewer = camera(stack), front.client()
    uuid = frame(stack, cam)
    mine = lambda: next(c for c in viewer.get("/api/console/live").expect(200)["cameras"] if c["camera_id"] == cam)
    assert mine()["online"] is True and mine()["latest_frame"]["frame_uuid"] == uuid
    image = front.client().get(mine()["latest_frame"]["image"])
    assert image.status == 200 and image.body == PICTURE, "a signed link needs no cookie"
    assert viewer.get("/api/console/live").json["who"] == {"role": "viewer", "name": None, "sign_in": "anonymous"}
    assert front.signed_in("alice").get("/api/console/live").json["who"] == {"role": "viewer", "name": "alice", "sign_in": "web"}
    viewer.get("/api/console/live?x=1").expect(400, "BAD_REQUEST")


@test()
def what_has_not_changed_is_304(stack, front):
    cam, viewer = camera(stack), front.client()
    path = f"/api/console/events?camera_id={cam}"
    first = viewer.get(path)
    etag = first.headers["ETag"]
    assert first.json["events"] == [] and first.headers["Cache-Control"] == "private, no-cache"
    again = viewer.get(path, headers={"If-None-Match": etag})
    assert again.status == 304 and again.body == b"" and again.headers["ETag"] == etag
    rules(stack, result(cam))
    frame(stack, cam)
    changed = lambda: viewer.get(path, headers={"If-None-Match": etag})
    wait_until(lambda: changed().status == 200, what="another answer")
    event = changed().json["events"][0]
    assert changed().json["labels"] == {"human.presence": "人物"}
    detail = viewer.get(f"/api/console/events/{event['event_uuid']}").expect(200)
    assert detail["frames"][0]["image"] == detail["image"] and detail["case_by"] is None
    viewer.get("/api/console/events/nonsense").expect(404, "UNKNOWN_EVENT")
    viewer.get("/api/console/events?cursor=nonsense").expect(400, "BAD_CURSOR")
    rules(stack)


@test()
def operations_and_budgets_are_the_operators(stack, front):
    server, _ = stack.server(total_units=40)
    front.client().get("/api/console/operations").expect(401)
    front.client(token=stack.token("viewer")).get("/api/console/operations").expect(403)
    operator = front.client(token=stack.token("operator"))
    data = operator.get("/api/console/operations").expect(200)
    assert len(data["history"]["minutes"]) == 60 and data["status"]["servers"] and "nodes" in data
    put = lambda client, body, **kw: client.request("PUT", f"/api/servers/{server}", body, **kw)
    put(front.client(token=stack.token("viewer")), {"total_units": 1}).expect(403)
    assert put(operator, {"total_units": 41}).expect(200)["server"]["total_units"] == 41
    assert "check" in put(operator, {"total_units": -1}).expect(400, "BAD_REQUEST")["detail"]
    put(operator, {"units": 1}).expect(400, "BAD_REQUEST")
    put(operator, {"total_units": "many"}).expect(400, "BAD_REQUEST")
    put(operator, "[]").expect(400, "BAD_REQUEST")
    put(operator, "{}", content_type="text/plain").expect(415)
    operator.request("PUT", f"/api/servers/{unique('no')}", {"total_units": 1}).expect(404, "UNKNOWN_SERVER")
    assert stack.sql("SELECT action, before, after FROM camserver.audit WHERE subject = %s AND actor LIKE 'token:%%'", server) == [
        ("budget.set", {"total_units": 40}, {"total_units": 41})]
