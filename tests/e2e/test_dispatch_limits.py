# SPDX-License-Identifier: Apache-2.0
"""The dispatcher's own model calls under the limits of their model: analyses and questions, beside other callers."""

import contextlib
import http.client
import json
import tempfile
import time
import uuid

from frames import camera, frame, job, rules, settled
from harness import test, unique, wait_until
from receivers import Receiver, configured, secret, settings
from test_escalate import GOOD, completion, ended, unknown

FOR_EVER = 2678400000  # a window in which no token comes


@contextlib.contextmanager
def limited(stack, model="is21", provider=None, base_url=None, upstream=None, key_file=None, pool=None, **limit):
    """The model is there while the block runs, with these limits."""
    provider = provider or unique("p")
    config = {provider: {"provider": "openai", "models": [{"name": model, "rate_limit": limit}]}}
    config[provider].update({k: v for k, v in (("base_url", base_url), ("api_key_file", key_file)) if v})
    config[provider]["models"][0].update({k: v for k, v in (("model_name", upstream), ("pool", pool)) if v})
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump({"providers": config}, f)
        f.flush()
        stack.camctl("limits", "load", f.name)
    try:
        yield
        wait_until(lambda: bucket(stack, model)[1:] == (0, 0), what="the end of all calls")
        assert stack.one("SELECT count(*) FROM camserver.permits WHERE model = %s", model) == 0
    finally:
        forget(stack, model, provider)


def forget(stack, model, provider):
    for attempt in range(50):  # a claim may come in between
        try:
            stack.sql("BEGIN; SELECT pg_advisory_xact_lock(camserver.lock_class('limits'), 0);"
                      "DELETE FROM camserver.permits WHERE model = %s; DELETE FROM camserver.permit_waiters WHERE model = %s;"
                      "DELETE FROM camserver.permit_calls WHERE model = %s; DELETE FROM camserver.models WHERE model = %s;"
                      "DELETE FROM camserver.buckets WHERE name = %s; DELETE FROM camserver.providers WHERE provider_id = %s; COMMIT",
                      model, model, model, model, model, provider)
            return
        except Exception:
            stack.sql("ROLLBACK")
            time.sleep(0.1)
    raise AssertionError("the model stays")


def bucket(stack, model="is21"):
    """Tokens, running, waiting."""
    return stack.sql("SELECT tokens, running, waiting FROM camserver.buckets WHERE level = 'model' AND name = %s", model)[0]


def ended_calls(stack, model="is21"):
    return dict(stack.sql("SELECT outcome, count(*)::integer FROM camserver.permit_calls WHERE model = %s GROUP BY 1", model))


def stats(stack, port=None):
    connection = http.client.HTTPConnection("127.0.0.1", port or int(stack.settings["ANALYZER_PORT"]), timeout=20)
    connection.request("GET", "/debug/requests")
    data = json.loads(connection.getresponse().read())
    connection.close()
    return data


def slow(cam, ms):
    return {"match": {"path": "/v1/analyze", "camera_id": cam}, "delay_ms": ms}


def restart_analyzer(stack):
    """With new counters."""
    stack.stack("stop", "analyzer")
    stack.stack("start", "analyzer")
    settled(stack, frame(stack, camera(stack)))


class Other:
    """A process that calls the model too."""

    def __init__(self, stack, model="is21"):
        self.stack, self.model, self.holder = stack, model, str(uuid.uuid4())

    def ask(self, wait_ms=600000):
        id = str(uuid.uuid4())
        return id, self.stack.one("SELECT camserver.permit_acquire(%s, %s)->0->>'outcome'", self.holder, json.dumps(
            [{"id": id, "model": self.model, "caller": "other", "wait_ms": wait_ms}]))

    def release(self, *ids):
        self.stack.sql("SELECT camserver.permit_release(%s::uuid[])", list(ids))

    def holds(self, id):
        return self.stack.one("SELECT count(*) FROM camserver.permits WHERE permit_id = %s", id) == 1


@test(fronts=None)
def analyses_are_never_more_than_their_model_allows(stack):
    restart_analyzer(stack)
    cam = camera(stack)
    rules(stack, slow(cam, 100))
    before = stats(stack)
    with limited(stack, requests=1000, window_ms=FOR_EVER, concurrent=2):
        names = [frame(stack, cam, i) for i in range(24)]
        assert {j[:2] for j in settled(stack, *names, timeout=90)} == {("done", 1)}
        after = stats(stack)
        assert after["analyze"] - before["analyze"] == 24
        assert after["max_concurrent"] == 2, after
        wait_until(lambda: bucket(stack)[1:] == (0, 0), what="the last release")
        assert bucket(stack)[0] == 1000 - 24, "a token each, and none for nothing"
        assert ended_calls(stack) == {"released": 24}, ended_calls(stack)
    # Without the model nothing holds them back.
    names = [frame(stack, cam, i) for i in range(24)]
    settled(stack, *names, timeout=90)
    assert stats(stack)["max_concurrent"] > 2
    rules(stack)


