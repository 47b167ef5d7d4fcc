# SPDX-License-Identifier: Apache-2.0
"""The archive: a directory, and whatever rclone reaches; exactly one copy, at the right place, with the right bytes."""

import contextlib
import hashlib
import os
import shutil
import signal
import socket
import subprocess

from frames import camera, frame, picture, result, rules, settled
from harness import test, unique, wait_until
from receivers import configured, secret, settings


def files(directory):
    """What is there, with its checksum; what is removed while we look is not there."""
    found = {}
    for d, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(FileNotFoundError), open(os.path.join(d, name), "rb") as f:
                found[os.path.relpath(os.path.join(d, name), directory)] = hashlib.sha256(f.read()).hexdigest()
    return found


def objects(stack, cam):
    return dict(stack.sql("SELECT o.path, o.sha256 FROM camserver.archive_objects o JOIN camserver.frames f USING (frame_id)"
                          " WHERE f.camera_id = %s AND o.removed_at IS NULL", cam))


def archived(stack, cam, n, timeout=60):
    wait_until(lambda: len(objects(stack, cam)) == n, timeout=timeout, what=f"{n} archived images")
    return objects(stack, cam)


def place(stack, name, root):
    """The path that the specification gives this frame."""
    return stack.one("SELECT %s || to_char(captured_at AT TIME ZONE 'UTC', %s) || '/' || camera_id || '/'"
                     " || to_char(captured_at AT TIME ZONE 'UTC', 'YYYYMMDD\"T\"HH24MISS.MS\"Z\"') || '_' || frame_uuid || '.jpg'"
                     " FROM camserver.frames WHERE frame_uuid = %s",
                     root, "/YYYY/MM/DD" if root == "camera-archive" else "/YYYY/MM", name)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Rclone:
    """rclone's remote control, with a password, and a WebDAV server for it to reach; both real."""

    def __init__(self, stack):
        self.base = f"{stack.directory}/{unique('rclone')}"
        self.store = f"{self.base}/store"
        os.makedirs(self.store)
        self.password_file = secret(stack, "rc-secret")
        self.port, self.dav_port, self.dav = free_port(), free_port(), None
        with open(f"{self.base}/rclone.conf", "w") as f:
            f.write(f"[dav]\ntype = webdav\nurl = http://127.0.0.1:{self.dav_port}/\nvendor = other\n")
        self.start_dav()
        self.start_rcd()

    def start_rcd(self):
        self.rcd = self.run("rcd", "--rc-serve", "--rc-addr", f"127.0.0.1:{self.port}", "--rc-user", "cam", "--rc-pass", "rc-secret",
                            "--low-level-retries", "1", "--retries", "1", "--contimeout", "2s", "--timeout", "5s")
        self.wait(self.port)

    def run(self, *words):
        return subprocess.Popen(["rclone", *words, "--config", f"{self.base}/rclone.conf"], stdout=subprocess.DEVNULL,
                                stderr=open(f"{self.base}/log", "a"))

    @staticmethod
    def wait(port):
        def answers():
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", port)) == 0
        wait_until(answers, what=f"port {port}")

    def start_dav(self):
        self.dav = self.run("serve", "webdav", self.store, "--addr", f"127.0.0.1:{self.dav_port}")
        self.wait(self.dav_port)

    def kill_rcd(self):
        self.rcd.kill()
        self.rcd.wait()

    def kill_dav(self):
        self.dav.kill()
        self.dav.wait()

    def options(self, remote):
        return {"ARCHIVE_DRIVER": "rclone", "RCLONE_URL": f"http://127.0.0.1:{self.port}/", "RCLONE_REMOTE": remote,
                "RCLONE_USER": "cam", "RCLONE_PASSWORD_FILE": self.password_file}

    def stop(self):
        for process in (self.rcd, self.dav):
            process.terminate()
            process.wait()
        shutil.rmtree(self.base)


