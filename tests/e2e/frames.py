# SPDX-License-Identifier: Apache-2.0
"""Frames for the dispatcher's tests: pictures, the spool, and what the analyzer shall answer."""

import datetime
import io
import json
import os
import pwd
import signal
import time
import uuid

from PIL import Image, ImageDraw

from harness import unique, wait_until

STARTS = {}  # of each camera: a minute before it was made, so that its events are fresh


def picture(seed=0, size=(320, 180)):
    """A small textured JPEG; another seed is another picture."""
    image = Image.new("RGB", size, (90, 120, 100))
    draw = ImageDraw.Draw(image)
    for i in range(40):
        x, y = (i * 53 + seed * 17) % size[0], (i * 31 + seed * 7) % size[1]
        draw.rectangle((x, y, x + 18, y + 12), fill=((i * 40) % 255, (i * 70) % 255, (i * 110) % 255))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=80)
    return out.getvalue()


PICTURE = picture()


def rules(stack, *entries):
    """The analyzer answers by these from now on; its counters start again."""
    with open(f"{stack.directory}/analyzer.script", "w") as f:
        json.dump({"rules": list(entries)}, f)
    for pid in stack.pids("cam-analyzer"):
        os.kill(pid, signal.SIGHUP)
    time.sleep(0.2)  # it reads them at once, but not before it is asked


def result(camera, primary="human", severity=1, detected=True, **more):
    """A rule: this camera's frames show that."""
    return {"match": {"path": "/v1/analyze", "camera_id": camera},
            "result": {"primary_event": primary, "severity": severity, "detected": detected,
                       "tags": more.pop("tags", [f"{primary}.presence"] if detected else []),
                       "unknown_flag": primary == "unknown", "confidence": more.pop("confidence", 0.5), **more}}


def camera(stack):
    name = unique("cam")
    stack.sql("SELECT camserver.camera_set(%s)", name)
    STARTS[name] = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=60)
    return name


def spool(stack, data=PICTURE, name=None):
    """The image as the ingest would leave it; None leaves nothing."""
    name = name or str(uuid.uuid4())
    directory = f"{stack.directory}/spool/infer"
    os.makedirs(directory, exist_ok=True)
    if data is not None:
        path = f"{directory}/{name}.jpg"
        with open(path, "wb") as f:
            f.write(data)
        os.chmod(directory, 0o755)
        os.chmod(path, 0o644)
    return name


def frame(stack, cam, at=0, data=PICTURE, priority=0):
    """One frame of the camera, captured so many seconds after its start; returns its uuid."""
    name = spool(stack, data)
    answer = stack.one("SELECT camserver.frame_ingest('test', %s, %s, %s, %s, %s)", name, cam,
                       STARTS[cam] + datetime.timedelta(seconds=at), priority, max(1, len(data or b"x")))
    assert answer["outcome"] == "ACCEPTED", answer
    return name


def job(stack, name):
    return stack.sql("SELECT j.status::text, j.attempt, j.last_error FROM camserver.inference_jobs j"
                     " JOIN camserver.frames f USING (frame_id) WHERE f.frame_uuid = %s AND j.kind = 'analyze'", name)[0]


def settled(stack, *names, timeout=30):
    """Waits until every frame's analysis has ended and returns their (status, attempt, last_error)."""
    wait_until(lambda: stack.one("SELECT count(*) FROM camserver.inference_jobs j JOIN camserver.frames f USING (frame_id)"
                                 " WHERE f.frame_uuid = ANY(%s::uuid[]) AND j.kind = 'analyze' AND j.status IN ('queued', 'waiting', 'running')",
                                 list(names)) == 0, timeout=timeout, what="the jobs' end")
    return [job(stack, n) for n in names]


def events(stack, cam):
    return stack.sql("SELECT state::text, close_reason, primary_event, frame_count, severity_max, retention_class::text,"
                     " extract(epoch FROM start_at)::float, extract(epoch FROM last_seen_at)::float, best_frame_id, event_id"
                     " FROM camserver.events WHERE camera_id = %s ORDER BY start_at, event_id", cam)


def epoch(cam, at):
    return (STARTS[cam] + datetime.timedelta(seconds=at)).timestamp()
