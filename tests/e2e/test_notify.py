# SPDX-License-Identifier: Apache-2.0
"""Notifications as they really arrive: over HTTP, as Slack blocks, as mail; cooldowns, order, summaries."""

import json
import os
import re
import signal
import threading
import time
import urllib.request

from frames import PICTURE, camera, frame, result, rules, settled
from harness import test, unique, wait_until
from receivers import Mailbox, Receiver, certificate, channel, configured, secret, settings, signature_is_right


def see(stack, cam, at=0, primary="human", severity=2, **more):
    """The camera's next frame shows that; returns when it was analysed."""
    rules(stack, result(cam, primary, severity, **more))
    name = frame(stack, cam, at)
    assert settled(stack, name)[0][0] == "done"
    return name


def notifications(stack, cam):
    return stack.sql("SELECT state, reason, severity, count FROM camserver.notifications WHERE camera_id = %s"
                     " ORDER BY notification_id", cam)


def quiet(stack, cam):
    """Waits until nothing of the camera is on its way, and returns what became of all."""
    wait_until(lambda: not any(n[0] in ("pending", "sending") for n in notifications(stack, cam)), what="the delivery")
    return notifications(stack, cam)


def pass_time(stack, cam, seconds):
    """As if this long had gone by since the camera's deliveries."""
    stack.sql("UPDATE camserver.notifications SET sent_at = sent_at - make_interval(secs => %s) WHERE camera_id = %s AND state = 'sent'",
              seconds, cam)


@test(fronts=None)
def a_webhook_is_signed_and_has_a_link_to_the_picture(stack):
    receiver, cam = Receiver(), camera(stack)
    with channel(stack, kind="webhook", url=receiver.url, secret_file=secret(stack)):
        name = see(stack, cam, tags=["human.presence", "behavior.loitering"])
        wait_until(lambda: receiver.got, what="the webhook")
        request, = receiver.got
        assert signature_is_right(request), request["headers"]
        assert not signature_is_right(dict(request, body=request["body"] + b" "))
        body, = receiver.bodies()
        assert (body["camera_id"], body["primary_event"], body["severity"], body["rule"], body["frame_uuid"]) == (
            cam, "human", 2, "severity", name), body
        assert request["headers"]["X-Camserver-Id"] == body["message_uuid"]
        with urllib.request.urlopen(body["image_url"]) as answer:
            assert answer.read() == PICTURE
        assert "channel" not in body and secret.__name__ not in body
        assert quiet(stack, cam) == [("sent", None, 2, 1)]
    receiver.stop()
    rules(stack)


class Webhook:
    """What really arrived over HTTP."""

    def __init__(self, stack):
        self.receiver = Receiver()
        self.channel = {"kind": "webhook", "url": self.receiver.url, "secret_file": secret(stack)}
        self.stop, self.error = self.receiver.stop, "status 500"

    def told(self, cam):
        return [(b["primary_event"], b["severity"]) for b in self.receiver.bodies() if b["camera_id"] == cam]

    def fail(self, on):
        self.receiver.fail = 500 if on else None


class Mail:
    """What really arrived by mail. The subject has a camera's name, which is its id unless somebody gave it one."""

    def __init__(self, stack):
        self.mailbox = Mailbox()
        self.channel = {"kind": "smtp", "url": f"smtp://127.0.0.1:{self.mailbox.port}", "mail_from": "cam@example.net", "mail_to": "a@example.net"}
        self.stop, self.error = self.mailbox.stop, "451"

    def told(self, cam):
        kinds, severities = {"人物": "human", "車両": "vehicle", "動物": "animal"}, {"警告": 2, "緊急": 3}
        found = [re.fullmatch(r"\[(.*)\] (.*): (.*)", m["Subject"]).groups() for m in self.mailbox.messages]
        return [(kinds[kind], severities[severity]) for severity, name, kind in found if name == cam]

    def fail(self, on):
        self.mailbox.fail = "451 not now" if on else None


def by_each_sink(case):
    """A test for each way to be told: the first message of a camera has just been delivered, now the case."""
    for kind in (Webhook, Mail):
        def run(stack, kind=kind):
            sink, cam = kind(stack), camera(stack)
            try:
                with channel(stack, **sink.channel):
                    case(stack, sink, cam)
            finally:
                sink.stop()
                rules(stack)
        run.__name__ = f"{case.__name__}_by_{kind.__name__.lower()}"
        test(fronts=None)(run)
    return case


