# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: the running stack, an HTTP client with a cookie jar, and a TAP runner.

A test is a function with @test; it gets the stack and, unless declared with fronts=None, runs once through each
web server with a Front to make clients from. It passes unless it raises."""

import http.client
import http.cookies
import json
import os
import subprocess
import time
import traceback
import uuid

import psycopg2

import openapi

TESTS = []


def test(fronts=("lighttpd", "apache"), needs=("plain", "sanitized")):
    """needs: the builds that the test is for; loads and memory figures say nothing in a sanitized one."""
    def register(function):
        TESTS.append((function, fronts, needs))
        return function
    return register


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = response.headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    def expect(self, status, error_code=None):
        """The status, and on errors the code and a message; returns the JSON."""
        assert self.status == status, f"status {self.status}, expected {status}: {self.body[:400]!r}"
        data = self.json
        if status >= 400:
            assert data["message"], data
            assert error_code is None or data["error_code"] == error_code, data
            if status in (429, 503):
                assert int(self.headers["Retry-After"]) > 0, dict(self.headers)
        return data


class Client:
    """One viewer: keeps its session cookie. token or user make it somebody else."""

    def __init__(self, port, token=None, user=None, timeout=30):
        self.port, self.token, self.user, self.timeout = port, token, user, timeout
        self.cookie = None

    def request(self, method, path, body=None, headers=None, content_type="application/json"):
        head = {}
        if self.cookie:
            head["Cookie"] = self.cookie
        if self.token:
            head["Authorization"] = "Bearer " + self.token
        if self.user:
            import base64
            head["Authorization"] = "Basic " + base64.b64encode(f"{self.user}:secret".encode()).decode()
        if body is not None:
            if not isinstance(body, (bytes, str)):
                body = json.dumps(body)
            if content_type:
                head["Content-Type"] = content_type
        head.update(headers or {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        try:
            connection.request(method, path, body, head)
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        for value in response.headers.get_all("Set-Cookie") or []:
            for name, morsel in http.cookies.SimpleCookie(value).items():
                self.cookie = f"{name}={morsel.value}"
        openapi.check(method, path, response.status, response.headers.get("Content-Type"), data)
        return Answer(response, data)

    def get(self, path, **kw):
        return self.request("GET", path, **kw)

    def post(self, path, body=None, **kw):
        return self.request("POST", path, body, **kw)

    def delete(self, path, **kw):
        return self.request("DELETE", path, **kw)

    def lease(self, camera, quality="sub", **extra):
        return self.post("/api/modal/lease", {"camera_id": camera, "quality": quality, **extra})


class Front:
    def __init__(self, name, port, auth_port):
        self.name, self.port, self.auth_port = name, port, auth_port

    def client(self, **kw):
        return Client(self.port, **kw)

    def signed_in(self, user):
        return Client(self.auth_port, user=user)


class Stack:
    def __init__(self, directory, source):
        self.directory, self.source = directory, source
        self.settings = dict(line.strip().split("=", 1) for line in open(f"{directory}/settings") if "=" in line)
        self.prefix = self.settings["PREFIX"]
        self.conf = f"{directory}/camserver.conf"
        conf = open(self.conf).read()
        self.pg_host = conf.split("host=", 1)[1].split()[0]
        self.admin = "postgres" if os.getuid() == 0 else subprocess.getoutput("id -un")
        self.fronts = {
            "lighttpd": Front("lighttpd", int(self.settings["HTTP_PORT"]), int(self.settings["AUTH_PORT"])),
            "apache": Front("apache", int(self.settings["APACHE_PORT"]), int(self.settings["APACHE_AUTH_PORT"])),
        }
        self.connection = None

    # --- the database

    def connect(self, user=None):
        connection = psycopg2.connect(host=self.pg_host, user=user or self.admin, dbname="camserver")
        connection.autocommit = True
        return connection

    def sql(self, statement, *params):
        """Rows as a list of tuples; [] for a statement without any."""
        if self.connection is None or self.connection.closed:
            self.connection = self.connect()
        with self.connection.cursor() as cursor:
            cursor.execute(statement, params or None)
            return cursor.fetchall() if cursor.description else []

    def one(self, statement, *params):
        return self.sql(statement, *params)[0][0]

    # --- commands

    def run(self, *command, **kw):
        return subprocess.run(command, capture_output=True, text=True, timeout=120, **kw)

    def stack(self, *words):
        done = self.run(f"{self.source}/scripts/stack", self.directory, *words)
        assert done.returncode == 0, done.stdout + done.stderr

    def camctl(self, *words, check=True):
        done = self.run(f"{self.prefix}/bin/camctl", "-c", self.conf, *words)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def announce(self):
        """What was changed with psql may be seen late here (ANSWER_CACHE_MS); after any command of camctl it is seen."""
        self.camctl("db", "status")

    def token(self, role):
        return self.camctl("token", "create", unique("t"), "--role", role).stdout.strip()

    def server(self, **parameters):
        """A new stream server with a camera of its own; returns the two ids."""
        server, camera = unique("s"), unique("cam")
        self.camctl("server", "set", server, *[f"{k}={v}" for k, v in parameters.items()])
        self.camctl("camera", "add", camera, f"stream_server_id={server}")
        return server, camera

    def usage(self, server):
        return self.one("SELECT units_used FROM camserver.stream_usage WHERE stream_server_id = %s", server)

    def pids(self, program):
        """Processes of this stack that run the program."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = open(f"/proc/{pid}/cmdline", "rb").read().decode(errors="replace").split("\0")
                if open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z":
                    continue
            except OSError:
                continue
            if words[0].endswith(program) and any(self.directory in w for w in words):
                found.append(int(pid))
        return sorted(found)

    def workers(self, pool):
        """The processes of one pool of camserver.fcgi: fcgi, fcgi-media or fcgi-ingest."""
        parent, found = open(f"{self.directory}/{pool}.pid").read().strip(), []
        for pid in self.pids("camserver.fcgi"):
            try:
                if open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1] == parent:
                    found.append(pid)
            except OSError:
                continue  # it has just ended
        return found

    def log(self, name):
        return open(f"{self.directory}/log/{name}.log").read()