def feed(stack, cam, n, start=0):
    """n different pictures, half of them for the quarantine; their uuids with checksum and root."""
    sent = {}
    for i in range(start, start + n):
        rules_for = i % 2
        name = frame(stack, cam[rules_for], i // 2 * 0.01, data=picture(i, (64, 48)))
        sent[name] = (hashlib.sha256(picture(i, (64, 48))).hexdigest(), "camera-quarantine" if rules_for else "camera-archive")
    return sent


def expect_exactly(stack, directory, sent, prefix=""):
    wanted = {place(stack, name, root): sum for name, (sum, root) in sent.items()}
    found = {p: s for p, s in files(directory).items() if any(c in p for c in {w.split("/")[-2] for w in wanted})}
    assert found == wanted, (len(found), len(wanted), set(found) ^ set(wanted))


def pair(stack):
    """A camera whose frames are normal, and one whose are quarantined."""
    cams = [camera(stack), camera(stack)]
    rules(stack, result(cams[0], "human", 1), result(cams[1], "animal", 1, tags=["animal.deer"]))
    return cams


@test(fronts=None)
def detected_frames_are_kept_by_class_and_others_are_not(stack):
    cams, nothing = pair(stack), camera(stack)
    rules(stack, result(cams[0], "human", 1), result(cams[1], "animal", 1, tags=["animal.deer"]),
          result(nothing, "none", 0, detected=False))
    sent = feed(stack, cams, 10)
    empty = frame(stack, nothing)
    settled(stack, *sent, empty)
    archived(stack, cams[0], 5), archived(stack, cams[1], 5)
    expect_exactly(stack, f"{stack.directory}/archive", sent)
    assert stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE camera_id = %s AND kind = 'archive'", nothing) == 0
    rules(stack)


@test(fronts=None)
def an_attempt_whose_end_was_not_written_makes_no_second_copy(stack):
    cams = pair(stack)
    sent = feed(stack, cams, 2)
    archived(stack, cams[0], 1), archived(stack, cams[1], 1)
    # As if the dispatchers had died before they could say so; and one copy is damaged.
    damaged = f"{stack.directory}/archive/{list(objects(stack, cams[0]))[0]}"
    with open(damaged, "wb") as f:
        f.write(b"half")
    stack.sql("DELETE FROM camserver.archive_objects WHERE frame_id IN (SELECT frame_id FROM camserver.frames WHERE camera_id = ANY(%s))", cams)
    stack.sql("SELECT camserver.archive_queue(frame_id) FROM camserver.frames WHERE camera_id = ANY(%s)", cams)
    archived(stack, cams[0], 1), archived(stack, cams[1], 1)
    expect_exactly(stack, f"{stack.directory}/archive", sent)
    rules(stack)


@test(fronts=None)
def a_case_moves_the_images_and_back(stack):
    cams = pair(stack)
    sent = feed(stack, cams, 4)
    archived(stack, cams[0], 2), archived(stack, cams[1], 2)
    event = stack.one("SELECT event_uuid::text FROM camserver.events WHERE camera_id = %s", cams[1])
    case = unique("case")
    stack.camctl("case", "attach", event, case)
    wait_until(lambda: all(p.startswith(f"case/{case}/{cams[1]}/") for p in objects(stack, cams[1])), what="the move")
    found = {p: s for p, s in files(f"{stack.directory}/archive").items() if cams[1] in p}
    assert found == objects(stack, cams[1]) and len(found) == 2, found
    # A frame that joins the event later goes to the case at once.
    settled(stack, frame(stack, cams[1], 5, data=picture(99, (64, 48))))
    wait_until(lambda: len([p for p in objects(stack, cams[1]) if p.startswith(f"case/{case}/")]) == 3, what="the third")
    stack.camctl("case", "detach", event)
    wait_until(lambda: all(p.startswith("camera-quarantine/") for p in objects(stack, cams[1])), what="the way back")
    found = {p: s for p, s in files(f"{stack.directory}/archive").items() if cams[1] in p}
    assert found == objects(stack, cams[1]) and len(found) == 3, found
    assert sent
    rules(stack)


@test(fronts=None)
def an_archive_that_cannot_be_written_loses_nothing(stack):
    cams = pair(stack)
    archive = f"{stack.directory}/archive"
    os.rename(archive, archive + ".away")
    with open(archive, "w") as f:
        f.write("in the way")
    try:
        sent = feed(stack, cams, 6)
        assert all(j[0] == "done" for j in settled_analysis(stack, sent))
        wait_until(lambda: stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE camera_id = ANY(%s) AND kind = 'archive'"
                                     " AND last_error IS NOT NULL", cams) > 0, what="a failure")
    finally:
        os.unlink(archive)
        os.rename(archive + ".away", archive)
    archived(stack, cams[0], 3), archived(stack, cams[1], 3)
    expect_exactly(stack, archive, sent)
    rules(stack)