def tell_first(stack, sink, cam):
    see(stack, cam, 0, "human", 2)
    assert quiet(stack, cam) == [("sent", None, 2, 1)]
    assert sink.told(cam) == [("human", 2)]


@by_each_sink
def the_same_camera_and_event_are_not_told_again_for_300_s(stack, sink, cam):
    tell_first(stack, sink, cam)
    see(stack, cam, 1, "human", 2)
    see(stack, cam, 2, "human", 1, unknown_flag=True)
    assert quiet(stack, cam)[1:] == [("suppressed", "cooldown_event", 2, 2)], "counted, not listed"
    pass_time(stack, cam, 200)
    see(stack, cam, 3, "human", 2)
    assert quiet(stack, cam)[1:] == [("suppressed", "cooldown_event", 2, 3)]
    assert sink.told(cam) == [("human", 2)], sink.told(cam)
    pass_time(stack, cam, 101)
    see(stack, cam, 4, "human", 2)
    assert quiet(stack, cam)[-1] == ("sent", None, 2, 1)
    assert sink.told(cam) == [("human", 2), ("human", 2)], sink.told(cam)


@by_each_sink
def the_same_camera_with_another_event_is_told_after_60_s(stack, sink, cam):
    tell_first(stack, sink, cam)
    see(stack, cam, 1, "vehicle", 2)
    assert quiet(stack, cam)[1:] == [("suppressed", "cooldown_camera", 2, 1)]
    assert sink.told(cam) == [("human", 2)], sink.told(cam)
    pass_time(stack, cam, 61)
    see(stack, cam, 2, "animal", 2)
    assert quiet(stack, cam)[-1] == ("sent", None, 2, 1)
    assert sink.told(cam) == [("human", 2), ("animal", 2)], sink.told(cam)
    see(stack, cam, 3, "human", 2)
    assert quiet(stack, cam)[-1][:2] == ("suppressed", "cooldown_event"), "the first one's 300 s go on"
    assert sink.told(cam) == [("human", 2), ("animal", 2)], sink.told(cam)


@by_each_sink
def another_camera_is_told(stack, sink, cam):
    tell_first(stack, sink, cam)
    tell_first(stack, sink, camera(stack))
    assert sink.told(cam) == [("human", 2)], sink.told(cam)


@by_each_sink
def a_higher_severity_goes_through(stack, sink, cam):
    tell_first(stack, sink, cam)
    see(stack, cam, 1, "human", 3)
    assert quiet(stack, cam)[-1] == ("sent", None, 3, 1), "for the same event"
    assert sink.told(cam) == [("human", 2), ("human", 3)], sink.told(cam)
    see(stack, cam, 2, "human", 3)
    assert quiet(stack, cam)[-1] == ("suppressed", "cooldown_event", 3, 1), "once"
    see(stack, cam, 3, "vehicle", 3)
    assert quiet(stack, cam)[-1] == ("suppressed", "cooldown_camera", 3, 1), "another event is no more severe"
    assert sink.told(cam) == [("human", 2), ("human", 3)], sink.told(cam)
    other = camera(stack)
    tell_first(stack, sink, other)
    see(stack, other, 1, "vehicle", 3)
    assert quiet(stack, other)[-1] == ("sent", None, 3, 1), "for another event"
    assert sink.told(other) == [("human", 2), ("vehicle", 3)], sink.told(other)


@by_each_sink
def a_failed_delivery_starts_no_cooldown(stack, sink, cam):
    with settings(stack, notify_max_attempt=1):
        sink.fail(True)
        see(stack, cam, 0)
        assert quiet(stack, cam)[0][0] == "dead"
        assert sink.error in notifications(stack, cam)[0][1], notifications(stack, cam)
        sink.fail(False)
        assert sink.told(cam) == [], sink.told(cam)
        see(stack, cam, 1)
        assert quiet(stack, cam)[-1] == ("sent", None, 2, 1)
        assert sink.told(cam) == [("human", 2)], sink.told(cam)


