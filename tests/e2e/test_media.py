# SPDX-License-Identifier: Apache-2.0
"""Images by signed link: who gets one, from where, which part of it; and that nothing else can be had."""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
import uuid
from datetime import datetime, timezone

import frames
from frames import PICTURE
from harness import test, unique, wait_until
from media import add, configured, link, put, sign
from test_read_api import add_event

SECRET = b"nobody must ever see this " * 20
OTHER = frames.picture(7)


def refused(answer, status, code=None):
    assert SECRET[:20] not in answer.body and b"root:" not in answer.body
    if code:
        answer.expect(status, code)
    else:
        assert answer.status in status, answer.status


def delivered(client, path, data, tag):
    """The image, whole and in parts, under its tag."""
    size = len(data)

    def get(status, method="GET", **headers):
        answer = client.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        assert answer.status == status, (headers, answer.status, dict(answer.headers), answer.body[:200])
        assert "X-Sendfile" not in answer.headers, dict(answer.headers)
        return answer

    answer = get(200)
    assert answer.body == data
    assert answer.headers["Content-Type"] == "image/jpeg"
    assert answer.headers["Content-Length"] == str(size)
    assert answer.headers["ETag"] == tag, answer.headers["ETag"]
    assert answer.headers["Cache-Control"] == "private"
    assert answer.headers["Accept-Ranges"] == "bytes"
    answer = get(200, "HEAD")
    assert answer.body == b"" and answer.headers["Content-Length"] == str(size), dict(answer.headers)
    assert answer.headers["ETag"] == tag
    for asked, first, last in (("0-9", 0, 9), ("10-19", 10, 19), (f"{size - 3}-", size - 3, size - 1),
                               ("-5", size - 5, size - 1), (f"5-{size + 100}", 5, size - 1), (f"0-{size - 1}", 0, size - 1)):
        answer = get(206, Range=f"bytes={asked}")
        assert answer.body == data[first:last + 1], asked
        assert answer.headers["Content-Range"] == f"bytes {first}-{last}/{size}", (asked, dict(answer.headers))
        assert answer.headers["Content-Length"] == str(last - first + 1)
        assert answer.headers["ETag"] == tag
    answer = get(416, Range=f"bytes={size}-")
    assert answer.headers["Content-Range"] == f"bytes */{size}", dict(answer.headers)
    assert get(206, Range="bytes=0-4", If_Range=tag).body == data[:5]
    assert get(200, Range="bytes=0-4", If_Range='"another"').body == data
    for known in (tag, f'"another", {tag}', f"W/{tag}"):
        answer = get(304, If_None_Match=known)
        assert answer.body == b"" and answer.headers["ETag"] == tag, known
    assert get(200, If_None_Match='"another"').body == data


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def rclone(stack, **options):
    """A real rclone with a local remote; yields the remote's directory. The programs are configured for it."""
    port, directory = free_port(), f"{stack.directory}/{unique('remote')}"
    os.makedirs(directory)
    with open(f"{directory}.password", "w") as f:
        f.write("opens it\n")
    os.chmod(f"{directory}.password", 0o644)
    with open(f"{stack.directory}/log/rclone.log", "a") as log:
        process = subprocess.Popen(
            ["rclone", "rcd", "--rc-serve", "--rc-addr", f"127.0.0.1:{port}", "--rc-user", "cam",
             "--rc-pass", "opens it", "--config", f"{directory}.conf", "--cache-dir", f"{directory}.cache"], stdout=log, stderr=log)
    try:
        wait_until(lambda: answers(port), what="rclone")
        with configured(stack, RCLONE_URL=f"http://127.0.0.1:{port}", RCLONE_REMOTE=f":local:{directory}",
                        RCLONE_USER="cam", RCLONE_PASSWORD_FILE=f"{directory}.password", **options):
            yield directory, process
    finally:
        process.kill()
        process.wait()


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


# --- links