def settled_analysis(stack, sent):
    """Waits for the analyses alone."""
    count = lambda: stack.one("SELECT count(*) FROM camserver.inference_jobs j JOIN camserver.frames f USING (frame_id) WHERE j.kind = 'analyze'"
                              " AND f.frame_uuid = ANY(%s::uuid[]) AND j.status <> 'done'", list(sent))
    wait_until(lambda: count() == 0, timeout=120, what="the analyses")
    return stack.sql("SELECT j.status::text FROM camserver.inference_jobs j JOIN camserver.frames f USING (frame_id) WHERE j.kind = 'analyze'"
                     " AND f.frame_uuid = ANY(%s::uuid[])", list(sent))


def archive_through_an_outage(stack, rclone, remote, n, kill, start):
    """n frames; what they go through is killed in the middle and comes back. Nothing is lost or doubled, the analysis
    goes on."""
    cams = pair(stack)
    with settings(stack, job_backoff_base_ms=200, job_backoff_max_ms=2000, camera_queue_max=100000), \
            configured(stack, **rclone.options(remote)):
        sent = feed(stack, cams, n // 2)
        wait_until(lambda: len(objects(stack, cams[0])) > n // 8, timeout=240, what="the first part")
        kill()
        sent.update(feed(stack, cams, n - n // 2, n // 2))
        settled_analysis(stack, sent)  # although nothing can be archived
        assert len(objects(stack, cams[0])) + len(objects(stack, cams[1])) < n
        start()
        for cam in cams:
            archived(stack, cam, n // 2, timeout=400)
        assert files(rclone.store) == {place(stack, name, root): sum for name, (sum, root) in sent.items()}
        assert len(files(rclone.store)) == n
    rules(stack)


@test(fronts=None)
def rclone_archives_through_an_outage_of_the_remote(stack):
    rclone = Rclone(stack)
    try:
        archive_through_an_outage(stack, rclone, "dav:", 60, rclone.kill_dav, rclone.start_dav)
    finally:
        rclone.stop()


@test(fronts=None)
def what_one_driver_keeps_stays_with_it_when_another_is_configured(stack):
    rclone, archive = Rclone(stack), f"{stack.directory}/archive"
    try:
        cams = pair(stack)
        feed(stack, cams, 2)
        before = {**archived(stack, cams[0], 1), **archived(stack, cams[1], 1)}
        with configured(stack, **rclone.options(rclone.store)):
            feed(stack, cams, 2, 2)
            archived(stack, cams[0], 2), archived(stack, cams[1], 2)
            assert len(files(rclone.store)) == 2
            # A case takes each image within its own archive; the copies in the spool would make a second one.
            event = stack.one("SELECT event_uuid::text FROM camserver.events WHERE camera_id = %s", cams[0])
            stack.camctl("case", "attach", event, "case-7")
            wait_until(lambda: all(p.startswith("case/case-7/") for p in objects(stack, cams[0])), what="the move")
            here = {p: s for p, s in files(archive).items() if cams[0] in p or cams[1] in p}
            assert {**here, **files(rclone.store)} == {**objects(stack, cams[0]), **objects(stack, cams[1])}
            assert len(here) == 2 and sorted(here.values()) == sorted(before.values()), here
            assert stack.sql("SELECT driver, count(*) FROM camserver.archive_objects JOIN camserver.frames USING (frame_id)"
                             " WHERE camera_id = ANY(%s) GROUP BY 1 ORDER BY 1", cams) == [("dir", 2), ("rclone", 2)]
    finally:
        rclone.stop()
    rules(stack)


@test(fronts=None)
def a_wrong_password_of_rclone_is_said_and_can_be_mended(stack):
    rclone = Rclone(stack)
    try:
        with open(rclone.password_file, "w") as f:
            f.write("wrong\n")
        cams = pair(stack)
        with settings(stack, job_backoff_base_ms=200, job_backoff_max_ms=1000), configured(stack, **rclone.options(rclone.store)):
            sent = feed(stack, cams, 4)
            settled_analysis(stack, sent)
            wait_until(lambda: stack.sql("SELECT 1 FROM camserver.inference_jobs WHERE camera_id = ANY(%s) AND kind = 'archive'"
                                         " AND last_error LIKE '%%status 401%%'", cams), what="the reason")
            assert not files(rclone.store)
            with open(rclone.password_file, "w") as f:
                f.write("rc-secret\n")
            archived(stack, cams[0], 2), archived(stack, cams[1], 2)
            assert files(rclone.store) == {place(stack, name, root): sum for name, (sum, root) in sent.items()}
    finally:
        rclone.stop()
    rules(stack)


@test(fronts=None)
def a_full_disk_loses_nothing(stack):
    """The archive on a file system of its own that has room for some of the images only, until it is made larger."""
    if os.getuid() != 0:
        return
    full = f"{stack.directory}/{unique('full')}"
    os.makedirs(full)
    owner = os.stat(f"{stack.directory}/archive")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=64k,uid={owner.st_uid},gid={owner.st_gid},mode=750", "tmpfs", full], check=True)
    try:
        cams = pair(stack)
        with settings(stack, job_backoff_base_ms=200, job_backoff_max_ms=1000), configured(stack, ARCHIVE_DIR=full):
            sent = feed(stack, cams, 40)
            settled_analysis(stack, sent)
            wait_until(lambda: stack.sql("SELECT 1 FROM camserver.inference_jobs WHERE camera_id = ANY(%s) AND kind = 'archive'"
                                         " AND last_error LIKE '%%No space left%%'", cams), what="the reason")
            assert len(files(full)) < 40
            subprocess.run(["mount", "-o", "remount,size=8m", full], check=True)
            archived(stack, cams[0], 20), archived(stack, cams[1], 20)
            expect_exactly(stack, full, sent)
    finally:
        subprocess.run(["umount", full], check=True)
    rules(stack)


@test(fronts=None)
def rclone_moves_a_case_and_keeps_one_copy(stack):
    rclone = Rclone(stack)
    try:
        with configured(stack, **rclone.options(f"{rclone.store}")):
            cams = pair(stack)
            feed(stack, cams, 4)
            archived(stack, cams[0], 2), archived(stack, cams[1], 2)
            event = stack.one("SELECT event_uuid::text FROM camserver.events WHERE camera_id = %s", cams[0])
            stack.camctl("case", "attach", event, "case-9")
            wait_until(lambda: all(p.startswith("case/case-9/") for p in objects(stack, cams[0])), what="the move")
            assert files(rclone.store) == {**objects(stack, cams[0]), **objects(stack, cams[1])}
            # Asked again, nothing changes; what was damaged is mended.
            with open(f"{rclone.store}/{list(objects(stack, cams[1]))[0]}", "wb") as f:
                f.write(b"damaged")
            stack.sql("SELECT camserver.archive_queue(frame_id) FROM camserver.frames WHERE camera_id = ANY(%s)", cams)
            wait_until(lambda: stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE camera_id = ANY(%s) AND kind = 'archive'"
                                         " AND status <> 'done'", cams) == 0, what="the second time")
            assert files(rclone.store) == {**objects(stack, cams[0]), **objects(stack, cams[1])}
    finally:
        rclone.stop()
    rules(stack)


@test(fronts=None)
def a_dispatcher_killed_while_it_archives_leaves_nothing_behind(stack):
    cams = pair(stack)
    with settings(stack, camera_queue_max=100000, dispatcher_stale_sec=3):
        sent = feed(stack, cams, 100)
        for _ in range(3):
            wait_until(lambda: stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE camera_id = ANY(%s) AND kind = 'archive'"
                                         " AND status IN ('running', 'queued')", cams) > 0 or
                       len(objects(stack, cams[0])) == 50, what="work")
            for pid in stack.pids("cam-dispatcher"):
                os.kill(pid, signal.SIGKILL)
            stack.stack("stop", "dispatcher")
            stack.stack("start", "dispatcher")
        for cam in cams:
            archived(stack, cam, 50, timeout=120)
        expect_exactly(stack, f"{stack.directory}/archive", sent)
    rules(stack)