@by_each_sink
def a_restart_in_between_forgets_no_cooldown(stack, sink, cam):
    tell_first(stack, sink, cam)
    for pid in stack.pids("cam-dispatcher"):
        os.kill(pid, signal.SIGKILL)
    stack.stack("stop", "dispatcher")
    stack.stack("kill", "pg")
    stack.connection = None
    stack.stack("start", "pg")
    stack.stack("start", "dispatcher")
    see(stack, cam, 1)
    assert quiet(stack, cam)[1:] == [("suppressed", "cooldown_event", 2, 1)]
    see(stack, cam, 2, "vehicle", 2)
    assert quiet(stack, cam)[2:] == [("suppressed", "cooldown_camera", 2, 1)]
    assert sink.told(cam) == [("human", 2)], sink.told(cam)


@test(fronts=None)
def what_is_not_delivered_yet_takes_the_next_ones_in(stack):
    receiver, cam = Receiver(), camera(stack)
    with settings(stack, job_backoff_base_ms=200, job_backoff_max_ms=400), \
            channel(stack, kind="webhook", url=receiver.url, secret_file=secret(stack)):
        time.sleep(1)
        receiver.fail = 503
        first = see(stack, cam, 0, severity=2)
        wait_until(lambda: receiver.refused > 0, what="the first attempt")
        last = see(stack, cam, 1, severity=3)
        see(stack, cam, 2, severity=2)
        receiver.fail = None
        done = quiet(stack, cam)
        # Those that came while an attempt was under way wait for its end; the others are taken in.
        assert sum(n[3] for n in done) == 3, done
        assert receiver.bodies()[-1]["severity"] == 3 or receiver.bodies()[0]["severity"] == 3, receiver.bodies()
        assert len(receiver.got) <= 2 and last in [b["frame_uuid"] for b in receiver.bodies()], (first, receiver.bodies())
        assert all(b["frame_uuid"] in b["image_url"] for b in receiver.bodies()), "the link is to the picture that it speaks of"
    receiver.stop()
    rules(stack)


@test(fronts=None)
def a_receiver_that_was_down_gets_one_summary_and_then_what_is_new(stack):
    receiver = Receiver()
    cams = [camera(stack) for _ in range(6)]
    with settings(stack, notify_stale_sec=3, job_backoff_base_ms=300, job_backoff_max_ms=1000), \
            channel(stack, kind="webhook", url=receiver.url, secret_file=secret(stack)):
        receiver.stop()
        for i, cam in enumerate(cams):
            see(stack, cam, 0, severity=2 + i % 2)
        wait_until(lambda: stack.one("SELECT count(*) FROM camserver.notifications WHERE camera_id = ANY(%s)"
                                     " AND state = 'summarised'", cams) == 6, timeout=60, what="their age")
        receiver.start()
        for cam in cams:
            quiet(stack, cam)
        wait_until(lambda: stack.one("SELECT count(*) FROM camserver.notifications n JOIN camserver.channels USING (channel_id)"
                                     " WHERE n.kind = 'summary' AND n.state = 'sending'") == 0, what="the summary")
        kinds = [b["kind"] for b in receiver.bodies()]
        summaries = [b for b in receiver.bodies() if b["kind"] == "summary"]
        assert kinds == ["summary"], kinds
        told = [i["camera_id"] for i in summaries[0]["items"]]
        assert sorted(told) == sorted(cams), told
        assert summaries[0]["total"] == len(summaries[0]["items"])
        # Afterwards all is as ever.
        pass_time(stack, cams[0], 400)
        see(stack, cams[0], 5, "vehicle", 3)
        quiet(stack, cams[0])
        assert receiver.bodies()[-1]["kind"] == "event" and receiver.bodies()[-1]["camera_id"] == cams[0]
    receiver.stop()
    rules(stack)


@test(fronts=None)
def a_camera_s_notifications_arrive_in_order(stack):
    receiver, cam = Receiver(), camera(stack)
    order = ["human", "vehicle", "animal", "hazard", "camera_issue", "object_missing"]
    with settings(stack, notify_camera_sec=0, notify_event_sec=0, job_backoff_base_ms=200, job_backoff_max_ms=500), \
            channel(stack, kind="webhook", url=receiver.url, secret_file=secret(stack)):
        receiver.fail = 503
        for i, primary in enumerate(order):
            see(stack, cam, i, primary, 2)
        receiver.fail = None
        quiet(stack, cam)
        assert [b["primary_event"] for b in receiver.bodies()] == order, receiver.bodies()
    receiver.stop()
    rules(stack)


def texts_of(receiver, mailbox):
    """All that anybody could read of what was delivered: bodies, and of mails every header and text."""
    texts = [json.dumps(body, ensure_ascii=False) for body in receiver.bodies()]
    for message in mailbox.messages:
        texts.append("\n".join([f"{k}: {v}" for part in message.walk() for k, v in part.items()]
                               + [part.get_content() for part in message.walk() if part.get_content_maintype() == "text"]))
    return texts