@test()
def a_link_shows_one_frame_without_signing_in(stack, front):
    name = add(stack, frames.camera(stack))
    made = front.client().post("/api/media/link", {"frame_uuid": name.upper()}).expect(200)
    assert set(made) == {"url", "path", "expires_at"}, made
    assert made["url"] == f"http://127.0.0.1:{stack.settings['HTTP_PORT']}{made['path']}"
    assert made["path"].startswith(f"/media/frame/{name}?exp=")
    exp = int(made["path"].split("exp=")[1].split("&")[0])
    assert made["expires_at"] == time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(exp))
    assert made["path"] == link(stack, name, exp)
    client = front.client()
    answer = client.get(made["path"])
    assert answer.status == 200 and answer.body == PICTURE
    assert client.cookie is None, "nobody is asked who they are"
    short = front.client().post("/api/media/link", {"frame_uuid": name, "ttl_sec": 10}).expect(200)
    assert int(short["path"].split("exp=")[1].split("&")[0]) < exp
    assert front.client().post("/media/frame/" + name).status == 405


@test()
def links_that_are_not_made(stack, front):
    name, client = add(stack, frames.camera(stack)), front.client()
    client.post("/api/media/link", {"frame_uuid": str(uuid.uuid4())}).expect(404, "UNKNOWN_FRAME")
    for body in ({}, {"frame_uuid": None}, {"frame_uuid": 7}, {"frame_uuid": "../" + name}, {"frame_uuid": name + "x"},
                 {"frame_uuid": name, "ttl_sec": 9}, {"frame_uuid": name, "ttl_sec": 86401},
                 {"frame_uuid": name, "ttl_sec": "60"}, {"frame_uuid": name, "ttl_sec": -1}, {"frame_uuid": name, "ttl_sec": 1e30}, [], "x"):
        client.post("/api/media/link", body).expect(400, "BAD_REQUEST")
    client.post("/api/media/link", {"frame_uuid": name}, content_type="text/plain").expect(415)
    client.post("/api/media/link?x=1", {"frame_uuid": name}).expect(400)
    front.client(token="cam_none").post("/api/media/link", {"frame_uuid": name}).expect(401)


@test()
def links_that_were_tampered_with(stack, front):
    cam, client = frames.camera(stack), front.client()
    name, another = add(stack, cam, SECRET), add(stack, cam, SECRET)
    exp = int(time.time()) + 600
    sig = sign(stack, name, exp)
    changed = sig[:-1] + ("0" if sig[-1] != "0" else "1")
    assert client.get(link(stack, name, exp)).body == SECRET
    for path in (f"{another}?exp={exp}&sig={sig}",       # replayed to another frame
                 f"{uuid.uuid4()}?exp={exp}&sig={sig}",
                 f"{name}?exp={exp + 1}&sig={sig}", f"{name}?exp=0{exp}&sig={sig}", f"{name}?exp=%2B{exp}&sig={sig}",
                 f"{name}?exp={exp}.0&sig={sig}", f"{name}?exp=99999999999999999999&sig={sig}",
                 f"{name}?exp={exp}&sig={changed}", f"{name}?exp={exp}&sig={sig.upper()}",
                 f"{name}?exp={exp}&sig={sig}0", f"{name}?exp={exp}&sig={sig[:-1]}", f"{name}?exp={exp}&sig=",
                 f"{name}?exp={exp}&sig={sig}&sig={sig}", f"{name}?exp={exp}&sig={sig}&x=1",
                 f"{name}?exp={exp}", f"{name}?sig={sig}", name, f"{name}?", f"{name}?exp={exp}&sig={'0' * 64}",
                 f"{name}?exp={exp}&sig={sign(stack, name, exp, 'a key of somebody else')}"):
        refused(client.get("/media/frame/" + path), 403, "BAD_SIGNATURE")
    english = client.get(f"/media/frame/{name}", headers={"Accept-Language": "en"}).expect(403)["message"]
    assert english.isascii() and not client.get(f"/media/frame/{name}").expect(403)["message"].isascii()


