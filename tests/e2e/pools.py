# SPDX-License-Identifier: Apache-2.0
"""What the tests of worker pools share: pools of both drivers, a real podman service, holders of workers, and a look at
what really runs."""

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import time
import uuid
import zlib

from harness import unique, wait_until

DRIVERS = ("exec", "docker")
IMAGE = "localhost/camserver-analyzer:test"
RULES = {"rules": [{"match": {"path": "/slow"}, "delay_ms": 150, "status": 200, "body": "slow"},
                   {"match": {"path": "/hang"}, "hang": True},
                   {"match": {"path": "/sick"}, "status": 503, "body": "sick"}]}


class Engine:
    """A container engine of this stack's own, with an image made of the built cam-analyzer and its libraries. Subclasses
    have `command` and `environment` of their client, and start the service."""

    def __init__(self, stack, name):
        self.base = f"{stack.directory}/{name}"
        shutil.rmtree(self.base, ignore_errors=True)
        os.makedirs(f"{self.base}/rootfs/bin")
        os.chmod(self.base, 0o755)
        os.makedirs(f"{self.base}/rootfs/tmp", mode=0o777)
        self.log = open(f"{stack.directory}/log/{name}.log", "w")
        self.socket = f"{stack.directory}/{name}.sock"
        self.environment = {k: v for k, v in os.environ.items() if k not in ("ASAN_OPTIONS", "UBSAN_OPTIONS")}
        atexit.register(self.stop)

    def serve(self, *command):
        self.service = subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=self.log)
        wait_until(lambda: os.path.exists(self.socket), timeout=60, what=f"the socket {self.socket}")
        os.chmod(self.socket, 0o666)  # the manager runs as another user

    def client(self, *words):
        done = subprocess.run(self.command + list(words), env=self.environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def build_image(self, program):
        root = f"{self.base}/rootfs"
        shutil.copy(program, f"{root}/bin/cam-analyzer")
        for word in subprocess.check_output(["ldd", program], text=True).split():
            if word.startswith("/"):
                os.makedirs(root + os.path.dirname(word), exist_ok=True)
                shutil.copy(word, root + word)
        with open(f"{root}/rules.json", "w") as f:
            json.dump(RULES, f)
        subprocess.run(["tar", "-C", root, "-cf", f"{self.base}/rootfs.tar", "."], check=True)
        self.client("import", f"{self.base}/rootfs.tar", IMAGE)

    def containers(self, pool):
        """Ids of the pool's workers for which there is a container in whatever state."""
        return set(self.client("ps", "-a", "--filter", f"label=camserver.pool={pool}", "--format", self.worker_of).split())

    def stop(self):
        self.end()
        self.service.terminate()
        self.service.wait(60)


class Podman(Engine):
    worker_of = '{{index .Labels "camserver.worker"}}'

    def __init__(self, stack):
        super().__init__(stack, "podman")
        with open(f"{self.base}/containers.conf", "w") as f:
            f.write('[containers]\ndefault_ulimits=["nofile=20000:20000","nproc=4096:4096"]\nnetns="host"\n'
                    '[engine]\nruntime="runc"\ncgroup_manager="cgroupfs"\nevents_logger="file"\n')
        self.environment["CONTAINERS_CONF"] = f"{self.base}/containers.conf"
        run = f"{self.base}/run"
        if len(run) > 50:  # podman's limit
            run = f"/var/tmp/camserver-podman-{zlib.crc32(self.base.encode()):08x}"
            shutil.rmtree(run, ignore_errors=True)
        self.run = run
        self.command = ["podman", "--root", f"{self.base}/root", "--runroot", run, "--storage-driver", "vfs"]
        self.build_image(f"{stack.prefix}/sbin/cam-analyzer")
        self.serve(*self.command, "system", "service", "--time=0", f"unix://{self.socket}")

    def end(self):
        subprocess.run(self.command + ["rm", "-af", "-t", "0"], env=self.environment, capture_output=True)

    def stop(self):
        super().stop()
        shutil.rmtree(self.run, ignore_errors=True)


class Dockerd(Engine):
    """Without networks of its own: workers share the host's."""

    worker_of = '{{.Label "camserver.worker"}}'

    def __init__(self, stack):
        super().__init__(stack, "dockerd")
        self.command = ["docker", "-H", f"unix://{self.socket}"]
        self.serve("dockerd", "--data-root", f"{self.base}/data", "--exec-root", f"{self.base}/exec", "-p", f"{self.base}/pid",
                   "-H", f"unix://{self.socket}", "--storage-driver", "vfs", "--iptables=false", "--ip6tables=false", "--bridge=none")
        self.build_image(f"{stack.prefix}/sbin/cam-analyzer")

    def end(self):
        found = subprocess.run(self.command + ["ps", "-aq"], capture_output=True, text=True).stdout.split()
        if found:
            subprocess.run(self.command + ["rm", "-f", *found], capture_output=True)


_engines = {}


def engine(stack):
    """Podman's, unless a test put another one there."""
    if stack.directory not in _engines:
        _engines[stack.directory] = Podman(stack)
    return _engines[stack.directory]


@contextlib.contextmanager
def dockerd(stack):
    """The manager works with Docker's engine for the time of the block."""
    before, other = _engines.pop(stack.directory, None), Dockerd(stack)
    with open(stack.conf) as f:
        conf = f.read()

    def work_with(socket):
        with open(stack.conf, "w") as f:
            f.write("".join(f"{line}\n" for line in conf.splitlines() if not line.startswith("DOCKER_SOCKET=")) + f"DOCKER_SOCKET={socket}\n")
        stack.stack("stop", "manager")
        stack.stack("start", "manager")
    _engines[stack.directory] = other
    try:
        work_with(other.socket)
        yield other
    finally:
        del _engines[stack.directory]
        if before:
            _engines[stack.directory] = before
        work_with(f"{stack.directory}/podman.sock")
        other.stop()


def command_of(stack, driver):
    if driver == "docker":
        return ["driver=docker", f"image={IMAGE}", "command=/bin/cam-analyzer --script /rules.json"]
    path = f"{stack.directory}/pool-rules.json"
    with open(path, "w") as f:
        json.dump(RULES, f)
    return ["driver=exec", f"command={stack.prefix}/sbin/cam-analyzer --script {path}"]


def make_pool(stack, driver, **properties):
    """A new pool of cam-analyzer workers; returns its name."""
    if driver == "docker":
        engine(stack)
    name = unique("pool")
    stack.camctl("pool", "add", name, *command_of(stack, driver), "stop_grace_sec=5", "call_path=/v1/capabilities",
                 *[f"{k}={v}" for k, v in properties.items()])
    # The engine may be seen only a moment after it came up; starts before that fail, as they should.
    if driver == "docker":
        wait_until(lambda: f"the container engine at {engine(stack).socket} answers" in stack.log("manager"), what="the engine")
    return name


def drop_pool(stack, name):
    wait_until(lambda: stack.camctl("pool", "remove", name, check=False).returncode == 0, what=f"the end of {name}")


def running(stack, pool):
    """{worker id: pid} of what really runs for the pool; a container's processes are the host's as well."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/environ", "rb").read().decode(errors="replace").split("\0")
            if f"CAMSERVER_POOL={pool}" not in words or "cam-analyzer" not in os.readlink(f"/proc/{pid}/exe"):
                continue
        except OSError:
            continue
        found[next(w.split("=", 1)[1] for w in words if w.startswith("CAMSERVER_WORKER_ID="))] = int(pid)
    return found


def exists(stack, driver, pool):
    """Everything that there is of the pool: processes and, of whatever state, containers."""
    return set(running(stack, pool)) | (engine(stack).containers(pool) if driver == "docker" else set())


def rows(stack, pool, *states):
    """Ids of the pool's workers in these states; without any, in all but gone."""
    states = states or ("wanted", "starting", "idle", "in_use", "stopping")
    return {r[0] for r in stack.sql("SELECT worker_id::text FROM camserver.workers WHERE pool = %s AND state::text = ANY (%s)",
                                    pool, list(states))}


def reason(stack, worker):
    return stack.one("SELECT coalesce(reason, '') FROM camserver.workers WHERE worker_id = %s", worker)


class Holder:
    """A process that uses workers, as far as the database can tell."""

    def __init__(self, stack, interval=30):
        self.stack, self.id = stack, str(uuid.uuid4())
        self.connection = stack.connect("camserver_dispatcher")
        self.call("worker_heartbeat(%s, 'test', %s)", self.id, interval)

    def call(self, function, *params):
        with self.connection.cursor() as cursor:
            cursor.execute(f"SELECT camserver.{function}", params)
            return cursor.fetchone()[0]

    def ask(self, pool, timeout_ms=None):
        return self.call("worker_acquire(%s, %s, %s)", pool, self.id, timeout_ms)

    def poll(self, ticket):
        return self.call("worker_poll(%s, %s::uuid[])", self.id, [ticket])[0]

    def acquire(self, pool, timeout_ms=20000):
        """Waits as a program would; a grant or a refusal."""
        answer = self.ask(pool, timeout_ms)
        if answer["outcome"] != "WAITING":
            return answer
        ticket = answer["ticket"]
        while True:
            answer = self.poll(ticket)
            if answer["outcome"] != "WAITING":
                return answer
            time.sleep(0.02)

    def release(self, grant):
        return self.call("worker_release(%s, %s, %s)", self.id, grant["worker_id"], grant["token"])["outcome"]

    def close(self):
        self.connection.close()
