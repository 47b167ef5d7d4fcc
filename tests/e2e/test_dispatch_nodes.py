# SPDX-License-Identifier: Apache-2.0
"""Several inference nodes under the dispatchers: all are used, none beyond what it takes, and one that fails stops nothing."""

import contextlib
import json
import socket
import subprocess

from frames import camera, frame, rules, settled
from harness import test, unique, wait_until
from test_dispatch_limits import stats

MODEL = "is21"


class Node:
    """A cam-analyzer of the test's own, with its own script."""

    def __init__(self, stack, *rules):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.stack, self.name, self.script = stack, unique("node"), f"{stack.directory}/{unique('node')}.json"
        with open(self.script, "w") as f:
            json.dump({"rules": list(rules)}, f)
        self.start()

    def start(self):
        self.process = subprocess.Popen([f"{self.stack.prefix}/sbin/cam-analyzer", "--listen", f"127.0.0.1:{self.port}",
                                         "--max-inflight", "64", "--script", self.script], stderr=subprocess.DEVNULL)
        wait_until(self.answers, what="the node")

    def answers(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self, kill=False):
        self.process.kill() if kill else self.process.terminate()
        self.process.wait()

    def stats(self):
        return stats(self.stack, self.port)


@contextlib.contextmanager
def node(stack, *rules, **properties):
    n = Node(stack, *rules)
    stack.camctl("node", "add", n.name, f"base_url=http://127.0.0.1:{n.port}", f"models={MODEL}", *[f"{k}={v}" for k, v in properties.items()])
    try:
        yield n
    finally:
        stack.camctl("node", "remove", n.name)
        n.stop(kill=True)


@contextlib.contextmanager
def without_first(stack):
    """The configured node gets no calls."""
    first = stack.one("SELECT name FROM camserver.nodes WHERE configured")
    stack.camctl("node", "set", first, "draining=true")
    try:
        yield
    finally:
        stack.camctl("node", "set", first, "draining=false")


def on(cam, **rule):
    return {"match": {"path": "/v1/analyze", "camera_id": cam}, **rule}


@test(fronts=None)
def the_configured_node_is_a_node_like_others(stack):
    url, models = stack.sql("SELECT base_url, models FROM camserver.nodes WHERE configured")[0]
    assert url == f"http://127.0.0.1:{stack.settings['ANALYZER_PORT']}" and models == [MODEL], (url, models)
    assert settled(stack, frame(stack, camera(stack)))[0][:2] == ("done", 1)
    wait_until(lambda: stack.one("SELECT coalesce(sum(requests), 0) FROM camserver.node_reports r JOIN camserver.nodes n ON n.name = r.node"
                                 " WHERE n.configured") > 0, what="the report")


@test(fronts=None)
def all_nodes_are_used_and_none_beyond_its_bound(stack):
    cam = camera(stack)
    rules(stack, on(cam, delay_ms=30))
    with node(stack, on(cam, delay_ms=30), max_inflight=1) as second:
        before = stats(stack)["analyze"]
        names = [frame(stack, cam, i) for i in range(40)]
        assert {j[:2] for j in settled(stack, *names, timeout=90)} == {("done", 1)}
        there = second.stats()
        assert stats(stack)["analyze"] > before and there["analyze"] > 0, there
        assert there["max_concurrent"] <= len(stack.pids("cam-dispatcher")), there
        assert there["put_schema"] == 1, "it was told its schema, once"
    rules(stack)


@test(fronts=None)
def what_one_node_refuses_another_does_at_once(stack):
    cam = camera(stack)
    with node(stack, on(cam, status=503, headers={"Retry-After": "30"})), node(stack) as good, without_first(stack):
        names = [frame(stack, cam, i) for i in range(12)]
        assert {j[:2] for j in settled(stack, *names, timeout=25)} == {("done", 1)}, "before it may be asked again"
        assert good.stats()["by_status"].get("200", 0) >= 12


@test(fronts=None)
def a_node_that_dies_and_comes_back_loses_nothing(stack):
    cam = camera(stack)
    with node(stack, on(cam, delay_ms=20)) as a, node(stack, on(cam, delay_ms=20)) as b, without_first(stack):
        names = [frame(stack, cam, i) for i in range(20)]
        settled(stack, *names, timeout=60)
        a.stop(kill=True)
        names = [frame(stack, cam, 20 + i) for i in range(30)]
        assert {j[0] for j in settled(stack, *names, timeout=60)} == {"done"}
        wait_until(lambda: stack.one("SELECT state FROM camserver.node_list WHERE name = %s", a.name) == "ejected", what="the news of its end")
        a.start()
        wait_until(lambda: stack.one("SELECT state FROM camserver.node_list WHERE name = %s", a.name) == "up", 60, "the news of its return")

        def used():
            settled(stack, *[frame(stack, cam, 60 + i) for i in range(6)])
            return a.stats()["analyze"] > 0
        wait_until(used, 60, "its first call")
        b.stop(kill=True)
        assert {j[0] for j in settled(stack, *[frame(stack, cam, 90 + i) for i in range(10)], timeout=60)} == {"done"}


@test(fronts=None)
def with_all_nodes_away_nothing_is_claimed(stack):
    cam = camera(stack)
    with node(stack) as only, without_first(stack):
        settled(stack, frame(stack, cam), timeout=60)
        only.stop(kill=True)
        first = frame(stack, cam, 1)
        wait_until(lambda: stack.one("SELECT state FROM camserver.node_list WHERE name = %s", only.name) in ("ejected", "down"), 60, "the news")
        names = [frame(stack, cam, 2 + i) for i in range(10)]
        attempts = lambda: stack.one("SELECT sum(attempt) FROM camserver.inference_jobs j JOIN camserver.frames f USING (frame_id)"
                                     " WHERE j.kind = 'analyze' AND f.frame_uuid = ANY (%s::uuid[])", names)
        probes = "no node of"
        wait_until(lambda: any(probes in stack.log(f"dispatcher{i + 1}") for i in range(int(stack.settings["DISPATCHERS"]))), what="the word")
        assert attempts() <= len(stack.pids("cam-dispatcher")), "at most the one that found out"
        only.start()
        assert {j[0] for j in settled(stack, first, *names, timeout=90)} == {"done"}
