# SPDX-License-Identifier: Apache-2.0
"""camctl top: in a real terminal, of any size, which is afterwards as it was."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import pools
from harness import test, unique, wait_until
from test_gateway import provider


class Terminal:
    """camctl top on a pseudo terminal; .text is all that it has written."""

    def __init__(self, stack, rows=40, columns=110):
        self.master, slave = pty.openpty()
        self.slave, self.text = slave, ""
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen([f"{stack.prefix}/bin/camctl", "-c", stack.conf, "top", "--interval", "0.2"],
                                        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        env={**os.environ, "LC_ALL": "C.UTF-8"})

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.master], [], [], 0.05)[0]:
            self.text += os.read(self.master, 65536).decode(errors="replace")
        return self.text

    def pages(self):
        """What was drawn each time, without the colours."""
        return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", p).replace("\r", "") for p in self.read().split("\x1b[H")[1:]]

    def end(self, how):
        how()
        try:
            wait_until(lambda: self.read() and self.process.poll() is not None, what="the end of camctl top")
            assert termios.tcgetattr(self.slave) == self.before, "the terminal is not as it was"
            assert self.text.rstrip().endswith("\x1b[?25h\x1b[?1049l"), self.text[-80:]
        finally:
            self.process.kill()
            os.close(self.master)
            os.close(self.slave)
        return self.process.returncode


@test(fronts=None)
def it_shows_what_goes_on_and_leaves_the_terminal_as_it_was(stack):
    wait_until(lambda: stack.one("SELECT count(*) FROM camserver.system_health") > 0, what="a sample of the host's load")
    server, camera = stack.server()
    stack.fronts["lighttpd"].client().lease(camera).expect(201)
    pool, node = pools.make_pool(stack, "exec"), unique("node")
    stack.camctl("node", "add", node, "base_url=http://127.0.0.1:9", "models=nothing")
    try:
        with provider(stack) as up:
            shown = json.loads(stack.camctl("top", "--json").stdout)
            for section, column, value in (("streams", "server", server), ("nodes", "node", node), ("pools", "pool", pool),
                                           ("limits", "model", up.models[0]), ("leases", "camera", camera)):
                rows = shown[section]["rows"]
                assert shown[section]["all"] > len(rows) or value in [r[column] for r in rows], (section, value, rows)
            text = stack.camctl("top", "--once").stdout
            for title in ("HOSTS", "STREAMS", "NODES", "POOLS", "LIMITS", "LEASES"):
                assert re.search(f"^{title}", text, re.M), text
            assert "\x1b" not in text and "queue normal" in text, text

            top = Terminal(stack)
            wait_until(lambda: len(top.pages()) > 2, what="the third page")
            page = top.pages()[1]
            assert "camserver" in page and "NODES" in page and "q quits" in page, page
            assert all(len(line) <= 110 for line in page.splitlines()) and len(page.splitlines()) <= 40, page
            top.resize(16, 60)
            os.kill(top.process.pid, signal.SIGWINCH)
            drawn = len(top.pages())
            wait_until(lambda: len(top.pages()) > drawn + 2, what="a page of another size")
            page = top.pages()[-2]
            assert all(len(line) <= 60 for line in page.splitlines()) and len(page.splitlines()) <= 16, page
            assert top.end(lambda: os.write(top.master, b"q")) == 0
            for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV):
                top = Terminal(stack)
                wait_until(lambda: top.pages(), what="the first page")
                code = top.end(lambda: os.kill(top.process.pid, sig))
                assert code == (-sig if sig == signal.SIGSEGV else 0), (sig, code)
    finally:
        pools.drop_pool(stack, pool)
        stack.camctl("node", "remove", node)


@test(fronts=None)
def it_says_that_the_database_is_away_and_goes_on(stack):
    top = Terminal(stack)
    wait_until(lambda: top.pages(), what="the first page")
    stack.stack("stop", "pg")
    stack.connection = None
    try:
        wait_until(lambda: "database" in top.pages()[-1] or "connect" in top.pages()[-1], what="the bad news")
    finally:
        stack.stack("start", "pg")
    wait_until(lambda: "queue" in top.pages()[-1], what="the next good page")
    assert top.end(lambda: os.write(top.master, b"q")) == 0


@test(fronts=None)
def what_it_does_not_do(stack):
    done = stack.camctl("top", check=False)
    assert done.returncode == 1 and "wants a terminal" in done.stderr, done.stderr
    done = stack.camctl("top", "--interval", "0", check=False)
    assert done.returncode == 1 and "--interval must be a number" in done.stderr, done.stderr
    done = stack.camctl("top", "--nonsense", check=False)
    assert done.returncode == 1 and "--nonsense" in done.stderr, done.stderr