@test(fronts=None)
def tags_that_must_not_be_told_are_in_no_message(stack):
    """Not in the message of an event, nor in the summary of what could not be told in time, nor in the day's."""
    receiver, mailbox, cams = Receiver(), Mailbox(), [camera(stack) for _ in range(3)]
    tags = ["animal.cat", "animal.deer", "motion.detected", "nobody.knows.this"]
    hidden = ("animal.cat", "猫", "motion", "動き", "nobody")
    with settings(stack, notify_stale_sec=2, job_backoff_base_ms=300, job_backoff_max_ms=600), \
            channel(stack, kind="webhook", url=receiver.url, secret_file=secret(stack)) as hook, \
            channel(stack, kind="slack", url=receiver.url) as slack, \
            channel(stack, kind="smtp", url=f"smtp://127.0.0.1:{mailbox.port}", mail_from="cam@example.net", mail_to="a@example.net") as mail:
        see(stack, cams[0], primary="animal", severity=3, tags=tags)
        wait_until(lambda: len(receiver.got) == 2 and mailbox.messages, what="the messages")
        events = texts_of(receiver, mailbox)
        assert len(events) == 3 and all("鹿" in t or "animal.deer" in t for t in events), events

        receiver.fail, mailbox.fail = 503, "451 not now"
        for cam in cams[1:]:
            see(stack, cam, primary="animal", severity=3, tags=tags)
        wait_until(lambda: stack.one("SELECT count(*) FROM camserver.notifications WHERE camera_id = ANY(%s) AND state IN ('sending', 'summarised')"
                                     " AND created_at < now() - interval '3 s'", cams[1:]) == 6, what="their age")
        receiver.fail = mailbox.fail = None
        for cam in cams:
            quiet(stack, cam)
        summaries = lambda: [t for t in texts_of(receiver, mailbox)[len(events):] if all(cam in t for cam in cams[1:])]
        wait_until(lambda: stack.one("SELECT count(*) FROM camserver.notifications n JOIN camserver.channels c USING (channel_id)"
                                     " WHERE c.name = ANY(%s) AND n.kind = 'summary' AND n.state = 'sent'", [hook, slack, mail]) >= 3,
                   what="the summaries")
        assert any("鹿" in t or "animal.deer" in t for t in summaries()), "what may be told is"

        told = len(texts_of(receiver, mailbox))
        for name in (hook, slack, mail):
            stack.camctl("channel", "set", name, "daily_hour=0")
        stack.sql("UPDATE camserver.events SET start_at = start_at - interval '1 day' WHERE camera_id = ANY(%s)", cams)
        stack.sql("UPDATE camserver.channels SET daily_done = NULL WHERE name = ANY(%s)", [hook, slack, mail])
        stack.sql("UPDATE camserver.sweeps SET next_run_at = '-infinity' WHERE name = 'daily_summaries'")
        wait_until(lambda: len(texts_of(receiver, mailbox)) == told + 3, what="the daily summaries")
        for text in texts_of(receiver, mailbox):
            for word in hidden:
                assert word not in text, (word, text)
    receiver.stop()
    mailbox.stop()
    rules(stack)


@test(fronts=None)
def a_receiver_that_hangs_keeps_nobody_else_from_hearing(stack):
    hanging, mailbox, cams, end = Receiver(), Mailbox(), [camera(stack) for _ in range(20)], threading.Event()
    hanging.answer = lambda request: (end.wait(60), (200, {}, b""))[1]
    with channel(stack, kind="webhook", url=hanging.url, secret_file=secret(stack)) as name, channel(
            stack, kind="smtp", url=f"smtp://127.0.0.1:{mailbox.port}", mail_from="cam@example.net", mail_to="a@example.net"):
        rules(stack, *[result(cam, "human", 2) for cam in cams])
        for cam in cams:
            frame(stack, cam, 0)
        wait_until(lambda: len(mailbox.messages) == len(cams), timeout=60, what="the mails")
        attempts = stack.one("SELECT max(j.attempt) FROM camserver.inference_jobs j JOIN camserver.notifications n USING (job_id)"
                             " JOIN camserver.channels c USING (channel_id) WHERE c.name = %s", name)
        assert attempts <= 1, f"the mails had to wait for {attempts - 1} attempts at the other receiver"
        end.set()
        for cam in cams:
            quiet(stack, cam)
    hanging.stop()
    mailbox.stop()
    rules(stack)


