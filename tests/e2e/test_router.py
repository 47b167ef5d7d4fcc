# SPDX-License-Identifier: Apache-2.0
"""Model calls through several nodes: who gets them, what a caller notices of a node that dies, and when nobody is there;
and through workers of a pool."""

import contextlib
import json
import os
import signal
import socket
import tempfile
import threading
import time

from harness import test, unique, wait_until
from pools import Holder, drop_pool, make_pool, reason, rows, running
from test_gateway import chat, permits, provider
from upstreams import Upstream


@contextlib.contextmanager
def nodes(stack, model, upstreams, **properties):
    """Nodes named after their place; yields their names."""
    names = [unique("node") for _ in upstreams]
    for name, upstream in zip(names, upstreams):
        stack.camctl("node", "add", name, f"base_url={upstream.url}", f"models={model}",
                     *[f"{k}={v}" for k, v in properties.items()])
    try:
        yield names
    finally:
        for name in names:
            stack.camctl("node", "remove", name)
        for upstream in upstreams:
            upstream.close()


def states(stack, names):
    return [stack.one("SELECT state FROM camserver.node_list WHERE name = %s", n) for n in names]


class Crowd:
    """Callers that call until they have made n calls, or are told to stop."""

    def __init__(self, front, token, model, threads, n):
        self.front, self.token, self.model, self.left = front, token, model, n
        self.answers, self.lock, self.pause = [], threading.Lock(), threading.Event()
        self.pause.set()
        self.threads = [threading.Thread(target=self.run) for _ in range(threads)]
        for t in self.threads:
            t.start()

    def run(self):
        client = self.front.client(token=self.token, timeout=60)
        while True:
            self.pause.wait()
            with self.lock:
                if self.left == 0:
                    return
                self.left -= 1
            answer = client.post("/v1/chat/completions", chat(self.model))
            with self.lock:
                self.answers.append((answer.status, answer.headers.get("X-Camserver-Node"), answer.body[:200]))

    def wait_for(self, n):
        wait_until(lambda: len(self.answers) >= n, timeout=180, what=f"{n} answers")

    def join(self):
        for t in self.threads:
            t.join()


@test(fronts=("lighttpd",), needs=("plain",))
def two_thousand_calls_over_three_nodes_one_slow_one_dying(stack, front):
    token = stack.token("viewer")
    well, slow, dying = Upstream(delay=0.005), Upstream(delay=0.05), Upstream(delay=0.005)
    with provider(stack, requests=1000000, window_ms=1000, concurrent=100) as up, \
            nodes(stack, up.models[0], [well, slow, dying]) as names:
        crowd = Crowd(front, token, up.models[0], 24, 2000)
        counts = []

        def phase(name):
            counts.append((name, len(well.calls), len(slow.calls), len(dying.calls), dying.probes))

        crowd.wait_for(500)
        phase("all three are well")
        dying.die()
        crowd.wait_for(700)  # what was on its way when it died has come to rest
        before = len(dying.calls)
        crowd.wait_for(1000)
        phase("one has died")
        assert len(dying.calls) == before and states(stack, names)[2] == "ejected", (states(stack, names), dying.calls[before:])
        crowd.pause.clear()
        dying.revive()
        wait_until(lambda: states(stack, names)[2] == "up", timeout=40, what="the probe that finds it well")
        phase("it is back")
        crowd.pause.set()
        crowd.wait_for(1500)
        phase("and ramps up")
        crowd.join()
        phase("at the end")
        print("# calls so far                  well   slow  dying  probes of it")
        for name, *row in counts:
            print(f"# {name:<24} {row[0]:>10} {row[1]:>6} {row[2]:>6} {row[3]:>6}")
        failed = [a for a in crowd.answers if a[0] != 200]
        assert not failed, failed[:3]
        assert len(crowd.answers) == 2000 and up.calls == []
        assert 0 < len(slow.calls) < len(well.calls) / 2, counts
        assert counts[2][4] > 0 and len(dying.calls) > before, counts
        # The seed's counters are about this.
        assert stack.one("SELECT requests > 0 AND failures > 0 FROM camserver.node_list WHERE name = %s", names[2])


