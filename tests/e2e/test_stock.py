# SPDX-License-Identifier: Apache-2.0
"""Calls that a gateway was granted in advance: every one counted once, nobody kept waiting by what lies in stock, nothing left
of a gateway that is killed, and never more calls than the limits allow."""

import contextlib
import json
import os
import random
import threading
import time
import uuid

from harness import test, unique, wait_until
from test_gateway import chat, kill_gateway, patient, provider, setting
from test_limits_property import most_at_once, within_windows

LONG_MS = 30 * 24 * 3600 * 1000  # a window in which nothing is refilled while a test looks
SECONDS = 4


def bucket(stack, model):
    return stack.sql("SELECT tokens, stocked, running FROM camserver.buckets WHERE level = 'model' AND name = %s", model)[0]


def stocks(stack, model):
    return stack.one("SELECT count(*) FROM camserver.permits WHERE model = %s AND stock", model)


def use(client, model, until):
    """Calls until there is a stock, or whatever is waited for; returns how many."""
    calls = 0
    while not until():
        client.post("/v1/chat/completions", chat(model)).expect(200)
        calls += 1
        assert calls < 500
    return calls


@test()
def every_call_is_counted_once(stack, front):
    clients = [front.client(token=stack.token("viewer")) for _ in range(3)]
    with provider(stack, requests=100_000, window_ms=LONG_MS, concurrent=1000) as up:
        model, failed = up.models[0], []

        def caller(client):
            for _ in range(60):
                if client.post("/v1/chat/completions", chat(model)).status != 200:
                    failed.append(1)

        threads = [threading.Thread(target=caller, args=(c,)) for c in clients]
        for t in threads:
            t.start()
        wait_until(lambda: stocks(stack, model) > 0, what="a stock")
        for t in threads:
            t.join()
        assert not failed and len(up.calls) == 180
        wait_until(lambda: bucket(stack, model)[1:] == (0, 0), what="the return of what nobody uses")
        assert bucket(stack, model)[0] == 100_000 - 180
        rows = stack.sql("SELECT caller, count(*) FROM camserver.permit_calls WHERE model = %s AND outcome = 'released' GROUP BY 1", model)
        assert sorted(n for _, n in rows) == [60, 60, 60], rows
        assert stack.one("SELECT count(*) FROM camserver.permit_calls WHERE model = %s AND outcome <> 'released'", model) == 0


@test(fronts=("lighttpd",))
def what_lies_in_stock_keeps_nobody_waiting(stack, front):
    client = front.client(token=stack.token("viewer"))
    with provider(stack, requests=100, window_ms=LONG_MS, concurrent=1000) as up:
        model, holder, cursor = up.models[0], str(uuid.uuid4()), stack.connect().cursor()

        def take(wait_ms):
            cursor.execute("SELECT camserver.permit_acquire(%s, %s)->0->>'outcome'", (holder, json.dumps([
                {"id": str(uuid.uuid4()), "model": model, "caller": "other", "wait_ms": wait_ms}])))
            return cursor.fetchone()[0]

        # What the gateway holds in advance is looked for at the moment that another process needs it.
        def others_have_the_rest():
            return bucket(stack, model)[1] > 0

        use(client, model, others_have_the_rest)
        before = len(up.calls)
        while (outcome := take(20_000)) == "GRANTED":
            pass
        assert outcome == "WAITING"

        def served():
            cursor.execute("SELECT camserver.permit_renew(%s)", (holder,))
            return stack.one("SELECT count(*) FROM camserver.permit_waiters WHERE model = %s", model) == 0

        wait_until(served, what="the stock's return")
        assert len(up.calls) == before
        client.post("/v1/chat/completions", chat(model), headers={"Prefer": "wait=0"})
        held = stack.one("SELECT count(*) FROM camserver.permits WHERE model = %s AND holder = %s", model, holder)
        wait_until(lambda: bucket(stack, model)[1:] == (0, held), what="the end of all that the gateway holds")
        calls = stack.one("SELECT count(*) FROM camserver.permit_calls WHERE model = %s AND outcome = 'released'", model)
        assert bucket(stack, model)[0] + held + calls == 100, (bucket(stack, model), held, calls)
        cursor.execute("SELECT camserver.permit_release(ARRAY(SELECT permit_id FROM camserver.permits WHERE holder = %s))", (holder,))