@test(fronts=None)
def analyses_wait_for_tokens_and_go_on_when_there_are_more(stack):
    cam = camera(stack)
    with limited(stack, requests=3, window_ms=FOR_EVER, concurrent=8):
        names = [frame(stack, cam, i) for i in range(9)]
        states = lambda: sorted(job(stack, n)[:2] for n in names)
        wait_until(lambda: states() == [("done", 1)] * 3 + [("queued", 0)] * 6, what="three analyses")
        wait_until(lambda: bucket(stack)[:2] == (0, 0) and bucket(stack)[2] > 0, what="a place in the queue")
        assert bucket(stack)[2] <= len(stack.pids("cam-dispatcher")), "one place each"
        assert stack.one("SELECT count(*) FROM camserver.permit_queue WHERE model = 'is21' AND caller <> 'dispatcher'") == 0
        stack.camctl("limits", "set", "model", "is21", "window_ms=1000")
        assert {j[:2] for j in settled(stack, *names, timeout=60)} == {("done", 1)}
        assert ended_calls(stack) == {"released": 9}, ended_calls(stack)


@test(fronts=None)
def the_dispatcher_takes_turns_with_other_callers(stack):
    cam, other = camera(stack), Other(stack)
    rules(stack, slow(cam, 50))
    with limited(stack, requests=1000, window_ms=FOR_EVER, concurrent=1), settings(stack, permit_ttl_sec=600):
        first, outcome = other.ask()
        assert outcome == "GRANTED"
        names = [frame(stack, cam, i) for i in range(3)]
        wait_until(lambda: bucket(stack)[2] > 0, what="the dispatcher's place")
        waiting = [other.ask() for _ in range(3)]
        assert {o for _, o in waiting} == {"WAITING"}, waiting
        assert {job(stack, n)[0] for n in names} == {"queued"}, "no room, no claim"
        held = first
        for id, _ in waiting:  # callers alternate, so each of these comes after an analysis at the most
            other.release(held)
            wait_until(lambda: other.holds(id), what="the other's turn")
            held = id
        assert sum(job(stack, n)[0] == "done" for n in names) >= 2, "nor was the dispatcher kept out"
        other.release(held)
        settled(stack, *names)
    rules(stack)


@test(fronts=None)
def a_node_that_is_away_keeps_no_place_and_no_permit(stack):
    cam = camera(stack)
    with limited(stack, requests=1000, window_ms=FOR_EVER, concurrent=1):
        stack.stack("stop", "analyzer")
        names = [frame(stack, cam, i) for i in range(4)]
        wait_until(lambda: ended_calls(stack).get("released", 0) > 0, what="a call in vain")
        other = Other(stack)
        id, _ = other.ask()
        wait_until(lambda: other.holds(id), what="the permit for somebody else")
        other.release(id)
        stack.stack("start", "analyzer")
        settled(stack, *names, timeout=60)


@test(fronts=None)
def a_killed_dispatcher_s_permits_come_back(stack):
    cam = camera(stack)
    rules(stack, {"match": {"path": "/v1/analyze", "camera_id": cam}, "hang": True, "times": 2})
    with limited(stack, requests=1000, window_ms=FOR_EVER, concurrent=2), \
            settings(stack, permit_ttl_sec=3, dispatcher_stale_sec=3):
        names = [frame(stack, cam, i) for i in range(6)]
        wait_until(lambda: bucket(stack)[1] == 2, what="two calls under way")
        stack.stack("kill", "dispatcher")
        assert bucket(stack)[1] == 2
        stack.stack("start", "dispatcher")
        assert {j[0] for j in settled(stack, *names, timeout=90)} == {"done"}
        wait_until(lambda: bucket(stack)[1:] == (0, 0), what="the permits")
        calls = ended_calls(stack)
        assert bucket(stack)[0] == 1000 - calls["released"] - calls.get("expired", 0), calls
    rules(stack)


@test(fronts=None)
def questions_go_where_the_model_s_provider_is_under_its_limits(stack):
    model, busy, most = Receiver(), [], []

    def answer(request):
        busy.append(1)
        most.append(len(busy))
        time.sleep(0.2)
        busy.pop()
        return completion(json.dumps(GOOD, ensure_ascii=False))
    model.answer = answer
    name = unique("eyes")
    with limited(stack, name, base_url=f"http://127.0.0.1:{model.port}", upstream="big-eyes", key_file=secret(stack, "sk-provider"),
                 requests=100, window_ms=FOR_EVER, concurrent=1), \
            settings(stack, dispatcher_stale_sec=3, escalate_camera_sec=0), configured(stack, LLM_MODEL=name):
        # The dispatchers learn with their heartbeat that there is somebody to ask.
        wait_until(lambda: ended_or_none(stack, unknown(stack)), 60, "the first question")
        cams = [unknown(stack) for _ in range(4)]
        for cam in cams:
            assert ended(stack, cam)[:3] == ("ok", None, GOOD["summary"])
        assert {r["path"] for r in model.got} == {"/v1/chat/completions"}
        assert {r["headers"]["Authorization"] for r in model.got} == {"Bearer sk-provider"}
        assert {json.loads(r["body"])["model"] for r in model.got} == {"big-eyes"}
        assert max(most) == 1, most
        wait_until(lambda: bucket(stack, name)[1:] == (0, 0), what="the last release")
        assert bucket(stack, name)[0] == 100 - len(model.got)
    rules(stack)


def ended_or_none(stack, cam):
    """Whether the camera's unknown event was put to the model; not every dispatcher knows of it yet."""
    if not stack.one("SELECT count(*) FROM camserver.llm_reviews WHERE camera_id = %s", cam):
        return False
    return ended(stack, cam)