@test()
def nobody_there_is_said_at_once_and_over_after_one_probe(stack, front):
    client = front.client(token=stack.token("viewer"))
    one, two = Upstream(), Upstream()
    with provider(stack) as up, nodes(stack, up.models[0], [one, two]):
        model = up.models[0]
        assert client.post("/v1/chat/completions", chat(model)).expect(200)
        one.die()
        two.die()
        wait_until(lambda: client.post("/v1/chat/completions", chat(model)).status == 503, what="both to be missed")
        answer = client.post("/v1/chat/completions", chat(model))
        assert answer.expect(503, "NO_NODE")["error"]["type"] == "server_error", answer.body
        assert permits(stack, model) == 0 or wait_until(lambda: permits(stack, model) == 0)
        probes = one.probes
        one.revive()
        wait_until(lambda: one.probes > probes, timeout=40, what="a probe")
        wait_until(lambda: client.post("/v1/chat/completions", chat(model)).status == 200, what="the way back")
        assert up.calls == []


@test()
def full_is_another_answer(stack, front):
    token = stack.token("viewer")
    one = Upstream()
    with provider(stack) as up, nodes(stack, up.models[0], [one], max_inflight=1) as names:
        model = up.models[0]
        first = threading.Thread(target=lambda: front.client(token=token).post("/v1/chat/completions", chat(model, "hang")))
        first.start()
        wait_until(lambda: one.running == 1, what="the call that fills it")
        front.client(token=token).post("/v1/chat/completions", chat(model), headers={"Prefer": "wait=0"}).expect(503, "NODES_BUSY")
        # Who will wait gets the place.
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(front.client(token=token).post("/v1/chat/completions", chat(model)).status))
        waiter.start()
        wait_until(lambda: permits(stack, model) == 2, what="the waiter's permit")
        one.hold.set()
        first.join()
        waiter.join()
        assert answers == [200], answers
        # What the node itself refuses is passed on if nobody else can be asked.
        assert states(stack, names) != ["ejected"]


@test()
def a_node_that_drains_gets_no_new_calls(stack, front):
    client, operator = front.client(token=stack.token("viewer")), front.client(token=stack.token("operator"))
    one, two = Upstream(), Upstream()
    with provider(stack) as up, nodes(stack, up.models[0], [one, two]) as names:
        model = up.models[0]
        for _ in range(5):
            client.post("/v1/chat/completions", chat(model)).expect(200)
        client.request("PUT", f"/api/nodes/{names[0]}", {"draining": True}).expect(403, "FORBIDDEN")
        operator.request("PUT", "/api/nodes/nobody", {"draining": True}).expect(404, "UNKNOWN_NODE")
        operator.request("PUT", f"/api/nodes/{names[0]}", {"draining": "perhaps"}).expect(400, "BAD_REQUEST")
        node = operator.request("PUT", f"/api/nodes/{names[0]}", {"draining": True}).expect(200)["node"]
        assert (node["name"], node["draining"], node["state"]) == (names[0], True, "draining"), node
        time.sleep(0.3)  # the gateways hear of it
        before = len(one.calls)
        for _ in range(10):
            answer = client.post("/v1/chat/completions", chat(model))
            answer.expect(200)
            assert answer.headers["X-Camserver-Node"] == names[1]
        assert len(one.calls) == before
        listed = {n["name"]: n for n in operator.get("/api/nodes").expect(200)["nodes"]}
        assert listed[names[1]]["models"] == [model] and listed[names[1]]["weight"] == 1, listed
        stack.camctl("node", "drain", names[1])
        wait_until(lambda: client.post("/v1/chat/completions", chat(model)).json.get("error_code") == "NO_NODE", what="both to drain")
        stack.camctl("node", "drain", names[0], "--off")
        wait_until(lambda: client.post("/v1/chat/completions", chat(model)).headers.get("X-Camserver-Node") == names[0],
                   what="the first one's return")


@test(fronts=("lighttpd",))
def what_is_safe_is_asked_of_another_node(stack, front):
    client = front.client(token=stack.token("viewer"))
    good, bad = Upstream(), Upstream()
    with provider(stack) as up, nodes(stack, up.models[0], [good, bad]):
        model = up.models[0]
        for prompt, status in (("fail", 500), ("cut", 502)):
            # Both nodes are asked, and what the last one said is passed on.
            before = len(good.calls), len(bad.calls)
            answer = client.post("/v1/chat/completions", chat(model, prompt))
            assert answer.status == status, (prompt, answer.status, answer.body)
            # (More than once if it breaks a connection that had been kept: curl then asks again.)
            assert len(good.calls) > before[0] and len(bad.calls) > before[1], prompt
        # What is no question to a model is not repeated once it was sent.
        before = len(good.calls) + len(bad.calls)
        answer = client.post(f"/api/infer/{model}", {"prompt": "cut"})
        answer.expect(502, "UPSTREAM_FAILED")
        assert len(good.calls) + len(bad.calls) == before + 1
        # A stream that has begun is not begun again: the client has a part of it.
        stream = threading.Thread(target=lambda: client.post("/v1/chat/completions", chat(model, "slow", stream=True)))
        before = len(good.calls) + len(bad.calls)
        stream.start()
        wait_until(lambda: good.running + bad.running == 1, what="the stream")
        time.sleep(0.2)
        (good if good.running else bad).die()
        with contextlib.suppress(Exception):
            stream.join()
        assert len(good.calls) + len(bad.calls) == before + 1


