# SPDX-License-Identifier: Apache-2.0
"""64 clients fight for 35 units for 30 seconds, with random releases, missed heartbeats and killed clients."""

import multiprocessing
import random
import time

from harness import test, wait_until

CLIENTS, SECONDS = 64, 30


def fight(client, camera, end, results):
    """One client; some go silent and some die at once, leaving their lease behind."""
    random.seed(id(client) ^ time.monotonic_ns())
    granted = refused = 0
    reasons, wrong = {}, []
    while time.monotonic() < end:
        quality = random.choice(("sub", "main"))
        answer = client.lease(camera, quality)
        data = answer.json
        if answer.status == 201:
            granted += 1
            path = f"/api/modal/lease/{data['lease_id']}"
            for _ in range(random.randint(0, 3)):
                time.sleep(random.random() * 0.1)
                if client.post(path + "/heartbeat").status not in (200, 410):
                    wrong.append("heartbeat")
            fate = random.random()
            if fate < 0.8:
                if client.delete(path).status != 200:
                    wrong.append("release")
            elif fate < 0.98:  # a new viewer in the same place; the old one never says goodbye
                client.cookie = None
                time.sleep(random.random() * 0.5)
            else:
                break
        else:
            refused += 1
            code = data.get("error_code")
            reasons[code] = reasons.get(code, 0) + 1
            if code == "OVER_CAPACITY" and data["units_needed"] <= data["units_available"]:
                wrong.append(("refused although it fits", data))
            if code not in ("OVER_CAPACITY", "USER_ALREADY_HAS_MODAL") or not data["message"]:
                wrong.append(data)
            time.sleep(random.random() * 0.05)
    results.put((granted, refused, reasons, wrong))


def watch(stack, server, stop, results):
    """A separate connection: the counted and the real units, in one snapshot, never above the budget."""
    connection = stack.connect()
    looks, most, wrong = 0, 0, []
    while not stop.is_set():
        with connection.cursor() as c:
            c.execute("SELECT u.units_used, coalesce(sum(l.units), 0) FROM camserver.stream_usage u"
                      " LEFT JOIN camserver.modal_leases l USING (stream_server_id)"
                      " WHERE stream_server_id = %s GROUP BY 1", (server,))
            counted, real = c.fetchone()
        looks, most = looks + 1, max(most, real)
        if counted != real or real > 35:
            wrong.append((counted, real))
        time.sleep(0.005)
    results.put((looks, most, wrong))


@test(needs=("plain",))
def sixty_four_clients_never_pass_the_budget(stack, front):
    server, camera = stack.server(heartbeat_interval_sec=1, heartbeat_grace_sec=2)
    context = multiprocessing.get_context("fork")
    results, watched, stop = context.Queue(), context.Queue(), context.Event()
    end = time.monotonic() + SECONDS
    watcher = context.Process(target=watch, args=(stack, server, stop, watched))
    watcher.start()
    fighters = [context.Process(target=fight, args=(front.client(), camera, end, results)) for _ in range(CLIENTS)]
    for f in fighters:
        f.start()
    killed = fighters[::8]
    time.sleep(SECONDS / 2)
    for f in killed:
        f.kill()
    outcomes = []
    alive = [f for f in fighters if f not in killed]
    deadline = time.monotonic() + SECONDS + 30
    while len(outcomes) < len(alive) and time.monotonic() < deadline:
        try:
            outcomes.append(results.get(timeout=1))
        except Exception:
            pass
    for f in fighters:
        f.join(5)
    wait_until(lambda: stack.usage(server) == 0, timeout=30, what="zero units")
    stop.set()
    looks, most, wrong = watched.get(timeout=10)
    watcher.join()
    assert not wrong, wrong[:5]
    assert most >= 34, f"the budget was never used up: {most}"
    assert len(outcomes) >= len(alive), f"{len(outcomes)} of {len(alive)} clients reported"
    assert not any(o[3] for o in outcomes), [o[3][:2] for o in outcomes if o[3]][:5]
    assert all(o[0] > 0 for o in outcomes), "a client starved"
    granted, refused = sum(o[0] for o in outcomes), sum(o[1] for o in outcomes)
    print(f"# {front.name}: {granted} granted, {refused} refused, {looks} looks, at most {most} units in use")
    assert stack.one("SELECT count(*) FROM camserver.modal_leases WHERE stream_server_id = %s", server) == 0
