# SPDX-License-Identifier: Apache-2.0
"""Cases: an event is attached, moved, detached, by the API and by camctl; only operators may."""

import json
import os
import uuid
from datetime import datetime, timedelta, timezone

import frames
from harness import test, unique, wait_until
from media import add, link, put
from test_read_api import add_event

CLASSES = ("SELECT retention_class::text FROM camserver.frames WHERE event_id = %s"
           " UNION ALL SELECT retention_class::text FROM camserver.events WHERE event_id = %s")


def made(stack):
    """An event with three frames, the first of them in the archive; returns id, uuid, and the frames' uuids."""
    cam, path = frames.camera(stack), f"camera-archive/2026/01/31/{unique('c')}/x.jpg"
    put(f"{stack.directory}/archive", path)
    event_id, event = add_event(stack, cam, datetime.now(timezone.utc) - timedelta(minutes=30))
    names = [add(stack, cam, driver="dir", path=path, event=event_id)]
    return event_id, event, names + [add(stack, cam, event=event_id) for _ in range(2)]


def classes(stack, event_id):
    return {row[0] for row in stack.sql(CLASSES, event_id, event_id)}


def archive_jobs(stack, name):
    return stack.one("SELECT count(*) FROM camserver.inference_jobs j JOIN camserver.frames f USING (frame_id)"
                     " WHERE f.frame_uuid = %s AND j.kind = 'archive'", name)


@test()
def an_event_becomes_part_of_a_case_and_leaves_it(stack, front):
    event_id, event, names = made(stack)
    operator, case = front.client(token=stack.token("operator")), unique("case-")
    path = f"/api/events/{event}/case"
    answer = operator.request("PUT", path, {"case_id": case}).expect(200)
    assert answer["event_uuid"] == event and answer["case_id"] == case, answer
    assert answer["retention_class"] == answer["retention_reason"] == "case" and "outcome" not in answer
    assert answer["images_gone"] == 0
    assert classes(stack, event_id) == {"case"}
    assert archive_jobs(stack, names[0]) >= 1 and archive_jobs(stack, names[1]) == 0
    shown = operator.get(f"/api/events/{event}").expect(200)
    assert shown["case_id"] == case
    assert [f["archived"] for f in shown["frames"]] == [f["frame_uuid"] == names[0] for f in shown["frames"]]
    assert shown["notifications"] == [] and shown["review"] is None
    assert operator.request("PUT", path, {"case_id": case}).expect(200)["case_id"] == case
    assert operator.request("PUT", path, {"case_id": "another"}).expect(200)["case_id"] == "another"
    # What had expired before is gone, and said to be; the archive has the first, and the third is in the spool.
    stack.sql("UPDATE camserver.frames SET image_removed_at = now() WHERE frame_uuid = ANY(%s::uuid[])", names[:2])
    assert operator.request("PUT", path, {"case_id": "another"}).expect(200)["images_gone"] == 1
    for _ in range(2):
        answer = operator.delete(path).expect(200)
        assert answer["case_id"] is None
        assert (answer["retention_class"], answer["retention_reason"]) == ("normal", "severity 1"), answer
    assert classes(stack, event_id) == {"normal"}


@test()
def its_images_move_to_the_case_and_back(stack, front):
    """From the frame to the archive, by the dispatcher; links lead to the image wherever it is."""
    cam, operator, case = frames.camera(stack), front.client(token=stack.token("operator")), unique("case-")
    frames.rules(stack, frames.result(cam, "human", 1))
    names = [frames.frame(stack, cam, at, frames.picture(at)) for at in range(2)]
    frames.settled(stack, *names)

    def places():
        return sorted(path for path, in stack.sql(
            "SELECT o.path FROM camserver.archive_objects o JOIN camserver.frames f USING (frame_id)"
            " WHERE f.camera_id = %s AND o.removed_at IS NULL", cam))

    def all_in(folder):
        found = places()
        return len(found) == 2 and all(p.startswith(folder) and p[-40:-4] in names for p in found) and all(
            os.path.exists(f"{stack.directory}/archive/{p}") for p in found)

    def shown():
        """From the archive: the spool has them no more."""
        for name, at in zip(names, range(2)):
            stack.sql("UPDATE camserver.archive_objects o SET spooled = false FROM camserver.frames f"
                      " WHERE f.frame_id = o.frame_id AND f.frame_uuid = %s", name)
            answer = front.client().get(link(stack, name))
            assert answer.status == 200 and answer.body == frames.picture(at), answer.status

    wait_until(lambda: all_in("camera-archive/"), what="the archive")
    before = places()
    event = stack.one("SELECT event_uuid::text FROM camserver.events WHERE camera_id = %s", cam)
    operator.request("PUT", f"/api/events/{event}/case", {"case_id": case}).expect(200)
    wait_until(lambda: all_in(f"case/{case}/{cam}/"), what="the move to the case")
    wait_until(lambda: not any(os.path.exists(f"{stack.directory}/archive/{p}") for p in before), what="the old ones' end")
    shown()
    operator.delete(f"/api/events/{event}/case").expect(200)
    wait_until(lambda: all_in("camera-archive/"), what="the move back")
    assert places() == before
    shown()