@test()
def links_that_expired(stack, front):
    name, client = add(stack, frames.camera(stack), SECRET), front.client()
    past = int(time.time()) - 1
    refused(client.get(link(stack, name, past)), 410, "LINK_EXPIRED")
    for headers in ({"Range": "bytes=0-9"}, {"If-None-Match": f'"{name}"'}):
        refused(client.get(link(stack, name, past), headers=headers), 410, "LINK_EXPIRED")
    # Not so for one that never was good.
    refused(client.get(f"/media/frame/{name}?exp={past}&sig={'0' * 64}"), 403, "BAD_SIGNATURE")


@test()
def a_made_up_link_does_not_reach_the_database(stack, front):
    name, client = add(stack, frames.camera(stack)), front.client()
    good = link(stack, name)
    assert client.get(good).status == 200
    stack.stack("stop", "pg")
    stack.connection = None
    try:
        for _ in range(4):  # both workers
            client.get(good).expect(503, "DB_UNAVAILABLE")
        client.get(good + "0").expect(403, "BAD_SIGNATURE")
        client.get(link(stack, name, 1)).expect(410, "LINK_EXPIRED")
    finally:
        stack.stack("start", "pg")
    wait_until(lambda: all(client.get(good).status == 200 for _ in range(4)), what="the image")


@test()
def keys_are_rotated(stack, front):
    name, client, key_file = add(stack, frames.camera(stack)), front.client(), f"{stack.directory}/media.key"
    before, first = os.stat(key_file), link(stack, name)
    assert before.st_mode & 0o777 == 0o640, oct(before.st_mode)
    assert client.get(first).status == 200
    stack.camctl("media", "rotate-key")
    after = os.stat(key_file)
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert len(open(key_file).read().split()) == 2
    second = link(stack, name)
    assert second.split("sig=")[1] != first.split("sig=")[1]
    for path in (first, second, front.client().post("/api/media/link", {"frame_uuid": name}).expect(200)["path"]):
        assert client.get(path).status == 200, path
    stack.camctl("media", "rotate-key")
    client.get(first).expect(403, "BAD_SIGNATURE")
    assert client.get(second).status == 200 and client.get(link(stack, name)).status == 200
    third = link(stack, name)
    stack.camctl("media", "rotate-key", "--drop-old")
    assert len(open(key_file).read().split()) == 1
    for path in (second, third):
        client.get(path).expect(403, "BAD_SIGNATURE")
    assert client.get(link(stack, name)).status == 200


@test()
def without_a_key_there_are_no_links(stack, front):
    name, client, key_file = add(stack, frames.camera(stack)), front.client(), f"{stack.directory}/media.key"
    good = link(stack, name)
    os.rename(key_file, key_file + ".away")
    try:
        client.get(good).expect(503, "MEDIA_UNAVAILABLE")
        client.post("/api/media/link", {"frame_uuid": name}).expect(503, "MEDIA_UNAVAILABLE")
    finally:
        os.rename(key_file + ".away", key_file)
    assert client.get(good).status == 200


@test(fronts=None)
def camctl_makes_links(stack):
    name = add(stack, frames.camera(stack))
    url = stack.camctl("media", "link", name, "--ttl", "60").stdout.strip()
    prefix = f"http://127.0.0.1:{stack.settings['HTTP_PORT']}"
    assert url.startswith(prefix + "/media/frame/"), url
    assert stack.fronts["lighttpd"].client().get(url[len(prefix):]).body == PICTURE
    # By its event's number, as `camctl events` shows it; and what programs need of it.
    event_id, event = add_event(stack, frames.camera(stack), datetime.now(timezone.utc))
    best = add(stack, stack.one("SELECT camera_id FROM camserver.events WHERE event_id = %s", event_id), event=event_id)
    stack.sql("UPDATE camserver.events SET best_frame_id = (SELECT frame_id FROM camserver.frames WHERE frame_uuid = %s) WHERE event_id = %s",
              best, event_id)
    assert f"/media/frame/{best}?" in stack.camctl("media", "link", str(event_id)).stdout
    shown, = [e for e in json.loads(stack.camctl("events", "--json").stdout) if e["event_uuid"] == event]
    assert (shown["best_frame_uuid"], shown["case_id"]) == (best, None), shown
    gone = add(stack, frames.camera(stack), spooled=False)
    for words, said in ((("link", str(uuid.uuid4())), "no frame"), (("link", "x"), "UUID"),
                        (("link", "999999999999"), "no event"), (("link", gone), "not kept any more"),
                        (("link", name, "--ttl", "5"), "--ttl"), (("link", name, "--x", "5"), "--x"), (("rotate-key", "--x"), "--x")):
        done = stack.camctl("media", *words, check=False)
        assert done.returncode == 1 and said in done.stderr, (words, done)