@test(fronts=None)
def a_receiver_cannot_put_a_notification_off_for_ever(stack):
    receiver, cam = Receiver(), camera(stack)
    receiver.answer = lambda request: (503, {"Retry-After": "99999999999"}, b"busy")
    with channel(stack, kind="webhook", url=receiver.url, secret_file=secret(stack)) as name:
        see(stack, cam)
        wait_until(lambda: receiver.got, what="the first attempt")
        job = "SELECT j.available_at < now() + interval '1 h 1 min' FROM camserver.inference_jobs j JOIN camserver.notifications n USING (job_id)" \
              " WHERE n.camera_id = %s AND j.status = 'waiting' AND j.last_error LIKE '%%status 503: busy'"
        wait_until(lambda: stack.sql(job, cam) == [(True,)], what="the next one's time")
        # An operator who turns the channel off is not told of it any more, later.
        stack.camctl("channel", "set", name, "enabled=false")
        assert quiet(stack, cam) == [("suppressed", "channel_disabled", 2, 1)]
        assert stack.one("SELECT count(*) FROM camserver.inference_jobs WHERE camera_id = %s AND kind = 'notify' AND status <> 'cancelled'", cam) == 0
    receiver.stop()
    rules(stack)


@test(fronts=None)
def slack_gets_blocks(stack):
    receiver, cam = Receiver(), camera(stack)
    stack.camctl("camera", "set", cam, "display_name=<!channel> & co")
    with channel(stack, kind="slack", url=receiver.url):
        see(stack, cam)
        wait_until(lambda: receiver.got, what="the message")
        body, = receiver.bodies()
        assert [b["type"] for b in body["blocks"]] == ["header", "section", "image"], body
        assert "<!channel>" not in body["text"] and "&lt;!channel&gt;" in body["text"], body
        with urllib.request.urlopen(body["blocks"][2]["image_url"]) as answer:
            assert answer.read() == PICTURE
    receiver.stop()
    rules(stack)


@test(fronts=None)
def a_mail_has_the_picture_inside(stack):
    mailbox, cam = Mailbox(), camera(stack)
    stack.camctl("camera", "set", cam, "display_name=正面玄関")
    with channel(stack, kind="smtp", url=f"smtp://127.0.0.1:{mailbox.port}", mail_from="cam@example.net",
                 mail_to="a@example.net,b@example.net"):
        see(stack, cam, severity=3)
        wait_until(lambda: mailbox.messages, what="the mail")
        message, = mailbox.messages
        assert mailbox.envelopes[0] == ("cam@example.net", ["a@example.net", "b@example.net"])
        assert message["Subject"] == "[緊急] 正面玄関: 人物", message["Subject"]
        assert message["Message-ID"] and message["Date"]
        assert message.get_all("To") == ["a@example.net, b@example.net"], "one line: more are not allowed, and some servers refuse them"
        parts = {p.get_content_type(): p for p in message.walk()}
        assert parts["image/jpeg"].get_content() == PICTURE
        assert parts["image/jpeg"]["Content-ID"] == "<frame>"
        assert "cid:frame" in parts["text/html"].get_content()
        assert "正面玄関" in parts["text/html"].get_content() and "/media/frame/" in parts["text/html"].get_content()
    mailbox.stop()
    rules(stack)


@test(fronts=None)
def an_address_that_is_not_taken_keeps_nobody_else_from_being_told(stack):
    mailbox, cam = Mailbox(), camera(stack)
    mailbox.unknown.add("gone@example.net")
    with settings(stack, notify_max_attempt=1), channel(
            stack, kind="smtp", url=f"smtp://127.0.0.1:{mailbox.port}", mail_from="cam@example.net", mail_to="gone@example.net,b@example.net"):
        see(stack, cam)
        assert quiet(stack, cam) == [("sent", None, 2, 1)]
        assert mailbox.envelopes == [("cam@example.net", ["b@example.net"])]
        pass_time(stack, cam, 400)
        mailbox.unknown.add("b@example.net")
        see(stack, cam, 1)
        assert quiet(stack, cam)[-1][0] == "dead", "nobody takes it"
    mailbox.stop()
    rules(stack)