@test(fronts=("lighttpd",))
def a_node_may_speak_http2_from_the_first_byte(stack, front):
    """Through this server's own lighttpd, which does; and the first bytes as a plain socket sees them."""
    token = stack.token("viewer")
    with provider(stack, models=("inner",)) as inner, tempfile.NamedTemporaryFile("w") as key, \
            provider(stack, models=("outer",)) as outer, socket.create_server(("127.0.0.1", 0)) as listener:
        key.write(token)
        key.flush()
        os.chmod(key.name, 0o644)
        stack.sql("UPDATE camserver.providers SET api_key_file = %s WHERE provider_id = %s", key.name, outer.provider)
        stack.sql("UPDATE camserver.models SET upstream_name = %s WHERE model = %s", inner.models[0], outer.models[0])
        name = unique("node")
        stack.camctl("node", "add", name, f"base_url=http://127.0.0.1:{front.port}", f"models={outer.models[0]}", "http2=true")
        try:
            answer = front.client(token=token).post("/v1/chat/completions", chat(outer.models[0]))
            assert answer.expect(200)["choices"][0]["message"]["content"] == "Hello world"
            assert answer.headers["X-Camserver-Node"] == name and len(inner.calls) == 1
            stack.camctl("node", "set", name, f"base_url=http://127.0.0.1:{listener.getsockname()[1]}")
            call = threading.Thread(target=lambda: front.client(token=token).post("/v1/chat/completions", chat(outer.models[0])))
            call.start()
            connection = listener.accept()[0]
            assert connection.recv(24) == b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            connection.close()
            listener.close()
            call.join()
        finally:
            stack.camctl("node", "remove", name)


@contextlib.contextmanager
def pooled(stack, driver="exec", **properties):
    """A model that a pool of workers serves; yields the pool's name and the model's."""
    pool = make_pool(stack, driver, **properties)
    with provider(stack) as up:
        stack.camctl("limits", "set", "model", up.models[0], f"pool={pool}")
        try:
            yield pool, up.models[0]
            assert up.calls == []
        finally:
            stack.camctl("limits", "set", "model", up.models[0], "pool=")
            drop_pool(stack, pool)


@test()
def a_model_may_be_served_by_the_workers_of_a_pool(stack, front):
    client = front.client(token=stack.token("viewer"), timeout=60)
    with pooled(stack, call_path="/slow", max_capacity=2, acquire_timeout_sec=30) as (pool, model):
        assert client.post(f"/api/infer/{model}", {"x": 1}).body == b"slow"
        first = rows(stack, pool)
        assert len(first) == 1
        wait_until(lambda: rows(stack, pool, "idle") == first, what="its release")
        assert client.post(f"/api/infer/{model}", {"x": 1}).body == b"slow"
        assert rows(stack, pool) == first, "the second call uses the first one's worker"
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(front.client(token=client.token, timeout=60).post(
            f"/api/infer/{model}", {"x": 1}).body)) for _ in range(10)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert answers == [b"slow"] * 10 and len(rows(stack, pool)) == 2, answers
        wait_until(lambda: len(rows(stack, pool, "idle")) == 2, what="the release of both")


@test()
def a_pool_that_cannot_serve_says_why_and_when(stack, front):
    client = front.client(token=stack.token("viewer"), timeout=60)
    with pooled(stack, call_path="/slow", max_capacity=1, acquire_timeout_sec=20) as (pool, model):
        holder = Holder(stack)
        held = holder.acquire(pool)
        stack.camctl("pool", "set", pool, "acquire_timeout_sec=0.5")
        data = client.post(f"/api/infer/{model}", {"x": 1}).expect(503, "POOL_TIMEOUT")
        assert "1 of 1 in use" in data["reason"] and data["retry_after"] >= 1, data
        # A freed worker goes to the caller that waits.
        stack.camctl("pool", "set", pool, "acquire_timeout_sec=30")
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(client.post(f"/api/infer/{model}", {"x": 1}).body))
        waiter.start()
        wait_until(lambda: stack.one("SELECT count(*) FROM camserver.worker_waiters WHERE pool = %s", pool) == 1, what="the waiter")
        holder.release(held)
        waiter.join()
        assert answers == [b"slow"], answers
        stack.camctl("pool", "set", pool, "max_capacity=0")
        data = client.post(f"/api/infer/{model}", {"x": 1}).expect(503, "POOL_DISABLED")
        assert "capacity is 0" in data["reason"], data
        holder.close()