# --- where the image comes from

@test()
def from_the_spool_and_the_directory_by_sendfile(stack, front):
    cam, client, path = frames.camera(stack), front.client(), f"camera-archive/2026/01/31/{unique('c')}/x.jpg"
    name = add(stack, cam)
    delivered(client, link(stack, name), PICTURE, f'"{name}"')
    put(f"{stack.directory}/archive", path, OTHER)
    name = add(stack, cam, OTHER, spooled=False, driver="dir", path=path)
    delivered(client, link(stack, name), OTHER, f'"{name}"')
    # The spool's is gone before its time: the archive has it.
    name = add(stack, cam, OTHER, driver="dir", path=path)
    os.unlink(f"{stack.directory}/spool/infer/{name}.jpg")
    assert client.get(link(stack, name)).body == OTHER
    # Gone everywhere; never there; not even a frame any more.
    os.unlink(f"{stack.directory}/archive/{path}")
    client.get(link(stack, name)).expect(404, "IMAGE_GONE")
    client.get(link(stack, add(stack, cam, spooled=False))).expect(404, "IMAGE_GONE")
    client.get(link(stack, str(uuid.uuid4()))).expect(404, "IMAGE_GONE")


@test()
def a_large_image(stack, front):
    data = PICTURE + bytes(range(256)) * 19000  # 4.9 MB
    name = add(stack, frames.camera(stack), data)
    answer = front.client().get(link(stack, name))
    assert answer.status == 200 and answer.body == data


@test()
def from_everywhere_by_the_program_itself(stack, front):
    cam, client = frames.camera(stack), front.client()
    path = f"camera-archive/2026/01/31/{unique('c')}/x.jpg"
    put(f"{stack.directory}/archive", path, OTHER)
    large = PICTURE + bytes(range(256)) * 19000
    with rclone(stack, SENDFILE="no") as (remote, process):
        for spooled, driver in ((True, None), (False, "dir"), (False, "rclone")):
            if driver == "rclone":
                put(remote, path, OTHER)
            name = add(stack, cam, OTHER, spooled=spooled, driver=driver, path=path)
            delivered(client, link(stack, name), OTHER, f'"{name}"')
        put(remote, "case/large.jpg", large)
        for spooled, driver, at in ((True, None, None), (False, "rclone", "case/large.jpg")):
            assert client.get(link(stack, add(stack, cam, large, spooled, driver, at))).body == large
        missing = add(stack, cam, spooled=False, driver="rclone", path="none/x.jpg")
        client.get(link(stack, missing)).expect(404, "IMAGE_GONE")
        planted(stack, client)


