# SPDX-License-Identifier: Apache-2.0
"""Frames with an image in the spool or in an archive, and links to them."""

import contextlib
import hashlib
import hmac
import os
import time
import uuid

import frames


def add(stack, cam, data=frames.PICTURE, spooled=True, driver=None, path=None, event=None):
    """A frame that no dispatcher has anything to do with; driver and path put it into the archive. Returns its uuid."""
    name = str(uuid.uuid4())
    frame_id = stack.one(
        "INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes, analyzed,"
        " event_id, image_removed_at) VALUES (%s, %s, now(), now(), %s, true, %s, CASE WHEN NOT %s THEN now() END)"
        " RETURNING frame_id",
        name, cam, len(data), event, spooled)
    if spooled:
        frames.spool(stack, data, name)
    if driver:
        stack.sql("INSERT INTO camserver.archive_objects (frame_id, driver, path, bytes, sha256, archived_at, spooled)"
                  " VALUES (%s, %s, %s, %s, %s, now(), %s)", frame_id, driver, path, len(data),
                  hashlib.sha256(data).hexdigest(), spooled)
    return name


def put(directory, path, data=frames.PICTURE):
    """A file of an archive, its and its folders' owner that of the directory: the dispatcher works there too."""
    owner = os.stat(directory)
    at = directory
    for folder in path.split("/")[:-1]:
        at = f"{at}/{folder}"
        if not os.path.exists(at):
            os.mkdir(at)
            os.chown(at, owner.st_uid, owner.st_gid)
    with open(f"{directory}/{path}", "wb") as f:
        f.write(data)
    os.chown(f"{directory}/{path}", owner.st_uid, owner.st_gid)


def sign(stack, name, exp, key=None):
    key = key or open(f"{stack.directory}/media.key").readline().strip()
    return hmac.new(key.encode(), f"media/frame\n{name}\n{exp}".encode(), hashlib.sha256).hexdigest()


def link(stack, name, exp=None, key=None):
    """The path of a link as the server would make it."""
    exp = exp or int(time.time()) + 600
    return f"/media/frame/{name}?exp={exp}&sig={sign(stack, name, exp, key)}"


@contextlib.contextmanager
def configured(stack, **options):
    """The FastCGI programs run with these options meanwhile."""
    before = open(stack.conf).read()

    def restart(text):
        with open(stack.conf, "w") as f:
            f.write(text)
        stack.stack("stop", "fcgi")
        stack.stack("start", "fcgi")

    restart(before + "".join(f"{name}={value}\n" for name, value in options.items()))
    try:
        yield
    finally:
        restart(before)