@test(fronts=("lighttpd",))
def whatever_happens_to_a_call_its_worker_is_released_or_evicted(stack, front):
    client = front.client(token=stack.token("viewer"), timeout=60)
    with pooled(stack, call_path="/hang", max_capacity=1, acquire_timeout_sec=30) as (pool, model):
        def killed():
            worker = wait_until(lambda: rows(stack, pool, "in_use"), what="the call").pop()
            wait_until(lambda: stack.one("SELECT picked_up FROM camserver.workers WHERE worker_id = %s", worker), what="the caller")
            time.sleep(0.3)
            os.kill(running(stack, pool)[worker], signal.SIGKILL)
            return worker

        # Killed in the middle.
        answers = []
        call = threading.Thread(target=lambda: answers.append(client.post(f"/api/infer/{model}", {"x": 1})))
        call.start()
        worker = killed()
        call.join()
        answers[0].expect(502, "UPSTREAM_FAILED")
        wait_until(lambda: worker in rows(stack, pool, "gone"), what="the eviction")
        # Too late.
        client.post(f"/api/infer/{model}", {"x": 1}).expect(504, "UPSTREAM_TIMEOUT")
        wait_until(lambda: len(rows(stack, pool, "gone")) == 2 and not rows(stack, pool), what="the second eviction")
        # The caller has gone: at once where the web server says so, at the time-out at the latest.
        connection = socket.create_connection(("127.0.0.1", front.port))
        body = b'{"x": 1}'
        connection.sendall(b"POST /api/infer/%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (model.encode(), client.token.encode(), len(body), body))
        wait_until(lambda: rows(stack, pool, "in_use"), what="the third call")
        connection.close()
        wait_until(lambda: len(rows(stack, pool, "gone")) == 3 and not rows(stack, pool), what="the third eviction")
        # An error of the worker's.
        stack.camctl("pool", "set", pool, "call_path=/sick")
        answer = client.post(f"/api/infer/{model}", {"x": 1})
        assert answer.status == 503 and answer.body == b"sick", answer.body
        wait_until(lambda: not rows(stack, pool, "in_use") and len(rows(stack, pool, "gone")) >= 4, what="the fourth eviction")
        reasons = [reason(stack, w) for w in rows(stack, pool, "gone")]
        for part in ("signal 9", "timed out", "answered with 503"):
            assert any(part.lower() in r.lower() for r in reasons), (part, reasons)
        # And the pool goes on.
        stack.camctl("pool", "set", pool, "call_path=/slow")
        assert client.post(f"/api/infer/{model}", {"x": 1}).body == b"slow"


@test(fronts=None)
def camctl_node(stack):
    name = unique("node")
    stack.camctl("node", "add", name, "base_url=http://127.0.0.1:9", "models=a,b", "weight=2.5")
    try:
        failed = stack.camctl("node", "add", name, "base_url=http://127.0.0.1:9", "models=a", check=False)
        assert failed.returncode == 1 and "already" in failed.stderr, failed
        failed = stack.camctl("node", "set", name, "weight=0", check=False)
        assert failed.returncode == 1 and "weight" in failed.stderr, failed
        failed = stack.camctl("node", "set", "nobody", "weight=1", check=False)
        assert failed.returncode == 1 and "there is no node nobody" in failed.stderr, failed
        listed = {n["name"]: n for n in json.loads(stack.camctl("node", "list", "--json").stdout)}
        assert (listed[name]["models"], float(listed[name]["weight"]), listed[name]["state"]) == ("a,b", 2.5, "unknown"), listed
    finally:
        stack.camctl("node", "remove", name)
    assert stack.camctl("node", "remove", name, check=False).returncode == 1


@test(fronts=("lighttpd",), needs=("plain",))
def open_connections_are_counted_and_used_again(stack, front):
    token = stack.token("viewer")

    def connections():
        text = front.client().get("/metrics").body.decode()
        values = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("camserver_pool_connections")]
        return sum(values)

    one = Upstream()
    with provider(stack) as up, nodes(stack, up.models[0], [one]):
        before = connections()
        crowd = Crowd(front, token, up.models[0], 4, 100)
        crowd.join()
        assert all(a[0] == 200 for a in crowd.answers), crowd.answers[:3]
        opened = connections()
        assert before < opened <= before + 100, (before, opened)
    # The node's end of each of them is gone; the next transfer of each thread finds out.