@test(fronts=("lighttpd",))
def a_gateway_killed_leaves_no_stock(stack, front):
    client = front.client(token=stack.token("viewer"), timeout=60)
    with setting(stack, "permit_ttl_sec", 2), provider(stack, requests=1000, window_ms=LONG_MS, concurrent=1000) as up:
        model = up.models[0]
        use(client, model, lambda: stocks(stack, model) > 0)
        kill_gateway(stack)
        wait_until(lambda: stocks(stack, model) == 0, what="the end of the stock")
        patient(client, "/v1/chat/completions", chat(model)).expect(200)
        wait_until(lambda: bucket(stack, model)[1:] == (0, 0), what="nothing held")
        assert bucket(stack, model)[0] <= 1000 - len(up.calls)


@test(fronts=("lighttpd",))
def a_revoked_token_begins_no_call(stack, front):
    name = unique("t")
    token = stack.camctl("token", "create", name, "--role", "viewer").stdout.strip()
    client, other = front.client(token=token), front.client(token=stack.token("viewer"))
    with provider(stack, requests=100_000, window_ms=LONG_MS, concurrent=1000) as up:
        model = up.models[0]
        use(client, model, lambda: stocks(stack, model) > 0)
        stack.camctl("token", "revoke", name)

        def refused():
            other.post("/v1/chat/completions", chat(model)).expect(200)  # the stock is in use all the time
            return client.post("/v1/chat/completions", chat(model)).status == 401

        wait_until(refused, what="the refusal")


@test(fronts=("lighttpd",))
def a_changed_limit_calls_the_stock_back(stack, front):
    client = front.client(token=stack.token("viewer"))
    with provider(stack, requests=100_000, window_ms=LONG_MS, concurrent=1000) as up:
        model = up.models[0]
        use(client, model, lambda: stocks(stack, model) > 0)
        stack.camctl("limits", "set", "model", model, "requests=1")
        wait_until(lambda: stocks(stack, model) == 0, what="the stock's return")
        wait_until(lambda: client.post("/v1/chat/completions", chat(model), headers={"Prefer": "wait=0"}).status == 429,
                   what="the new limit")
        assert bucket(stack, model)[:2] == (0, 0)
        with setting(stack, "permit_stock_max", 0):
            stack.camctl("limits", "set", "model", model, "requests=100000")
            for _ in range(5):
                client.post("/v1/chat/completions", chat(model), headers={"Prefer": "wait=0"})
            assert stocks(stack, model) == 0


# --- at random, by processes of our own

class Process:
    """One process that keeps stocks, or asks for each call; what it began and ended, by its own clock, is its log."""

    def __init__(self, stack, model, number, end, log):
        self.cursor, self.holder = stack.connect().cursor(), str(uuid.uuid4())
        self.model, self.end, self.log, self.caller = model, end, log, f"c{number}"
        random.seed(number)

    def exchange(self, **news):
        self.cursor.execute("SELECT camserver.permit_exchange(%s, %s)", (self.holder, json.dumps(
            {"release": [], "ask": [], "cancel": [], **news})))
        return self.cursor.fetchone()[0]

    def call(self, seconds):
        began = time.time()
        time.sleep(seconds)
        ended = time.time()
        self.log.write(f"{began:.6f} {ended:.6f}\n")
        self.log.flush()
        return began, ended

    def one_by_one(self):
        while time.time() < self.end:
            permit = str(uuid.uuid4())
            answer = self.exchange(ask=[{"id": permit, "model": self.model, "caller": self.caller, "wait_ms": 0}])["answers"][0]
            if answer["outcome"] == "GRANTED":
                self.call(random.random() * 0.01)
                self.exchange(release=[permit])
            else:
                time.sleep(0.005)

    def with_stocks(self):
        while time.time() < self.end:
            stock = str(uuid.uuid4())
            answer = self.exchange(stock=[{"id": stock, "model": self.model, "n": random.randint(2, 30)}])["answers"][0]
            if answer["outcome"] != "STOCK":
                time.sleep(0.01)
                continue
            self.use(stock, answer["n"])

    def use(self, stock, n):
        """Some of it, after a while, in reports that now and then come twice; then the rest goes back - or the process dies."""
        reported, calls, unspent = 0, [], n
        time.sleep(random.random() * 0.15)
        for _ in range(random.randint(0, n)):
            calls.append(self.call(random.random() * 0.004))
            unspent -= 1
            if random.random() < 0.2:
                for _ in range(random.choice([1, 1, 2])):
                    self.report(stock, unspent, False, reported, calls)
                reported, calls = reported + len(calls), []
        if random.random() < 0.03:
            os._exit(1)
        self.report(stock, unspent, True, reported, calls)

    def report(self, stock, unspent, close, first, calls):
        now = time.time()
        self.exchange(report=[{"id": stock, "slots": 0 if close else unspent, "unspent": unspent, "close": close, "first": first,
                               "calls": [[self.caller, (now - b) * 1e6, (now - e) * 1e6] for b, e in calls]}])


