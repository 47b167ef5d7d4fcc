# SPDX-License-Identifier: Apache-2.0
"""Model calls through the gateway: passed on, streamed, limited, and never a permit left behind."""

import contextlib
import http.client
import json
import os
import re
import signal
import tempfile
import threading
import time
import uuid

from harness import test, unique, wait_until
from pools import drop_pool, make_pool
from upstreams import Upstream


@contextlib.contextmanager
def provider(stack, kind="openai", models=("m",), **limit):
    """A provider with a running upstream; yields it with .models, the names that callers say."""
    upstream, name = Upstream(), unique("p")
    upstream.provider = name
    upstream.models = [unique(m) for m in models]
    config = {"providers": {name: {"provider": kind, "base_url": upstream.url, "rate_limit": {
        "requests": 1000, "window_ms": 1000, "concurrent": 100, **limit}, "models": [
        {"name": m, "model_name": "up-" + m} for m in upstream.models]}}}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(config, f)
        f.flush()
        stack.camctl("limits", "load", f.name)
    try:
        yield upstream
        none_left(stack, upstream)
    finally:
        upstream.close()


def none_left(stack, upstream):
    wait_until(lambda: stack.one("SELECT count(*) FROM camserver.permits WHERE model = ANY(%s)", upstream.models) == 0
               and stack.one("SELECT count(*) FROM camserver.permit_waiters WHERE model = ANY(%s)", upstream.models) == 0,
               what="the end of all permits")
    assert stack.one("SELECT coalesce(sum(running + waiting + stocked), 0) FROM camserver.buckets WHERE name = ANY(%s)",
                     upstream.models + [upstream.provider]) == 0


def chat(model, prompt="hi", **extra):
    return {"model": model, "messages": [{"role": "user", "content": prompt}], **extra}


def permits(stack, model):
    return stack.one("SELECT count(*) FROM camserver.permits WHERE model = %s", model)


def waiters(stack, model):
    return stack.one("SELECT count(*) FROM camserver.permit_waiters WHERE model = %s", model)


@test()
def a_call_is_passed_on_with_the_model_s_name_there(stack, front):
    token = stack.token("viewer")
    with provider(stack) as up, tempfile.NamedTemporaryFile("w") as key:
        key.write("sk-test\n")
        key.flush()
        os.chmod(key.name, 0o644)
        stack.sql("UPDATE camserver.providers SET api_key_file = %s WHERE provider_id = %s", key.name, up.provider)
        model = up.models[0]
        client = front.client(token=token)
        answer = client.post("/v1/chat/completions", chat(model, temperature=0.5))
        assert answer.expect(200)["choices"][0]["message"]["content"] == "Hello world"
        path, body, authorization = up.calls[0]
        assert (path, body["model"], body["temperature"], authorization) == \
            ("/v1/chat/completions", "up-" + model, 0.5, "Bearer sk-test"), up.calls
        assert re.fullmatch(r'"model";q=1000;w=1', answer.headers["RateLimit-Policy"]), dict(answer.headers)
        assert re.fullmatch(r'"model";r=\d+;t=\d+', answer.headers["RateLimit"]), dict(answer.headers)
        client.post("/v1/embeddings", {"model": model, "input": "x"}).expect(200)
        assert up.calls[1][0] == "/v1/embeddings"
        # Our own address: anonymous viewers too.
        front.client().post(f"/api/infer/{model}", {"messages": [{"role": "user", "content": "hi"}]}).expect(200)
        assert (up.calls[2][0], up.calls[2][1]["model"]) == ("/v1/chat/completions", "up-" + model)
        ids = [m["id"] for m in client.get("/v1/models").expect(200)["data"]]
        assert model in ids
        assert model in [m["name"] for m in client.get("/api/tags").expect(200)["models"]]


@test()
def who_may_not_and_what_is_not_there(stack, front):
    with provider(stack) as up:
        model = up.models[0]
        for path in ("/v1/chat/completions", "/api/chat", "/api/generate", "/v1/embeddings"):
            front.client().post(path, chat(model)).expect(401, "UNAUTHORIZED")
            front.client(token="nonsense").post(path, chat(model)).expect(401, "UNAUTHORIZED")
        front.client().get("/v1/models").expect(401, "UNAUTHORIZED")
        client = front.client(token=stack.token("ingest"))
        error = client.post("/v1/chat/completions", chat("nobody")).expect(404, "UNKNOWN_MODEL")["error"]
        assert error["type"] == "invalid_request_error" and error["code"] == "UNKNOWN_MODEL" and error["message"], error
        client.post("/v1/chat/completions", "{").expect(400, "BAD_REQUEST")
        client.post("/v1/chat/completions", {"messages": []}).expect(400, "BAD_REQUEST")
        client.post("/v1/nothing", {}).expect(404, "NOT_FOUND")
        answer = client.get("/v1/chat/completions")
        answer.expect(405, "METHOD_NOT_ALLOWED")
        assert answer.headers["Allow"] == "POST"
        assert up.calls == []


