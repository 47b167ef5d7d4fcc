# SPDX-License-Identifier: Apache-2.0
"""A container that systemd boots from a directory, with no network but loopback: boot, shut down, commands inside of it."""

import contextlib
import json
import os
import re
import shlex
import subprocess
import time

ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def wait_until(condition, timeout=120, what="the condition"):
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come within {timeout} s"
        time.sleep(0.5)


class Machine:
    """Every command and what it said goes to log, a file."""

    def __init__(self, root, log):
        self.root, self.log = root, log
        self.process = self.leader = None

    def boot(self):
        self.process = subprocess.Popen(
            ["systemd-nspawn", "-q", "-D", self.root, "--register=no", "--keep-unit", "--private-network", "--console=pipe", "--boot"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=dict(os.environ, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY="1"))

        def init():
            """Of nspawn's children the one that is the first process in there; another makes it, and ends."""
            assert self.process.poll() is None, "the container ended"
            for pid in subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout.split():
                with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as f:
                    if re.search(r"^NSpid:.*\t1$", f.read(), re.M):
                        return pid
            return None
        self.leader = wait_until(init, what="the container's init")
        wait_until(lambda: self.status("systemctl is-system-running") in ("running", "degraded"), what="the end of the boot")

    def shut_down(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.sh("systemctl poweroff", check=False)
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def words(self, command, env=None):
        """What runs a command inside, as root."""
        return ["nsenter", "-t", self.leader, "-a", "--", "env", "-i",
                *[f"{k}={v}" for k, v in {**ENV, **(env or {})}.items()], "bash", "-c", f"cd /root\n{command}"]

    def sh(self, command, check=True, env=None, timeout=600):
        done = subprocess.run(self.words(command, env), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        self.log.write(f"$ {command}\n{done.stdout}{done.stderr}[{done.returncode}]\n")
        assert not check or done.returncode == 0, f"{command}: status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done

    def start(self, command):
        """Beside what follows; the caller waits for it."""
        self.log.write(f"$ {command} &\n")
        return subprocess.Popen(self.words(command), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def talk(self, command, question, answer, timeout=300):
        """Runs it on a terminal, answers when the question appears, and returns all that it said."""
        words = self.words(f"timeout {timeout} script -qec {shlex.quote(command)} /dev/null",
                           {"DEBIAN_FRONTEND": "readline", "TERM": "dumb"})
        said = b""
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, bufsize=0) as process:
            while data := process.stdout.read(4096):
                said += data
                if answer and question.encode() in said:
                    process.stdin.write(f"{answer}\n".encode())
                    answer = None
        self.log.write(f"$ {command}\n{said.decode()}[{process.returncode}]\n")
        assert process.returncode == 0 and answer is None, said.decode()[-3000:]
        return said.decode()

    def out(self, command, **kw):
        return self.sh(command, **kw).stdout.strip()

    def status(self, command):
        """What it says, whatever its exit status."""
        return self.out(command, check=False)

    def json(self, command):
        return json.loads(self.out(command))

    def sql(self, statement, port=5432):
        return self.out(f"cd / && runuser -u postgres -- psql -XAtq -p {port} camserver -c {shlex.quote(statement)}")
