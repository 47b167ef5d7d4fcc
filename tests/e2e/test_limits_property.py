# SPDX-License-Identifier: Apache-2.0
"""Random acquires, releases, waits, crashes and changes of limits by 32 processes; afterwards the record of all calls
must be one that the limits allow, to the last fraction of a token. LIMITS_SECONDS=60 for the full run."""

import json
import os
import random
import time
import uuid

from harness import test, unique, wait_until

PROCESSES = 32
SECONDS = float(os.environ.get("LIMITS_SECONDS", "6"))
CRASHES = 0.01 if SECONDS > 30 else 0.05  # of all requests


def ask(cursor, holder, model, caller, wait_ms):
    permit = str(uuid.uuid4())
    cursor.execute("SELECT camserver.permit_acquire(%s, %s)->0->>'outcome'", (holder, json.dumps([
        {"id": permit, "model": model, "caller": caller, "wait_ms": wait_ms}])))
    return permit, cursor.fetchone()[0]


def await_grant(cursor, holder, permit, model, until):
    """Asks as the database says; gives up at the end, and may be given the permit at that moment."""
    while time.monotonic() < until:
        cursor.execute("SELECT camserver.permit_renew(%s)", (holder,))
        cursor.execute("SELECT camserver.permit_poll(%s)", (holder,))
        polled = cursor.fetchone()[0]
        if any(g["id"] == permit for g in polled["granted"]):
            return True
        time.sleep(min(polled["next_ms"] or 20, 50) / 1000)
    keep = random.random() < 0.5
    cursor.execute("SELECT camserver.permit_cancel(%s)->0->>'outcome'", (json.dumps([
        {"id": permit, "model": model, "keep": keep}]),))
    return cursor.fetchone()[0] == "GRANTED"


def dispatcher(stack, number, models, end):
    """A process that asks as a dispatcher's claim does: for several, for now, keeping a place in the queue."""
    cursor, holder = stack.connect().cursor(), str(uuid.uuid4())
    while time.monotonic() < end:
        model = random.choice(models)
        cursor.execute("SELECT granted, wait_ms FROM camserver.permit_claim(%s, %s, %s)", (holder, model, random.randint(1, 4)))
        granted, wait_ms = cursor.fetchone()
        if random.random() < CRASHES:
            os._exit(1)
        time.sleep(random.random() * 0.03 if granted else min(wait_ms, 100) / 1000)
        if granted:
            cursor.execute("SELECT camserver.permit_release(%s::uuid[], %s)", (granted, holder))
    os._exit(0)


def worker(stack, number, models, end):
    """One process; ends with 1 if it crashed as it should."""
    random.seed(number)
    if number % 6 == 0:
        dispatcher(stack, number, models, end)
    connection, holder, caller = stack.connect(), str(uuid.uuid4()), f"c{number % 8}"
    cursor = connection.cursor()
    while time.monotonic() < end:
        model = random.choice(models)
        dice = random.random()
        if dice < 0.02 and model == models[1]:
            cursor.execute("SELECT camserver.limits_set('model', %s, %s)", (model, json.dumps(
                {"requests": random.choice([40, 80]), "concurrent": random.choice([3, 6])})))
            continue
        wait_ms = random.choice([0, 200, 2000])
        permit, outcome = ask(cursor, holder, model, caller, wait_ms)
        if dice > 1 - CRASHES:
            os._exit(1)  # with a permit or a ticket, or neither
        if outcome == "WAITING" and not await_grant(cursor, holder, permit, model, time.monotonic() + wait_ms / 1000):
            continue
        if outcome == "RATE_LIMITED":
            time.sleep(0.01)
            continue
        time.sleep(random.random() * 0.05)
        if random.random() < 0.5:
            cursor.execute("SELECT camserver.permit_release(ARRAY[%s::uuid])", (permit,))
        else:
            cursor.execute("SELECT camserver.permit_exchange(%s, %s)", (holder, json.dumps({"release": [permit], "renew": []})))
    os._exit(0)


def run_workers(stack, models, seconds):
    end, running, started, crashed = time.monotonic() + seconds, {}, 0, 0
    while time.monotonic() < end or running:
        while len(running) < PROCESSES and time.monotonic() < end:
            pid = os.fork()
            if pid == 0:
                try:
                    worker(stack, started, models, end)
                except BaseException as e:
                    print(f"# worker: {e!r}", flush=True)
                finally:
                    os._exit(3)
            running[pid] = started = started + 1
        pid, status = os.wait()
        if pid not in running:
            continue
        del running[pid]
        assert os.waitstatus_to_exitcode(status) in (0, 1), f"a worker ended with {status}"
        crashed += os.waitstatus_to_exitcode(status) == 1
    return crashed


