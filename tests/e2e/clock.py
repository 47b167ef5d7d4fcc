# SPDX-License-Identifier: Apache-2.0
"""A stack of its own whose clock the test moves: PostgreSQL, dispatcher and analyzer run under libfaketime."""

import contextlib
import glob
import os
import shutil
import subprocess
import time

from harness import Stack, unique, wait_until
from test_archive import free_port


def fake_time(path):
    # Intervals are measured by the monotonic clock, which nobody sets; what files say about their age stays true.
    return {"LD_PRELOAD": glob.glob("/usr/lib/*/faketime/libfaketime.so.1")[0], "FAKETIME_TIMESTAMP_FILE": path, "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}


def shared_memory(stack, starter):
    """What libfaketime made for these processes, and for who started them; it leaves it behind when they are stopped."""
    pids = {starter, *(p for program in ("cam-dispatcher", "cam-analyzer", "multiwatch") for p in stack.pids(program))}
    names = {f"sem_{pid}" for pid in pids} | {f"shm_{pid}" for pid in pids}
    return [f"/dev/shm/{'sem.' if n.startswith('sem') else ''}faketime_{n}" for n in names]


def move(stack, offset):
    """The clock is so far ahead of the machine's from now on: "+61m", "+13d"."""
    with open(f"{stack.directory}/clock.new", "w") as f:
        f.write(offset + "\n")
    os.chmod(f"{stack.directory}/clock.new", 0o644)
    os.rename(f"{stack.directory}/clock.new", f"{stack.directory}/clock")
    days = float(offset[1:-1]) / {"m": 1440, "d": 1}[offset[-1]]
    wait_until(lambda: abs(stack.one("SELECT extract(epoch FROM clock_timestamp())::float - %s", time.time()) / 86400 - days) < 0.01,
               what="the clock's move")


@contextlib.contextmanager
def clock_stack(like):
    directory = f"{like.directory}/{unique('clock')}"
    os.makedirs(directory)
    with open(f"{directory}/analyzer.script", "w") as f:
        f.write('{"rules": []}')
    with open(f"{directory}/clock", "w") as f:
        f.write("+0\n")
    settings = {"PREFIX": like.prefix, "DISPATCHERS": "1", "FCGI_WORKERS": "1", "MEDIA_WORKERS": "1", "INGEST_WORKERS": "1",
                "ANALYZER_FLAGS": f"--script {directory}/analyzer.script"}
    settings.update({name: str(free_port()) for name in ("HTTP_PORT", "APACHE_PORT", "AUTH_PORT", "APACHE_AUTH_PORT", "ANALYZER_PORT")})
    command, leavings = [f"{like.source}/scripts/stack", directory], []
    try:
        starting = subprocess.Popen([*command, "up", "fcgi", "analyzer", "dispatcher"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    text=True, env={**os.environ, **settings, **fake_time(f"{directory}/clock")})
        said, _ = starting.communicate()
        assert starting.returncode == 0, said
        stack = Stack(directory, like.source)
        leavings = shared_memory(stack, starting.pid)
        yield stack
    finally:
        subprocess.run([*command, "down"], capture_output=True)
        for path in leavings:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        shutil.rmtree(directory)