@test()
def from_rclone(stack, front):
    cam, client, path = frames.camera(stack), front.client(), "camera-quarantine/2026/01/cam-1/2026_x.jpg"
    with rclone(stack) as (remote, process):
        put(remote, path, OTHER)
        name = add(stack, cam, OTHER, spooled=False, driver="rclone", path=path)
        delivered(client, link(stack, name), OTHER, f'"{name}"')
        # What is too large to be an image is not taken in.
        put(remote, "x/huge.jpg", bytes(6_000_000))
        huge = add(stack, cam, spooled=False, driver="rclone", path="x/huge.jpg")
        client.get(link(stack, huge)).expect(503, "ARCHIVE_UNAVAILABLE")
        process.kill()
        process.wait()
        client.get(link(stack, name)).expect(503, "ARCHIVE_UNAVAILABLE")
    # The wrong password is no way in, and no image that is gone either.
    with rclone(stack) as (remote, process):
        put(remote, path, OTHER)
        with open(f"{remote}.password", "w") as f:
            f.write("does not open it\n")
        client.get(link(stack, name)).expect(503, "ARCHIVE_UNAVAILABLE")
        with open(f"{remote}.password", "w") as f:
            f.write("opens it\n")
        assert client.get(link(stack, name)).body == OTHER


@test()
def nobody_waits_for_a_slow_archive_but_who_asked_for_it(stack, front):
    cam, asked = frames.camera(stack), len(stack.workers("fcgi")) + 2  # more than could serve anybody else, if they had to
    with socket.create_server(("127.0.0.1", 0)) as slow:
        with configured(stack, RCLONE_URL=f"http://127.0.0.1:{slow.getsockname()[1]}", RCLONE_REMOTE="slow:"):
            path = link(stack, add(stack, cam, spooled=False, driver="rclone", path="a/b.jpg"))
            found = []
            asking = [threading.Thread(target=lambda: found.append(front.client().get(path))) for _ in range(asked)]
            for thread in asking:
                thread.start()
            held = [slow.accept()[0] for _ in stack.workers("fcgi-media")]  # each of the pool is at it
            time.sleep(0.3)  # the others wait for them
            viewer = front.client()
            lease = viewer.lease(cam).expect(201)["lease_id"]
            viewer.post(f"/api/modal/lease/{lease}/heartbeat").expect(200)
            viewer.delete(f"/api/modal/lease/{lease}").expect(200)
            assert not found and all(thread.is_alive() for thread in asking)
            for connection in held:
                connection.close()
            for _ in range(asked - len(held)):
                slow.accept()[0].close()
            for thread in asking:
                thread.join(30)
            assert [answer.expect(503)["error_code"] for answer in found] == ["ARCHIVE_UNAVAILABLE"] * asked


# --- nothing else

def planted(stack, client):
    """Whatever somebody got into the database or the directories: only images of the archive are sent."""
    cam, archive = frames.camera(stack), f"{stack.directory}/archive"
    put(stack.directory, "secret.jpg", SECRET)
    place = unique("p")
    put(archive, f"{place}/real.jpg", OTHER)
    put(archive, f"{place}/.hidden.jpg", SECRET)
    os.symlink(f"{stack.directory}/secret.jpg", f"{archive}/{place}/link.jpg")
    os.symlink("real.jpg", f"{archive}/{place}/near.jpg")
    os.symlink(stack.directory, f"{archive}/{place}/up")
    assert client.get(link(stack, add(stack, cam, spooled=False, driver="dir", path=f"{place}/real.jpg"))).body == OTHER
    for path in ("../secret.jpg", f"{stack.directory}/secret.jpg", "/etc/passwd", "../../../../../../../etc/passwd",
                 f"{place}/../../secret.jpg", f"{place}/link.jpg", f"{place}/near.jpg", f"{place}/up/secret.jpg",
                 f"{place}/.hidden.jpg", f"{place}//real.jpg", f"./{place}/real.jpg", f"{place}/./real.jpg", "", ".",
                 "..", "/", place, f"{place}/real.jpg/", f"{place}/%2e%2e/%2e%2e/secret.jpg",
                 f"{place}/real.jpg\r\nX-Sendfile: /etc/passwd",
                 f"{place}/real.jpg\nX-Sendfile: /etc/passwd", f"{place}/real.jpg?x", "x]/../../etc/passwd"):
        for driver in ("dir", "rclone"):
            name = add(stack, cam, SECRET, spooled=False, driver=driver, path=path)
            answer = client.get(link(stack, name))
            # Where no rclone runs, what passes for a path is asked of it in vain.
            asked = path in (place, f"{place}/link.jpg", f"{place}/near.jpg", f"{place}/up/secret.jpg")
            refused(answer, (404, 503) if driver == "rclone" and asked else (404,))
    # A link in the spool in the place of an image.
    name = add(stack, cam, SECRET)
    os.unlink(f"{stack.directory}/spool/infer/{name}.jpg")
    os.symlink(f"{stack.directory}/secret.jpg", f"{stack.directory}/spool/infer/{name}.jpg")
    refused(client.get(link(stack, name)), 404, "IMAGE_GONE")