@test()
def a_stream_comes_piece_by_piece(stack, front):
    token = stack.token("viewer")
    for kind, path in (("openai", "/v1/chat/completions"), ("ollama", "/api/chat"), ("ollama", "/api/generate")):
        with provider(stack, kind) as up:
            connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=30)
            body = {**chat(up.models[0], "slow", stream=True), "prompt": "slow"}
            connection.request("POST", path, json.dumps(body), {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
            response = connection.getresponse()
            assert response.status == 200
            # The upstream says no second word before this line was read.
            first = response.readline()
            assert b"Hello" in first and b"world" not in first, first
            assert permits(stack, up.models[0]) == 1
            up.hold.set()
            assert b"world" in response.read()
            connection.close()


@test()
def faults_of_the_upstream(stack, front):
    client = front.client(token=stack.token("viewer"))
    with provider(stack) as up:
        model = up.models[0]
        answer = client.post("/v1/chat/completions", chat(model, "fail"))
        assert answer.status == 500 and answer.json["error"]["message"] == "broken", answer.body
        error = client.post("/v1/chat/completions", chat(model, "cut")).expect(502, "UPSTREAM_FAILED")["error"]
        assert error["type"] == "server_error", error
        client.post("/v1/chat/completions", chat(model, "hang")).expect(504, "UPSTREAM_TIMEOUT")
        up.hold.set()
        stack.sql("UPDATE camserver.providers SET base_url = 'http://127.0.0.1:9' WHERE provider_id = %s", up.provider)
        client.post("/v1/chat/completions", chat(model)).expect(502, "UPSTREAM_FAILED")
        stack.sql("UPDATE camserver.providers SET base_url = NULL WHERE provider_id = %s", up.provider)
        client.post("/v1/chat/completions", chat(model)).expect(502, "UPSTREAM_FAILED")


@test()
def a_client_that_hangs_up_ends_the_call(stack, front):
    token = stack.token("viewer")
    with provider(stack, concurrent=1) as up:
        connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=30)
        connection.request("POST", "/v1/chat/completions", json.dumps(chat(up.models[0], "slow", stream=True)),
                           {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        response = connection.getresponse()
        assert b"Hello" in response.readline()
        response.close()
        connection.close()
        wait_until(lambda: permits(stack, up.models[0]) == 0, what="the release of the permit")
        wait_until(lambda: up.ended_early == 1, what="the end of the upstream's call")


@contextlib.contextmanager
def occupied(stack, model):
    """One place taken by somebody who is no gateway."""
    permit, holder = str(uuid.uuid4()), str(uuid.uuid4())
    answer = stack.one("SELECT camserver.permit_acquire(%s, %s)->0->>'outcome'", holder,
                       json.dumps([{"id": permit, "model": model, "caller": "test", "wait_ms": 0}]))
    assert answer == "GRANTED", answer
    try:
        yield
    finally:
        stack.sql("SELECT camserver.permit_release(ARRAY[%s::uuid])", permit)


@test()
def a_waiter_that_hangs_up_leaves_the_queue(stack, front):
    token = stack.token("viewer")
    with provider(stack, concurrent=1) as up:
        model = up.models[0]
        with occupied(stack, model):
            client = http.client.HTTPConnection("127.0.0.1", front.port, timeout=30)
            client.request("POST", "/v1/chat/completions", json.dumps(chat(model)),
                           {"Authorization": "Bearer " + token, "Content-Type": "application/json", "Prefer": "wait=5"})
            wait_until(lambda: waiters(stack, model) == 1, what="the waiter")
            client.close()
            # At once where the web server says that the client has gone, at its deadline at the latest.
            wait_until(lambda: waiters(stack, model) == 0, what="its leaving")
        assert up.calls == []
        assert stack.one("SELECT outcome FROM camserver.permit_calls WHERE model = %s AND caller <> 'test'", model) in ("cancelled", "deadline")


@contextlib.contextmanager
def setting(stack, name, value):
    before = stack.one("SELECT value FROM camserver.settings WHERE name = %s", name)
    stack.camctl("setting", "set", name, str(value))
    try:
        yield
    finally:
        stack.camctl("setting", "set", name, before)


def kill_gateway(stack):
    """kill -9; multiwatch starts another one."""
    old = stack.pids("gateway.fcgi")
    for pid in old:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: [p for p in stack.pids("gateway.fcgi") if p not in old], what="a new gateway")


def patient(client, *request):
    """The answer of the gateway that comes up again."""
    return wait_until(lambda: (lambda a: a if a.status != 503 else None)(client.post(*request)), what="the gateway")


@test(fronts=("lighttpd",))
def a_holder_killed_gives_its_permit_back(stack, front):
    client = front.client(token=stack.token("viewer"), timeout=60)
    with setting(stack, "permit_ttl_sec", 2), provider(stack, concurrent=1) as up:
        model = up.models[0]
        call = threading.Thread(target=lambda: client.post("/v1/chat/completions", chat(model, "hang")))
        call.start()
        wait_until(lambda: permits(stack, model) == 1 and len(up.calls) == 1, what="the call")
        kill_gateway(stack)
        patient(client, "/v1/chat/completions", chat(model)).expect(200)
        assert stack.one("SELECT count(*) FROM camserver.permit_calls WHERE model = %s AND outcome = 'expired'", model) == 1
        up.hold.set()
        call.join()


@test(fronts=("lighttpd",))
def a_waiter_killed_stands_in_nobody_s_way(stack, front):
    client = front.client(token=stack.token("viewer"), timeout=60)
    with setting(stack, "permit_ttl_sec", 2), provider(stack, concurrent=1) as up:
        model = up.models[0]
        stack.camctl("setting", "set", "permit_ttl_sec", "60")
        with occupied(stack, model):
            stack.camctl("setting", "set", "permit_ttl_sec", "2")
            waiter = threading.Thread(target=lambda: client.post("/v1/chat/completions", chat(model, "lost")))
            waiter.start()
            wait_until(lambda: waiters(stack, model) == 1, what="the waiter")
            kill_gateway(stack)
            waiter.join()
            wait_until(lambda: waiters(stack, model) == 0, what="the end of its ticket")
            answers = []
            after = threading.Thread(target=lambda: answers.append(patient(client, "/v1/chat/completions", chat(model)).status))
            after.start()
            wait_until(lambda: waiters(stack, model) == 1, what="the next one")
        after.join()
        assert answers == [200] and [c[1]["messages"][0]["content"] for c in up.calls] == ["hi"], (answers, up.calls)
        assert stack.one("SELECT count(*) FROM camserver.permit_calls WHERE model = %s AND outcome = 'lost'", model) == 1


@test(fronts=("lighttpd",), needs=("plain",))
def a_thousand_waiters(stack, front):
    """Bounded memory, few database calls however many wait, each served in order or told that its time is up."""
    waiting, token = 1000, stack.token("viewer")
    with setting(stack, "permit_queue_caller_max", 5000), setting(stack, "gateway_queue_max", 5000), provider(stack, requests=200, window_ms=1000, concurrent=20) as up:
        model, results = up.models[0], []

        def ask(n):
            client = front.client(token=token, timeout=120)
            wait = {"Prefer": "wait=1"} if n % 10 == 0 else {"Prefer": "wait=110"}
            answer = client.post("/v1/chat/completions", chat(model), headers=wait)
            results.append((answer.status, answer.json.get("reason") if answer.status == 429 else None))

        def transactions():
            return stack.one("SELECT xact_commit FROM pg_stat_database WHERE datname = 'camserver'")

        with contextlib.ExitStack() as places:
            stack.sql("SELECT camserver.limits_set('model', %s, '{\"concurrent\": 1}')", model)
            places.enter_context(occupied(stack, model))
            threads = [threading.Thread(target=ask, args=(n,)) for n in range(waiting)]
            for t in threads:
                t.start()
            wait_until(lambda: waiters(stack, model) + len(results) == waiting, timeout=60, what="the queue")
            wait_until(lambda: len(results) == waiting // 10, timeout=60, what="the end of the short waits")
            before, began = transactions(), time.monotonic()
            time.sleep(3)
            rate = (transactions() - before) / (time.monotonic() - began)
            memory = sum(int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{p}/status").read()).group(1)) for p in stack.pids("gateway.fcgi"))
            print(f"# {waiters(stack, model)} waiters: {rate:.0f} database transactions a second (all programs), gateway {memory // 1024} MB")
            assert rate < 100, rate
            assert memory < 512 * 1024, memory
            stack.sql("SELECT camserver.limits_set('model', %s, '{\"concurrent\": null}')", model)
        for t in threads:
            t.join()
        assert results.count((200, None)) == waiting * 9 // 10, set(results)
        assert results.count((429, "DEADLINE")) == waiting // 10, set(results)
        assert up.most <= 20, up.most
        assert stack.one("""SELECT count(*) FROM (SELECT granted_at, max(granted_at) OVER (ORDER BY asked_at
            GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS earlier FROM camserver.permit_calls
            WHERE model = %s AND outcome = 'released' AND caller <> 'test') x WHERE granted_at < earlier""", model) == 0


@test()
def refusals_say_why_and_when(stack, front):
    client = front.client(token=stack.token("viewer"))
    with provider(stack, requests=2, window_ms=3600000, concurrent=5) as up:
        model = up.models[0]
        for _ in range(2):
            client.post("/v1/chat/completions", chat(model)).expect(200)
        answer = client.post("/v1/chat/completions", chat(model), headers={"Prefer": "wait=0"})
        data = answer.expect(429, "RATE_LIMITED")
        assert (data["level"], data["requests"], data["window_ms"], data["concurrent"], data["tokens"], data["place"]) == \
            ("model", 2, 3600000, 5, 0, 1), data
        assert data["reason"] == "WAIT_EXCEEDED" and data["expected_wait_ms"] > 1000000, data
        assert data["error"]["type"] == "rate_limit_error", data
        assert int(answer.headers["Retry-After"]) == data["retry_after"] > 1000
        assert answer.headers["RateLimit-Policy"] == '"model";q=2;w=3600', dict(answer.headers)
        assert answer.headers["RateLimit"].startswith('"model";r=0;t=1'), dict(answer.headers)
        data = client.post("/v1/chat/completions", chat(model), headers={"Prefer": "respond-async, wait=1"}).expect(429, "RATE_LIMITED")
        assert data["reason"] == "DEADLINE", data
        assert len(up.calls) == 2
        # Raised, a waiter is served at once.
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(client.post("/v1/chat/completions", chat(model)).status))
        waiter.start()
        wait_until(lambda: waiters(stack, model) == 1, what="the waiter")
        operator = front.client(token=stack.token("operator"))
        client.get("/api/limits").expect(403, "FORBIDDEN")
        shown = operator.request("PUT", f"/api/limits/model/{model}", {"requests": 1000, "window_ms": 1000}).expect(200)
        assert [m for m in shown["models"] if m["model"] == model][0]["requests_from"] == "model", shown
        waiter.join()
        assert answers == [200]
        pool = make_pool(stack, "exec")
        shown = operator.request("PUT", f"/api/limits/model/{model}", {"pool": pool}).expect(200)
        assert [m["pool"] for m in shown["models"] if m["model"] == model] == [pool]
        assert pool in stack.camctl("limits", "show").stdout
        assert model in stack.camctl("pool", "remove", pool, check=False).stderr, "a pool that a model names stays"
        operator.request("PUT", f"/api/limits/model/{model}", {"pool": "nowhere"}).expect(404, "UNKNOWN_POOL")
        stack.camctl("limits", "set", "model", model, "pool=")
        drop_pool(stack, pool)
        operator.request("PUT", f"/api/limits/model/{model}", {"requests": 0}).expect(400, "BAD_REQUEST")
        operator.request("PUT", "/api/limits/model/nobody", {"requests": 1}).expect(404, "UNKNOWN_MODEL")
        assert [m for m in operator.get("/api/limits").expect(200)["models"] if m["model"] == model]


@test()
def never_more_at_once_than_allowed(stack, front):
    client = front.client(token=stack.token("viewer"), timeout=60)
    with provider(stack, concurrent=3) as up:
        results = []
        threads = [threading.Thread(target=lambda: results.append(client.post("/v1/chat/completions", chat(up.models[0])).status))
                   for _ in range(30)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert results == [200] * 30 and len(up.calls) == 30, results
        assert up.most <= 3, up.most