def run_processes(stack, model, directory, count):
    """Forked ones that go on until the end; those that died on purpose are followed by others."""
    end, started, running, crashed = time.time() + SECONDS, 0, set(), 0
    while running or time.time() < end:
        while len(running) < count and time.time() < end:
            started += 1
            pid = os.fork()
            if pid == 0:
                with contextlib.suppress(BaseException):
                    with open(f"{directory}/{started}", "w") as log:
                        process = Process(stack, model, started, end, log)
                        (process.one_by_one if started % 3 == 0 else process.with_stocks)()
                        os._exit(0)
                os._exit(3)
            running.add(pid)
        pid, status = os.wait()
        if pid in running:
            running.discard(pid)
            assert os.waitstatus_to_exitcode(status) in (0, 1), f"a process ended with {status}"
            crashed += os.waitstatus_to_exitcode(status) == 1
    return crashed


@test(fronts=None, needs=("plain",))
def stocks_at_random_keep_to_the_limits(stack):
    requests, window_ms, concurrent, name = 60, 1000, 30, unique("p")
    model, directory = unique("m"), f"{stack.directory}/{unique('stocks')}"
    os.makedirs(directory)
    stack.sql("SELECT camserver.limits_load(%s)", json.dumps({"providers": {name: {"models": [{"name": model, "rate_limit": {
        "requests": requests, "window_ms": window_ms, "concurrent": concurrent}}]}}}))
    with setting(stack, "permit_ttl_sec", 1):
        crashed = run_processes(stack, model, directory, 12)
        wait_until(lambda: stack.one("SELECT count(*) FROM camserver.permits WHERE model = %s", model) == 0, what="the end of all")
    assert bucket(stack, model)[1:] == (0, 0)
    calls = []
    for file in os.listdir(directory):
        with open(f"{directory}/{file}") as log:
            calls += [(*(int(float(t) * 1e6) for t in line.split()), f"c{file}") for line in log]
    recorded = stack.one("SELECT count(*) FROM camserver.permit_calls WHERE model = %s AND outcome = 'released'", model)
    print(f"# {len(calls)} calls, {recorded} recorded, {crashed} crashes")
    assert len(calls) > requests and recorded <= len(calls) and (crashed > 0 or recorded == len(calls))
    # A call from a stock takes its token when it begins, one that was asked for when it was granted, which may be long before.
    asked_for = [f"c{n}" for n in range(3, len(os.listdir(directory)) + 1, 3)]
    begun = [c[0] for c in calls if c[2] not in asked_for] + [row[0] for row in stack.sql(
        "SELECT (extract(epoch FROM granted_at) * 1000000)::bigint FROM camserver.permit_calls WHERE model = %s AND caller = ANY(%s)"
        " AND granted_at IS NOT NULL", model, asked_for)]
    assert len(begun) >= recorded > len(begun) / 2
    within_windows(sorted(begun), requests, window_ms * 1000)
    assert most_at_once([(None, b, e) for b, e, _ in calls]) <= concurrent