def within_windows(grants, requests, window_us):
    """Over every stretch of time no more than the bucket holds and what came meanwhile."""
    lowest = None
    for n, at in enumerate(grants):
        level = n * window_us - requests * at
        lowest = level if lowest is None else min(lowest, level)
        assert level - lowest + window_us <= requests * window_us, f"grant {n} of {len(grants)} is one too many"


def replay(grants, start, end, requests, window_us):
    """What must be left in the bucket: (tokens, remainder), in whole numbers."""
    tokens, remainder, at = requests, 0, start
    for grant in grants + [None]:
        now = end if grant is None else grant
        credit = remainder + min(window_us, now - at) * requests
        tokens, remainder, at = tokens + credit // window_us, credit % window_us, now
        if tokens >= requests:
            tokens, remainder = requests, 0
        if grant is not None:
            assert tokens >= 1, "granted without a token"
            tokens -= 1
    return tokens, remainder


def most_at_once(calls):
    events = sorted([(c[1], 1) for c in calls] + [(c[2], -1) for c in calls])
    running = most = 0
    for _, step in events:
        running += step
        most = max(most, running)
    return most


@test(fronts=None, needs=("plain",))
def thirty_two_processes_at_random(stack):
    provider, models = unique("p"), [unique("m"), unique("m")]
    stack.sql("SELECT camserver.limits_load(%s)", json.dumps({"providers": {provider: {
        "rate_limit": {"requests": 90, "window_ms": 1000, "concurrent": 9, "shared": True},
        "models": [{"name": models[0], "rate_limit": {"requests": 70, "window_ms": 900, "concurrent": 5}},
                   {"name": models[1], "rate_limit": {"requests": 40, "window_ms": 1000, "concurrent": 3}}]}}}))
    us = "(extract(epoch FROM {}) * 1000000)::bigint"
    start = {n: t for n, t in stack.sql(f"SELECT name, {us.format('refilled_at')} FROM camserver.buckets WHERE name = ANY(%s)",
                                        models + [provider])}
    stack.camctl("setting", "set", "permit_ttl_sec", "1")
    try:
        crashed = run_workers(stack, models, SECONDS)
        wait_until(lambda: stack.one("SELECT (SELECT count(*) FROM camserver.permits WHERE model = ANY(%s)) + "
                                     "(SELECT count(*) FROM camserver.permit_waiters WHERE model = ANY(%s))", models, models) == 0,
                   what="the end of what crashed processes held")
    finally:
        stack.camctl("setting", "set", "permit_ttl_sec", "30")
    assert stack.one("SELECT sum(running + waiting) FROM camserver.buckets WHERE name = ANY(%s)", models + [provider]) == 0
    rows = stack.sql(f"SELECT model, caller, {us.format('asked_at')}, {us.format('granted_at')}, {us.format('ended_at')} FROM "
                     "camserver.permit_calls WHERE model = ANY(%s) AND granted_at IS NOT NULL ORDER BY granted_at", models)
    print(f"# {len(rows)} grants, {sum(r[1] == 'dispatcher' for r in rows)} of them to dispatchers, {crashed} crashes")
    assert len(rows) > 50 and crashed > 0, (len(rows), crashed)
    assert any(r[1] == "dispatcher" for r in rows)
    calls = {m: [(r[2], r[3], r[4]) for r in rows if r[0] == m] for m in models}
    everything = calls[models[0]] + calls[models[1]]
    assert most_at_once(calls[models[0]]) <= 5 and most_at_once(calls[models[1]]) <= 6 and most_at_once(everything) <= 9
    within_windows(sorted(c[1] for c in calls[models[0]]), 70, 900000)
    within_windows(sorted(c[1] for c in calls[models[1]]), 80, 1000000)
    within_windows(sorted(c[1] for c in everything), 90, 1000000)
    for model in models:
        for caller in {r[1] for r in rows}:
            order = sorted((r[2], r[3]) for r in rows if (r[0], r[1]) == (model, caller))
            assert all(a[1] <= b[1] for a, b in zip(order, order[1:])), f"{caller} was overtaken by itself"
    for name, granted, requests, window in ((models[0], calls[models[0]], 70, 900000), (provider, everything, 90, 1000000)):
        tokens, remainder, end = stack.sql(f"SELECT tokens, remainder, {us.format('refilled_at')} FROM camserver.buckets WHERE name = %s", name)[0]
        assert replay(sorted(c[1] for c in granted), start[name], end, requests, window) == (tokens, remainder), name
