# SPDX-License-Identifier: Apache-2.0
"""Unknown events are put to a language model, within the caps; whatever it answers is stored as what it is."""

import base64
import json
import time

from frames import PICTURE, camera, frame, result, rules, settled
from harness import test, wait_until
from receivers import Receiver, configured, secret, settings

GOOD = {"summary": "暗がりに段ボール箱がある", "category": "unknown", "severity": 1, "confidence": 0.6}


def completion(content, **more):
    return 200, {"Content-Type": "application/json"}, json.dumps(
        {"model": "test-model", "choices": [{"message": {"role": "assistant", "content": content, **more}}]}).encode()


def options(stack, model):
    return {"LLM_BASE_URL": f"http://127.0.0.1:{model.port}/v1", "LLM_MODEL": "vision", "LLM_KEY_FILE": secret(stack, "sk-test")}


def unknown(stack, at=0, cam=None):
    cam = cam or camera(stack)
    rules(stack, result(cam, "unknown", 1))
    settled_one(stack, frame(stack, cam, at))
    return cam


def settled_one(stack, name):
    wait_until(lambda: stack.one("SELECT analyzed FROM camserver.frames WHERE frame_uuid = %s", name), what="the analysis")


def review(stack, cam):
    rows = stack.sql("SELECT r.outcome, r.reason, r.summary, r.answer_text, e.summary, e.event_uuid::text FROM camserver.llm_reviews r"
                     " JOIN camserver.events e USING (event_id) WHERE r.camera_id = %s ORDER BY review_id", cam)
    return rows[-1] if rows else None


def ended(stack, cam, timeout=60):
    return wait_until(lambda: (r := review(stack, cam)) and r[0] not in ("pending", "skipped") and r, timeout=timeout, what="the review")


@test(fronts=None)
def an_unknown_event_gets_the_model_s_summary(stack):
    model = Receiver()
    model.answer = lambda request: completion(json.dumps(GOOD, ensure_ascii=False))
    with configured(stack, **options(stack, model)):
        cam = unknown(stack)
        outcome, reason, summary, _, shown, event = ended(stack, cam)
        assert (outcome, reason, summary, shown) == ("ok", None, GOOD["summary"], GOOD["summary"])
        request, = model.got
        assert request["path"] == "/v1/chat/completions" and request["headers"]["Authorization"] == "Bearer sk-test"
        body = json.loads(request["body"])
        assert body["model"] == "vision" and body["response_format"]["json_schema"]["strict"] is True
        picture = body["messages"][1]["content"][1]["image_url"]["url"]
        assert picture.startswith("data:image/jpeg;base64,") and base64.b64decode(picture.split(",", 1)[1]) == PICTURE
        answer = stack.fronts["lighttpd"].client().get(f"/api/events/{event}").expect(200)
        assert answer["summary"] == GOOD["summary"] and answer["review"]["outcome"] == "ok", answer
        # Known things are not asked about; and an event is asked about once.
        known = camera(stack)
        rules(stack, result(known, "human", 2))
        settled_one(stack, frame(stack, known))
        unknown(stack, 1, cam)
        assert review(stack, known) is None
        assert stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE camera_id = %s AND kind = 'escalate'", cam) == 1
    model.stop()
    rules(stack)


@test(fronts=None)
def each_kind_of_answer_is_stored_as_what_it_is(stack):
    model = Receiver()
    cases = {
        "prose": (completion("Here you are:\n" + json.dumps(GOOD) + "\nAnything else?"), "ok", "with prose around the JSON"),
        "empty": (completion(""), "nonsense", "the answer is empty"),
        "words": (completion("I see a box."), "nonsense", "the answer is not the JSON that was asked for"),
        "refusal": (completion(None, refusal="I can't help with that."), "refused", "the model refused"),
        "html": ((200, {}, b"<html>"), "nonsense", "the answer is no chat completion"),
        "400": ((400, {}, b'{"error": "no"}'), "error", "the language model: status 400"),
        "500": ((500, {}, b"oops"), "error", "the language model: status 500"),
        "429": ((429, {"Retry-After": "1"}, b"{}"), "error", "the language model: status 429"),
    }
    with configured(stack, **options(stack, model)), settings(stack, escalate_max_attempt=2, job_backoff_base_ms=100, job_backoff_max_ms=200,
                                                              escalate_daily_cap=1000000):
        for name, (answer, outcome, reason) in cases.items():
            model.answer = lambda request, answer=answer: answer
            cam = unknown(stack)
            got = ended(stack, cam)
            assert got[0] == outcome and (got[1] or "").startswith(reason), (name, got)
            assert (got[4] == GOOD["summary"]) == (outcome == "ok"), (name, got)
            events = stack.one("SELECT count(*) FROM camserver.events WHERE camera_id = %s AND primary_event = 'unknown'", cam)
            assert events == 1, name
    model.stop()
    rules(stack)


@test(fronts=None)
def a_busy_model_is_waited_for_and_a_hanging_one_given_up(stack):
    model = Receiver()
    times = []

    def busy_once(request):
        times.append(time.monotonic())
        return (429, {"Retry-After": "2"}, b"{}") if len(times) == 1 else completion(json.dumps(GOOD))

    with configured(stack, **options(stack, model)), settings(stack, escalate_max_attempt=2, job_backoff_base_ms=100, job_backoff_max_ms=200,
                                                              escalate_daily_cap=1000000, escalate_timeout_sec=2):
        model.answer = busy_once
        assert ended(stack, unknown(stack))[0] == "ok"
        assert len(times) == 2 and times[1] - times[0] >= 2, times
        model.answer = lambda request: (time.sleep(8), completion(json.dumps(GOOD)))[1]
        got = ended(stack, unknown(stack))
        assert got[0] == "error" and "does not answer" in got[1], got
    model.stop()
    rules(stack)


@test(fronts=None)
def cooldown_and_daily_cap_hold_and_are_recorded(stack):
    model = Receiver()
    model.answer = lambda request: completion(json.dumps(GOOD))
    with configured(stack, **options(stack, model)):
        cam = unknown(stack)
        ended(stack, cam)
        # Another event of the camera within ten minutes.
        stack.sql("UPDATE camserver.events SET state = 'closed', end_at = last_seen_at, close_reason = 'stale' WHERE camera_id = %s", cam)
        stack.sql("UPDATE camserver.events SET start_at = start_at - interval '1 h', last_seen_at = last_seen_at - interval '1 h',"
                  " end_at = end_at - interval '1 h' WHERE camera_id = %s", cam)
        unknown(stack, 2, cam)
        assert review(stack, cam)[:2] == ("skipped", "cooldown_camera")
        # After them its next frame asks.
        stack.sql("UPDATE camserver.llm_reviews SET asked_at = asked_at - interval '601 s' WHERE camera_id = %s", cam)
        unknown(stack, 3, cam)
        assert ended(stack, cam)[0] == "ok"
        today = stack.one("SELECT count(*) FROM camserver.llm_reviews WHERE asked_at >= date_trunc('day', now())")
        with settings(stack, escalate_daily_cap=today + 1):
            assert ended(stack, unknown(stack))[0] == "ok"
            capped = unknown(stack)
            assert review(stack, capped)[:2] == ("skipped", "daily_cap")
        assert stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE kind = 'escalate' AND camera_id = ANY(%s)"
                         " AND status IN ('queued', 'waiting')", [cam, capped]) == 0
    model.stop()
    rules(stack)