def unique(prefix):
    return f"{prefix}{uuid.uuid4().hex[:10]}"


def wait_until(condition, timeout=20, what="the condition"):
    """Polls until condition() is true and returns its value; a generous limit for slow machines, not a measurement."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come within {timeout} s"
        time.sleep(0.05)


class Share:
    """Which files of tests this run does: with SHARE naming a directory, those that no other run of the same directory has
    taken before; but the last ones, test_zz_*, which look back at the run, everybody does."""

    def __init__(self):
        self.directory, self.mine = os.environ.get("SHARE"), {}

    def has(self, module):
        if not self.directory or module.startswith("test_zz"):
            return True
        if module not in self.mine:
            try:
                os.mkdir(f"{self.directory}/{module}")
                self.mine[module] = True
            except FileExistsError:
                self.mine[module] = False
        return self.mine[module]


def main(stack, build, only=None):
    count = failed = 0
    share = Share()
    for function, fronts, needs in TESTS:
        if build not in needs or (only and only not in f"{function.__module__}.{function.__name__}"):
            continue
        if not share.has(function.__module__):
            continue
        for front in fronts or (None,):
            count += 1
            name = f"{function.__module__}: {function.__name__.replace('_', ' ')}" + (f" ({front})" if front else "")
            start = time.monotonic()
            try:
                function(stack, stack.fronts[front]) if front else function(stack)
                print(f"ok {count} - {name} # {time.monotonic() - start:.1f} s", flush=True)
            except Exception:
                failed += 1
                print(f"not ok {count} - {name}", flush=True)
                print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    print(f"1..{count}", flush=True)
    return 1 if failed or count == 0 else 0
