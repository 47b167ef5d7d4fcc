# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL stopped, killed and started under load: 503 meanwhile, then everything works, no lease lost or doubled."""

import threading
import time
import uuid

from harness import test, wait_until


class Viewer(threading.Thread):
    """Takes a lease, beats, releases, again and again; asks again for a lost answer with the same lease_id."""

    def __init__(self, client, camera, stop):
        super().__init__()
        self.client, self.camera, self.stop = client, camera, stop
        self.seen, self.wrong, self.cycles = {}, [], 0

    def call(self, method, path, body=None):
        while not self.stop.is_set() or method == "DELETE":
            try:
                answer = self.client.request(method, path, body)
            except OSError as e:
                self.wrong.append(f"{method} {path}: {e}")
                return None
            self.seen[answer.status] = self.seen.get(answer.status, 0) + 1
            if answer.status != 503:
                return answer
            if answer.json["error_code"] != "DB_UNAVAILABLE" or not answer.headers["Retry-After"]:
                self.wrong.append(answer.body)
            time.sleep(0.05)

    def run(self):
        while not self.stop.is_set():
            lease = str(uuid.uuid4())
            answer = self.call("POST", "/api/modal/lease", {"camera_id": self.camera, "lease_id": lease})
            if answer is None:
                break
            if answer.status != 201 or answer.json["lease_id"] != lease:
                self.wrong.append(answer.body)
                break
            beat = self.call("POST", f"/api/modal/lease/{lease}/heartbeat")
            if beat is not None and beat.status != 200:
                self.wrong.append(beat.body)
            gone = self.call("DELETE", f"/api/modal/lease/{lease}")
            if gone is None or gone.status != 200:
                self.wrong.append("not released")
            self.cycles += 1


@test()
def stopped_and_started_under_load(stack, front):
    server, camera = stack.server()
    pids = stack.pids("camserver.fcgi")
    stop = threading.Event()
    viewers = [Viewer(front.client(), camera, stop) for _ in range(8)]
    for v in viewers:
        v.client.get("/api/system/status").expect(200)
        v.start()
    for how in ("stop", "kill"):
        time.sleep(1)
        stack.stack(how, "pg")
        front.client().get("/api/system/status").expect(503, "DB_UNAVAILABLE")
        front.client().get("/readyz").expect(503, "DB_UNAVAILABLE")
        front.client().get("/healthz").expect(200)
        time.sleep(1)
        stack.stack("start", "pg")
        done = sum(v.cycles for v in viewers)
        wait_until(lambda: sum(v.cycles for v in viewers) > done + 20, what="work after the restart")
    stop.set()
    for v in viewers:
        v.join()
    stack.connection = None
    assert not any(v.wrong for v in viewers), [v.wrong[:2] for v in viewers if v.wrong]
    assert all(v.seen.get(503) for v in viewers), [v.seen for v in viewers]
    assert stack.usage(server) == 0
    assert stack.one("SELECT count(*) FROM camserver.modal_leases WHERE stream_server_id = %s", server) == 0
    assert stack.pids("camserver.fcgi") == pids, "no process had to be restarted"
    # The dispatchers come back by themselves too.
    before = stack.one("SELECT coalesce(max(seq), 0) FROM camserver.system_health")
    wait_until(lambda: stack.one("SELECT coalesce(max(seq), 0) FROM camserver.system_health") > before, what="the dispatchers")


@test(fronts=None)
def a_program_started_before_its_database_waits_for_it(stack):
    stack.stack("stop", "pg")
    stack.stack("stop", "dispatcher")
    stack.stack("stop", "fcgi")
    stack.connection = None
    stack.stack("start", "fcgi")
    stack.stack("start", "dispatcher")
    client = stack.fronts["lighttpd"].client()
    client.get("/healthz").expect(200)
    client.get("/readyz").expect(503, "DB_UNAVAILABLE")
    stack.stack("start", "pg")
    wait_until(lambda: client.get("/readyz").status == 200, what="readiness")
    wait_until(lambda: stack.one("SELECT count(*) FROM camserver.dispatcher_list WHERE state = 'alive'") >= 2)


@test(fronts=None)
def a_missing_schema_is_named_as_such(stack):
    client = stack.fronts["lighttpd"].client()
    time.sleep(1)  # every worker may connect again after the restart above
    stack.sql("ALTER SCHEMA camserver RENAME TO away")
    try:
        client.get("/readyz").expect(503, "SCHEMA_OUTDATED")
        client.get("/api/system/status").expect(503, "SCHEMA_OUTDATED")
    finally:
        stack.sql("ALTER SCHEMA away RENAME TO camserver")
    wait_until(lambda: client.get("/readyz").status == 200, what="readiness")


@test()
def a_commit_that_fails_is_not_a_success(stack, front):
    """The rows of an answer are sent before the commit. A check that strikes only at the commit must still be heard."""
    server, camera = stack.server()
    stack.sql("CREATE FUNCTION public.no_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$")
    stack.sql("CREATE CONSTRAINT TRIGGER no_commit AFTER INSERT ON camserver.modal_leases DEFERRABLE INITIALLY DEFERRED"
              " FOR EACH ROW EXECUTE FUNCTION public.no_commit()")
    try:
        front.client().lease(camera).expect(500, "INTERNAL_ERROR")
    finally:
        stack.sql("DROP TRIGGER no_commit ON camserver.modal_leases")
        stack.sql("DROP FUNCTION public.no_commit()")
    assert stack.usage(server) == 0
    front.client().lease(camera).expect(201)