@test()
def paths_that_were_planted(stack, front):
    planted(stack, front.client())


@test()
def the_web_server_sends_only_from_spool_and_archive(stack, front):
    """Even if the program were led astray: a directory that the web server does not know of stays closed."""
    elsewhere = f"{stack.directory}/{unique('elsewhere')}"
    os.mkdir(elsewhere)
    put(elsewhere, "a.jpg", SECRET)
    name = add(stack, frames.camera(stack), SECRET, spooled=False, driver="dir", path="a.jpg")
    with configured(stack, ARCHIVE_DIR=elsewhere):
        refused(front.client().get(link(stack, name)), (403, 404))
    with configured(stack, ARCHIVE_DIR=elsewhere, SENDFILE="no"):
        assert front.client().get(link(stack, name)).body == SECRET


@test()
def addresses_that_lead_elsewhere(stack, front):
    name, client = add(stack, frames.camera(stack)), front.client()
    put(stack.directory, "secret.jpg", SECRET)
    exp = int(time.time()) + 600
    query = f"?exp={exp}&sig={sign(stack, name, exp)}"
    for path in ("../../secret.jpg", "..%2f..%2fsecret.jpg", "%2e%2e/%2e%2e/secret.jpg", "..%5c..%5csecret.jpg",
                 "/etc/passwd", "%2fetc%2fpasswd", f"{name}%2f..%2f..%2fsecret.jpg", f"{name}/../../../secret.jpg", f"{name}.jpg",
                 f"{name}%00", f"{name}%0d%0aX-Sendfile:%20/etc/passwd", f"{name}%0aX-Sendfile:/etc/passwd", "..", ".", "", "%",
                 f"%2e/{name}/x", f"{name}/", "../../../../../../../../etc/passwd", "....//....//etc/passwd",
                 "..%252f..%252fetc%252fpasswd", "..%c0%af..%c0%afetc/passwd"):
        for tail in (query, ""):
            refused(client.get("/media/frame/" + path + tail), (400, 403, 404))
    for tail in (f"?exp=../../etc/passwd&sig={sign(stack, name, exp)}", f"?exp={exp}&sig=../../../etc/passwd",
                 f"{query}&path=/etc/passwd", f"{query}%0d%0aX-Sendfile:%20/etc/passwd",
                 f"?exp={exp}%0d%0aX-Sendfile:/etc/passwd"):
        refused(client.get(f"/media/frame/{name}{tail}"), (400, 403))
    refused(client.get("/media/"), (403, 404))
    refused(client.get("/media/../secret.jpg"), (400, 403, 404))


@test()
def nobody_outside_can_say_which_file_is_sent(stack, front):
    name, client = add(stack, frames.camera(stack)), front.client()
    put(f"{stack.directory}/archive", "not-yours.jpg", SECRET)
    for header in ("X-Sendfile", "X-LIGHTTPD-send-file", "X-Sendfile2", "X-SENDFILE", "X-Sendfile-Temporary"):
        for file in ("/etc/passwd", f"{stack.directory}/archive/not-yours.jpg"):
            assert client.get(link(stack, name), headers={header: file}).body == PICTURE
            refused(client.get(f"/media/frame/{name}", headers={header: file}), 403, "BAD_SIGNATURE")
            client.get("/api/system/status", headers={header: file}).expect(200)
