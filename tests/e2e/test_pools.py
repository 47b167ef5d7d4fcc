# SPDX-License-Identifier: Apache-2.0
"""Worker pools with real processes and real containers: started on demand, used again, queued for, stopped, found again."""

import json
import os
import signal
import subprocess
import threading
import time

from harness import test, unique, wait_until
from pools import DRIVERS, Holder, command_of, drop_pool, engine, exists, make_pool, reason, rows, running


def call(stack, pool, *words, check=True):
    return stack.camctl("pool", "call", pool, *words, check=check)


def start_call(stack, pool, *options):
    return subprocess.Popen([f"{stack.prefix}/bin/camctl", "-c", stack.conf, *options, "pool", "call", pool],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def life_of_a_pool(stack, *drivers):
    for driver in drivers:
        pool = make_pool(stack, driver, max_capacity=5, acquire_timeout_sec=60)
        assert not rows(stack, pool), "nothing runs before the first call"
        first, second = call(stack, pool), call(stack, pool)
        assert "cam-analyzer" in first.stdout and "started for this call" in first.stderr, first.stderr
        assert "cam-analyzer" in second.stdout and "started for this call" not in second.stderr, second.stderr
        assert len(exists(stack, driver, pool)) == 1

        stack.camctl("pool", "set", pool, "call_path=/slow")
        most, waiting, done = 0, 0, threading.Event()

        def watch():
            nonlocal most, waiting
            connection = stack.connect()
            with connection.cursor() as c:
                while not done.is_set():
                    c.execute("SELECT in_use, waiting FROM camserver.pool_status WHERE name = %s", (pool,))
                    row = c.fetchone()
                    most, waiting = max(most, row[0]), max(waiting, row[1])
        thread = threading.Thread(target=watch)
        thread.start()
        burst = call(stack, pool, "--times", "20", "--parallel", "20")
        done.set()
        thread.join()
        assert "20 of 20 calls went well" in burst.stdout, burst.stdout
        assert 1 < most <= 5 and waiting > 0, (most, waiting)
        wait_until(lambda: len(rows(stack, pool, "idle")) == 5, 60, "five idle workers")
        assert exists(stack, driver, pool) == rows(stack, pool), "five and no more"
        assert stack.one("SELECT starts_ok FROM camserver.pools WHERE name = %s", pool) == 5

        stack.camctl("pool", "set", pool, "idle_timeout_sec=0.2")
        wait_until(lambda: not rows(stack, pool), 60, "the end of the idle ones")
        wait_until(lambda: not exists(stack, driver, pool), 60, "the end of what runs")
        ended = stack.one("SELECT string_agg(DISTINCT split_part(reason, E'\\n', 1), ',') FROM camserver.workers WHERE pool = %s", pool)
        assert ended == "idle for 0.2 s", ended
        stack.camctl("pool", "set", pool, "idle_timeout_sec=300")
        assert "started for this call" in call(stack, pool).stderr
        drop_pool(stack, pool)
        assert not exists(stack, driver, pool)


@test(fronts=None)
def a_pool_starts_on_demand_is_used_again_and_scales_to_zero(stack):
    life_of_a_pool(stack, *DRIVERS)


@test(fronts=None)
def full_pools_queue_in_order_and_refuse_in_time(stack):
    pool = make_pool(stack, "exec", max_capacity=1)
    a, b, c, d = (Holder(stack) for _ in range(4))
    held = a.acquire(pool)
    assert held["outcome"] == "GRANTED" and held["cold"], held
    # Three wait; the freed worker goes to the longest waiter, whoever asks first then.
    tickets = {}
    for who in (b, c, d):
        answer = who.ask(pool, 20000)
        assert answer["outcome"] == "WAITING", answer
        tickets[who] = answer["ticket"]
    for holder, released, who, others in ((a, held, b, (d, c)), (b, None, c, (d,)), (c, None, d, ())):
        grant = released or grant
        assert holder.release(grant) == "OK"
        assert a.ask(pool, 0)["error_code"] == "POOL_TIMEOUT", "a newcomer does not overtake"
        for other in others:
            assert other.poll(tickets[other])["outcome"] == "WAITING"
        grant = who.poll(tickets[who])
        assert grant["outcome"] == "GRANTED" and grant["worker_id"] == held["worker_id"] and not grant["cold"], grant
    # Full until the time is up. The pool's own time-out overrides the caller's; the default is five seconds.
    answer = b.ask(pool)
    assert answer["outcome"] == "WAITING" and answer["timeout_ms"] == 5000, answer
    assert b.call("worker_leave(%s, %s)", b.id, answer["ticket"])["outcome"] == "OK"
    stack.camctl("pool", "set", pool, "acquire_timeout_sec=0.3")
    answer = b.acquire(pool, 60000)
    assert answer["outcome"] == "REFUSED" and answer["error_code"] == "POOL_TIMEOUT" and answer["retry_after"] >= 1, answer
    assert "1 of 1 in use" in answer["reason"], answer
    done = call(stack, pool, check=False)
    assert done.returncode == 1 and "POOL_TIMEOUT" in done.stderr, done.stderr
    stack.camctl("pool", "set", pool, "max_waiters=0")
    assert b.ask(pool)["error_code"] == "QUEUE_FULL"
    stack.camctl("pool", "set", pool, "max_capacity=0")
    answer = b.ask(pool)
    assert answer["error_code"] == "POOL_DISABLED" and answer["retry_after"] > 0 and "capacity is 0" in answer["reason"], answer
    assert d.release(grant) == "OK"
    wait_until(lambda: not rows(stack, pool), what="the end of a worker over capacity")
    assert b.ask("no_such_pool")["error_code"] == "UNKNOWN_POOL"
    drop_pool(stack, pool)
    for who in (a, b, c, d):
        who.close()


def killed_worker(stack, *drivers):
    for driver in drivers:
        pool = make_pool(stack, driver, max_capacity=1, acquire_timeout_sec=60)
        stack.camctl("pool", "set", pool, "call_path=/hang")
        caller = start_call(stack, pool)
        worker = wait_until(lambda: rows(stack, pool, "in_use"), 60, "the call").pop()
        wait_until(lambda: stack.one("SELECT picked_up FROM camserver.workers WHERE worker_id = %s", worker), what="the caller")
        time.sleep(0.2)
        os.kill(running(stack, pool)[worker], signal.SIGKILL)
        out, fault = caller.communicate(timeout=60)
        assert caller.returncode == 1 and "the call failed" in fault, fault
        wait_until(lambda: rows(stack, pool, "gone") == {worker}, 60, "the eviction")
        why = reason(stack, worker)
        assert ("signal 9" in why or "status 137" in why) and "listening on" in why, why
        stack.camctl("pool", "set", pool, "call_path=/v1/capabilities")
        assert "started for this call" in call(stack, pool).stderr
        drop_pool(stack, pool)


@test(fronts=None)
def a_worker_that_is_killed_during_a_call_is_evicted(stack):
    killed_worker(stack, *DRIVERS)


@test(fronts=None)
def a_call_that_fails_evicts_its_worker(stack):
    pool = make_pool(stack, "exec", max_capacity=1)
    stack.camctl("pool", "set", pool, "call_path=/hang")
    done = call(stack, pool, "--timeout", "0.2", check=False)
    assert done.returncode == 1 and "timed out" in done.stderr.lower(), done.stderr
    wait_until(lambda: len(rows(stack, pool, "gone")) == 1, what="the eviction")
    why = reason(stack, rows(stack, pool, "gone").pop())
    assert why.startswith("evicted: the call failed:") and "the end of its log" in why and "stopped" in why, why
    assert not running(stack, pool)
    drop_pool(stack, pool)


def killed_manager(stack, *drivers):
    for driver in drivers:
        pool, starting = make_pool(stack, driver, max_capacity=3), make_pool(stack, driver, max_capacity=5)
        holder = Holder(stack)
        grants = [holder.acquire(pool) for _ in range(3)]
        assert all(g["outcome"] == "GRANTED" for g in grants), grants
        used, idle, lost = grants
        holder.release(idle)
        tickets = [holder.ask(starting, 60000)["ticket"] for _ in range(5)]
        stack.stack("kill", "manager")
        before = running(stack, pool)
        assert set(before) == {g["worker_id"] for g in grants}, "they live on without their manager"
        # While nobody looks: one row vanishes, one process ends.
        stack.sql("DELETE FROM camserver.workers WHERE worker_id = %s", lost["worker_id"])
        os.kill(before[idle["worker_id"]], signal.SIGKILL)
        stack.stack("start", "manager")
        wait_until(lambda: exists(stack, driver, pool) == {used["worker_id"]}, 60, "the end of the orphan")
        wait_until(lambda: idle["worker_id"] in rows(stack, pool, "gone"), what="news of the dead one")
        assert running(stack, pool)[used["worker_id"]] == before[used["worker_id"]], "the one in use is the same process"
        assert rows(stack, pool) == {used["worker_id"]} == rows(stack, pool, "in_use")
        assert holder.release(used) == "OK", "and still its holder's"
        # Of the starts that were under way nothing is left but what rows name.
        wait_until(lambda: rows(stack, starting, "in_use", "idle") and not rows(stack, starting, "wanted", "starting", "stopping"),
                   60, "the starts")
        wait_until(lambda: exists(stack, driver, starting) == rows(stack, starting), 60, "rows and reality to agree")
        for ticket in tickets:
            assert holder.call("worker_leave(%s, %s)", holder.id, ticket)["outcome"] == "OK"
        wait_until(lambda: not rows(stack, starting, "in_use"), what="what nobody waits for any more to be idle")
        holder.close()
        drop_pool(stack, pool)
        drop_pool(stack, starting)


@test(fronts=None)
def a_killed_manager_leaves_no_orphan_and_touches_nothing_in_use(stack):
    killed_manager(stack, *DRIVERS)


@test(fronts=None)
def workers_of_a_dead_holder_are_retired(stack):
    pool = make_pool(stack, "exec", max_capacity=1, acquire_timeout_sec=60)
    stack.camctl("pool", "set", pool, "call_path=/hang")
    caller = start_call(stack, pool, "-o", "HEARTBEAT_INTERVAL=1")
    worker = wait_until(lambda: rows(stack, pool, "in_use"), what="the call").pop()
    wait_until(lambda: stack.one("SELECT picked_up FROM camserver.workers WHERE worker_id = %s", worker), what="the caller")
    # As long as it lives, it keeps its worker, longer than the grace.
    beaten = "SELECT last_heartbeat - first_seen > interval '4 s' FROM camserver.pool_holders h JOIN camserver.workers w " \
             "USING (holder_id) WHERE worker_id = %s"
    wait_until(lambda: stack.one(beaten, worker), what="heartbeats")
    assert rows(stack, pool, "in_use") == {worker}
    caller.kill()
    caller.communicate()
    wait_until(lambda: worker in rows(stack, pool, "gone"), what="the end of its worker")
    assert "its holder died" in reason(stack, worker), reason(stack, worker)
    stack.camctl("pool", "set", pool, "call_path=/v1/capabilities")
    assert "started for this call" in call(stack, pool).stderr
    drop_pool(stack, pool)


@test()
def starts_that_fail_are_bounded_explained_and_mended_without_a_restart(stack, front):
    operator = front.client(token=stack.token("operator"))
    stack.camctl("setting", "set", "pool_backoff_base_ms", "10")
    stack.camctl("setting", "set", "pool_backoff_max_ms", "600000")
    try:
        for properties, expected in (
                ({"command": ["/bin/sh", "-c", "echo the model file is missing >&2; exit 3"]}, "the model file is missing"),
                ({"command": ["/no/such/program"]}, "cannot run /no/such/program"),
                ({"command": ["sleep", "1000"], "start_timeout_sec": 0.2}, "not ready within 200 ms"),
                ({"command": command_of(stack, "exec")[1].split("=", 1)[1], "health_path": "/sick", "start_timeout_sec": 0.5},
                 "/sick answers 503"),
                ({"driver": "docker", "image": "localhost/no-such-image:1"}, "no such image")):
            pool = unique("pool")
            if properties.get("driver") == "docker":
                engine(stack)
                wait_until(lambda: "answers" in stack.log("manager").rsplit("container engine", 1)[-1], what="the engine")
            answer = operator.request("PUT", f"/api/pools/{pool}", {**properties, "stop_grace_sec": 1, "acquire_timeout_sec": 30})
            assert answer.expect(201)["pool"]["name"] == pool
            # The last pause is long enough for everybody to see it.
            def late():
                stack.sql("UPDATE camserver.pools SET retry_at = retry_at + interval '1 hour' WHERE name = %s AND fail_streak >= 3 "
                          "AND retry_at < clock_timestamp() + interval '10 minutes'", pool)
                return caller.poll() is not None
            caller = start_call(stack, pool)
            wait_until(late, 60, "an end of the tries")
            out, fault = caller.communicate()
            assert caller.returncode == 1 and "POOL_FAILING" in fault and expected in fault, fault
            stack.camctl("pool", "call", pool, check=False)
            shown = operator.get(f"/api/pools/{pool}").expect(200)
            assert shown["pool"]["refusal"]["error_code"] == "POOL_FAILING", shown
            assert expected in shown["pool"]["refusal"]["reason"] and shown["pool"]["refusal"]["retry_after"] > 0, shown
            tries = shown["pool"]["starts_failed"]
            assert 3 <= tries <= 6, shown
            assert expected in stack.camctl("pool", "list").stdout + json.dumps(shown["workers"])
            wait_until(lambda: not rows(stack, pool), what="the end of all tries")
            assert stack.one("SELECT starts_failed FROM camserver.pools WHERE name = %s", pool) == tries, "callers are refused at once"
            # Mended.
            mended = command_of(stack, "exec")[1].split("=", 1)[1]
            fixed = operator.request("PUT", f"/api/pools/{pool}", {"driver": "exec", "command": mended, "health_path": "/healthz",
                                                                    "start_timeout_sec": 30, "call_path": "/v1/capabilities"})
            assert fixed.expect(200)["pool"]["refusal"] is None
            assert "cam-analyzer" in call(stack, pool).stdout
            drop_pool(stack, pool)
    finally:
        stack.camctl("setting", "set", "pool_backoff_base_ms", "1000")
        stack.camctl("setting", "set", "pool_backoff_max_ms", "60000")


def load(stack, seconds, rate):
    """acquire and release so often, no faster than at this rate, on a warm pool; nothing may leak."""
    pool = make_pool(stack, "exec", max_capacity=5, min_idle=0, acquire_timeout_sec=60)
    call(stack, pool, "--times", "30", "--parallel", "10")
    manager = stack.pids("cam-manager")[0]
    holders = [Holder(stack) for _ in range(8)]
    cycles, most, faults = [0] * 8, 0, []
    wait_until(lambda: len(rows(stack, pool, "idle")) == 5 and not stack.one(
        "SELECT count(*) FROM camserver.worker_waiters WHERE pool = %s", pool), what="five warm workers")
    fds, workers = len(os.listdir(f"/proc/{manager}/fd")), running(stack, pool)

    def cycle(n):
        try:
            due = time.monotonic()
            for _ in range(int(seconds * rate / len(holders))):
                if faults:
                    return
                grant = holders[n].acquire(pool)
                assert grant["outcome"] == "GRANTED", grant
                assert holders[n].release(grant) == "OK"
                cycles[n] += 1
                due += len(holders) / rate
                time.sleep(max(0, due - time.monotonic()))
        except Exception as e:
            faults.append(e)
    threads = [threading.Thread(target=cycle, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    start = time.monotonic()
    while any(t.is_alive() for t in threads):
        most = max(most, stack.one("SELECT count(*) FROM camserver.workers WHERE pool = %s AND state = 'in_use'", pool))
    took = time.monotonic() - start
    assert not faults, faults
    assert most <= 5, most
    print(f"# {sum(cycles)} cycles, {sum(cycles) / took:.0f} a second, at most {most} in use at once", flush=True)
    assert sum(cycles) == seconds * rate, cycles
    assert len(rows(stack, pool, "idle")) == 5 and len(rows(stack, pool)) == 5
    assert stack.one("SELECT count(*) FROM camserver.workers WHERE pool = %s", pool) == 5
    assert stack.one("SELECT count(*) FROM camserver.worker_waiters WHERE pool = %s", pool) == 0
    assert running(stack, pool) == workers, (running(stack, pool), workers)
    wait_until(lambda: len(os.listdir(f"/proc/{manager}/fd")) <= fds, what="no more descriptors than before")
    for h in holders:
        h.close()
    drop_pool(stack, pool)
    return sum(cycles)


@test(fronts=None, needs=("plain",))
def acquire_and_release_without_end_leak_nothing(stack):
    load(stack, float(os.environ.get("POOL_LOAD_SEC", "4")), 200)


@test(fronts=None)
def a_manager_reads_its_configuration_again(stack):
    pool, manager = make_pool(stack, "exec", max_capacity=1), stack.pids("cam-manager")

    def reloads():
        return stack.log("manager").count("configuration reloaded"), stack.log("manager").count("configuration not reloaded")

    with open(stack.conf) as f:
        before = f.read()
    try:
        good, bad = reloads()
        with open(stack.conf, "a") as f:
            f.write("LOG_LEVEL=loud\n")
        os.kill(manager[0], signal.SIGHUP)
        wait_until(lambda: reloads() == (good, bad + 1), what="the refusal")
        with open(stack.conf, "w") as f:
            f.write(before.replace("ENABLE_CONTAINER_POOLING=yes", "ENABLE_CONTAINER_POOLING=no"))
        os.kill(manager[0], signal.SIGHUP)
        wait_until(lambda: reloads() == (good + 1, bad + 1), what="the reload")
    finally:
        with open(stack.conf, "w") as f:
            f.write(before)
    holder = Holder(stack)
    asked = holder.ask(pool, 60000)
    assert asked["outcome"] == "WAITING", asked
    time.sleep(2)
    assert not running(stack, pool), "nothing is started while pooling is off"
    os.kill(manager[0], signal.SIGHUP)
    grant = wait_until(lambda: (g := holder.poll(asked["ticket"]))["outcome"] == "GRANTED" and g, what="a worker, once it is on again")
    assert stack.pids("cam-manager") == manager
    assert holder.release(grant) == "OK"
    holder.close()
    drop_pool(stack, pool)


LAMBDA = """
import http.server, json, os

class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(404, b'404 page not found')

    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        known = self.path == '/2015-03-31/functions/function/invocations'
        self.answer(200 if known else 404, json.dumps({'hello': event['name']}).encode())

http.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
"""


@test(fronts=None)
def a_worker_that_knows_nothing_but_calls_works_as_it_is(stack):
    """As AWS's Lambda runtime interface emulator: 404 to everything but POST of an invocation."""
    pool, program, event = unique("pool"), f"{stack.directory}/lambda.py", f"{stack.directory}/event.json"
    for path, text in ((program, LAMBDA), (event, '{"name": "camera"}')):
        with open(path, "w") as f:
            f.write(text)
    properties = [f"command=/usr/bin/python3 {program}", "call_path=/2015-03-31/functions/function/invocations", "stop_grace_sec=1"]
    assert stack.camctl("pool", "add", pool, *properties, "health_path=some", check=False).returncode == 1
    stack.camctl("pool", "add", pool, *properties, "health_path=any", "acquire_timeout_sec=60")
    assert '{"hello": "camera"}' in call(stack, pool, event).stdout
    assert "started for this call" not in call(stack, pool, event).stderr
    drop_pool(stack, pool)


@test(fronts=None)
def prewarmed_workers_wait_for_the_first_call(stack):
    pool = make_pool(stack, "exec", max_capacity=4, min_idle=2, idle_timeout_sec=0.2)
    wait_until(lambda: len(rows(stack, pool, "idle")) == 2, what="two idle workers")
    assert stack.one("SELECT start_ms > 0 FROM camserver.pools WHERE name = %s", pool)
    holder = Holder(stack)
    grant = holder.ask(pool)
    assert grant["outcome"] == "GRANTED", "no wait"
    wait_until(lambda: len(rows(stack, pool, "idle")) == 2 and len(rows(stack, pool)) == 3, what="another idle one in its place")
    holder.release(grant)
    wait_until(lambda: len(rows(stack, pool)) == 2, what="one too many to go")
    holder.close()
    drop_pool(stack, pool)


@test(fronts=None)
def without_a_manager_or_without_pooling_callers_hear_so(stack):
    pool = make_pool(stack, "exec", max_capacity=1)
    stack.stack("stop", "manager")
    done = call(stack, pool, check=False)
    assert done.returncode == 1 and "NO_MANAGER" in done.stderr, done.stderr
    stack.stack("start", "manager")
    wait_until(lambda: call(stack, pool, check=False).returncode == 0, what="a manager")
    # A second manager in the same directory gives up.
    done = stack.run(f"{stack.prefix}/sbin/cam-manager", "-c", stack.conf)
    assert done.returncode == 1 and "another cam-manager" in done.stderr, done.stderr
    drop_pool(stack, pool)


@test()
def operators_see_and_change_pools_over_the_api(stack, front):
    operator, viewer = (front.client(token=stack.token(role)) for role in ("operator", "viewer"))
    viewer.get("/api/pools").expect(403, "FORBIDDEN")
    name = unique("pool")
    operator.get(f"/api/pools/{name}").expect(404, "UNKNOWN_POOL")
    made = operator.request("PUT", f"/api/pools/{name}", {"command": ["a", "b c"], "environment": {"KEY": "secret"}}).expect(201)["pool"]
    assert made["max_capacity"] == 50 and made["idle_timeout_sec"] == 300 and made["command"] == ["a", "b c"], made
    assert made["environment"] == ["KEY"] and "secret" not in json.dumps(made), made
    for body, complaint in (({"max_capacity": -1}, "max_capacity"), ({"capacity": 1}, "no property"), ({"driver": "vm"}, "driver"),
                            ({"command": []}, "needs command"), ({"max_capacity": "many"}, "integer")):
        bad = operator.request("PUT", f"/api/pools/{name}", body).expect(400, "BAD_REQUEST")
        assert complaint in bad["detail"], bad
    changed = operator.request("PUT", f"/api/pools/{name}", {"max_capacity": 7}).expect(200)["pool"]
    assert changed["max_capacity"] == 7 and changed["command"] == ["a", "b c"], changed
    assert name in [p["name"] for p in operator.get("/api/pools").expect(200)["pools"]]
    viewer.request("PUT", f"/api/pools/{name}", {"max_capacity": 8}).expect(403, "FORBIDDEN")
    drop_pool(stack, name)


@test(fronts=None)
def capacities_come_from_a_SAM_template(stack):
    one, two, three = unique("f"), unique("f"), unique("f")
    path = f"{stack.directory}/template.yaml"
    with open(path, "w") as f:
        f.write(f"""AWSTemplateFormatVersion: '2010-09-09'
Transform: AWS::Serverless-2016-10-31
Resources:
  First:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: {one}
      ReservedConcurrentExecutions: 5  # at most five
      Role: !GetAtt Some.Arn
  {two}:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: !Sub "${{AWS::StackName}}-x"
      PackageType: Image
      ImageUri: localhost/x:1
  Third:
    Type: AWS::Serverless::Function
    Properties: {{FunctionName: {three}, ReservedConcurrentExecutions: 0}}
  Bucket:
    Type: AWS::S3::Bucket
""")
    done = stack.camctl("pool", "import", path, check=False)
    assert done.returncode == 1 and "Nothing was changed" in done.stderr, done.stderr
    stack.camctl("pool", "import", path, "command=/bin/true")
    found = dict((r[0], r[1:]) for r in stack.sql("SELECT name, max_capacity, driver, image FROM camserver.pools WHERE name = ANY (%s)",
                                                  [one, two, three]))
    assert found == {one: (5, "exec", None), two: (50, "docker", "localhost/x:1"), three: (0, "exec", None)}, found
    stack.camctl("pool", "set", one, "max_capacity=9", "idle_timeout_sec=77")
    stack.camctl("pool", "import", path)
    assert stack.sql("SELECT max_capacity, idle_timeout_sec FROM camserver.pools WHERE name = %s", one) == [(5, 77)]
    for text, complaint in (("Resources: [", "line"), ("a: b\n", "no Resources"), ("Resources:\n  A:\n    Type: AWS::S3::Bucket\n", "there is no AWS"),
                            ("Resources:\n  A:\n    Type: AWS::Serverless::Function\n    Properties:\n"
                             "      ReservedConcurrentExecutions: !Ref N\n", "line 5: ReservedConcurrentExecutions of A")):
        with open(path, "w") as f:
            f.write(text)
        done = stack.camctl("pool", "import", path, "command=x", check=False)
        assert done.returncode == 1 and complaint in done.stderr, done.stderr
    for name in (one, two, three):
        drop_pool(stack, name)