@test()
def only_operators_may(stack, front):
    event_id, event, _ = made(stack)
    path = f"/api/events/{event}/case"
    for role, status in (("viewer", 403), ("ingest", 403), (None, 401)):
        client = front.client(token=role and stack.token(role))
        client.request("PUT", path, {"case_id": "mine"}).expect(status)
        client.delete(path).expect(status)
    assert stack.one("SELECT case_id FROM camserver.events WHERE event_id = %s", event_id) is None
    operator = front.client(token=stack.token("operator"))
    operator.request("PUT", path, {"case_id": "mine"}).expect(200)
    front.client(token=stack.token("viewer")).delete(path).expect(403, "FORBIDDEN")
    assert stack.one("SELECT case_id FROM camserver.events WHERE event_id = %s", event_id) == "mine"


@test()
def what_is_no_case(stack, front):
    event_id, event, _ = made(stack)
    operator, path = front.client(token=stack.token("operator")), f"/api/events/{event}/case"
    for case in ("", ".", "..", "../x", "a/b", "-a", "a b", "a" * 65, "a\n", "事件"):
        operator.request("PUT", path, {"case_id": case}).expect(400, "BAD_CASE_ID")
    for body in ({}, {"case_id": None}, {"case_id": 7}, {"case_id": ["a"]}, [], "{"):
        operator.request("PUT", path, body).expect(400, "BAD_REQUEST")
    operator.request("PUT", path, {"case_id": "a"}, content_type="text/plain").expect(415)
    operator.request("PUT", path + "?x=1", {"case_id": "a"}).expect(400)
    assert stack.one("SELECT case_id FROM camserver.events WHERE event_id = %s", event_id) is None
    for other in (str(uuid.uuid4()), "x"):
        operator.request("PUT", f"/api/events/{other}/case", {"case_id": "a"}).expect(404, "UNKNOWN_EVENT")
        operator.delete(f"/api/events/{other}/case").expect(404, "UNKNOWN_EVENT")
    answer = operator.get(path)
    answer.expect(405)
    assert answer.headers["Allow"] == "PUT, DELETE"


@test(fronts=None)
def by_camctl(stack):
    event_id, event, _ = made(stack)
    case = unique("case-")

    def listed():
        return [row for row in json.loads(stack.camctl("case", "list", "--json").stdout) if row["event_uuid"] == event]

    assert listed() == []
    assert case in stack.camctl("case", "attach", event, case).stdout
    assert classes(stack, event_id) == {"case"}
    row, = listed()
    assert row["case_id"] == case and row["attached_by"] == "camctl" and row["otherwise"] == "normal", row
    assert stack.camctl("case", "attach", str(event_id), case + ".2").stderr == ""
    stack.sql("UPDATE camserver.frames SET image_removed_at = now() WHERE event_id = %s", event_id)
    assert "of 2 of its frames the image is gone" in stack.camctl("case", "attach", str(event_id), case + ".2").stderr
    assert listed()[0]["case_id"] == case + ".2"
    stack.camctl("case", "detach", str(event_id))
    assert listed() == [] and classes(stack, event_id) == {"normal"}
    stack.camctl("case", "detach", event)
    for words, said in ((("attach", event, "../x"), "case id"), (("attach", str(uuid.uuid4()), "a"), "no event"),
                        (("attach", "999999999999", "a"), "no event"), (("detach", "x"), "not an event"),
                        (("detach", str(uuid.uuid4())), "no event"), (("attach", event), "Usage")):
        done = stack.camctl("case", *words, check=False)
        assert done.returncode == 1 and said in done.stderr, (words, done)