@test(fronts=None)
def mail_goes_over_tls_where_it_is_offered(stack):
    context, trusted = certificate(stack)
    mailbox, cam = Mailbox(tls=context), camera(stack)
    with channel(stack, kind="smtp", url=f"smtp://127.0.0.1:{mailbox.port}", mail_from="cam@example.net", mail_to="a@example.net") as name:
        # Nobody vouches for the server: nothing is told to it.
        see(stack, cam)
        wait_until(lambda: stack.sql("SELECT 1 FROM camserver.notification_list WHERE camera_id = %s AND last_error LIKE '%%certificate%%'",
                                     cam), what="the refusal")
        assert not mailbox.messages
        with configured(stack, CA_FILE=trusted):
            wait_until(lambda: mailbox.messages, timeout=90, what="the mail")
            assert mailbox.tls_used == [True]
            stack.camctl("channel", "test", name)
        assert mailbox.tls_used == [True, True]
    mailbox.stop()
    rules(stack)


@test(fronts=None)
def channel_test_says_what_became_of_it(stack):
    receiver = Receiver()
    with channel(stack, kind="slack", url=receiver.url) as name:
        assert "delivered" in stack.camctl("channel", "test", name).stdout
        assert "テスト" in receiver.bodies()[0]["text"]
        receiver.stop()
        with settings(stack, notify_max_attempt=1):
            done = stack.camctl("channel", "test", name, check=False)
        assert done.returncode != 0 and "not delivered" in done.stderr, done.stderr
        assert name in stack.camctl("channel", "list").stdout
    assert stack.camctl("channel", "test", name, check=False).returncode != 0


@test(fronts=None)
def bad_channels_are_refused_with_the_reason(stack):
    for words, why in ((["kind=webhook", "url=http://x/"], "secret_file"), (["kind=smtp", "url=smtp://x"], "mail_from"),
                       (["kind=slack", "url=ftp://x"], "http://"), (["kind=pigeon", "url=http://x"], "pigeon"),
                       (["kind=smtp", "url=http://x", "mail_from=a@b", "mail_to=c@d"], "smtp://"),
                       (["kind=slack", "url=http://x", "colour=red"], "colour"),
                       (["kind=smtp", "url=smtp://x", "mail_from=a@b", "mail_to=nobody"], "mail_to"),
                       (["kind=slack", "url=http://x", "daily_hour=24"], "daily_hour: this value"),
                       (["kind=slack", "url=http://x", "min_severity=x"], "smallint")):
        done = stack.camctl("channel", "add", unique("bad"), *words, check=False)
        assert done.returncode != 0 and why in done.stderr, (words, done.stderr)
        assert "CONTEXT" not in done.stderr and "Failing row" not in done.stderr, done.stderr
    done = stack.camctl("channel", "frobnicate", check=False)
    assert done.returncode != 0 and '"channel frobnicate"' in done.stderr and "camctl channel add NAME" in done.stderr, done.stderr


@test(fronts=None)
def a_daily_summary_goes_out_once_a_day(stack):
    receiver, cam = Receiver(), camera(stack)
    see(stack, cam, severity=1)
    with channel(stack, kind="webhook", url=receiver.url, secret_file=secret(stack)) as name:
        stack.camctl("channel", "set", name, "daily_hour=0")
        # The summary is of the day until that hour: as if the event had been yesterday.
        stack.sql("UPDATE camserver.events SET start_at = start_at - interval '1 day' WHERE camera_id = %s", cam)
        stack.sql("UPDATE camserver.channels SET daily_done = NULL WHERE name = %s", name)
        stack.sql("UPDATE camserver.sweeps SET next_run_at = '-infinity' WHERE name = 'daily_summaries'")
        wait_until(lambda: receiver.got, what="the summary")
        body, = receiver.bodies()
        assert body["kind"] == "daily" and body["total"] >= 1, body
        assert [(i["primary_event"], i["events"]) for i in body["items"] if i["camera_id"] == cam] == [("human", 1)], body
        stack.sql("UPDATE camserver.sweeps SET next_run_at = '-infinity' WHERE name = 'daily_summaries'")
        wait_until(lambda: stack.one("SELECT next_run_at > now() FROM camserver.sweeps WHERE name = 'daily_summaries'"), what="the next sweep")
        assert stack.one("SELECT count(*) FROM camserver.notifications JOIN camserver.channels USING (channel_id) WHERE name = %s", name) == 1
    receiver.stop()
    rules(stack)
