# SPDX-License-Identifier: Apache-2.0
"""Where notifications and questions really arrive: an HTTP receiver, an SMTP server, and what the tests set up for them."""

import contextlib
import email
import email.policy
import hashlib
import hmac
import http.server
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time

from aiosmtpd.controller import Controller

from harness import unique, wait_until


class Receiver:
    """An HTTP server that keeps what it gets. answer(request) may return (status, headers, body); or `fail` is a status."""

    def __init__(self, port=0):
        self.got, self.refused, self.fail, self.answer, self.lock = [], 0, None, None, threading.Lock()
        self.port, self.server = port, None
        self.start()

    def start(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if receiver.server is not self.server:  # stopped: kept connections end too
                    self.close_connection = True
                    return
                request = {"path": self.path, "headers": dict(self.headers), "body": body, "time": time.time()}
                if receiver.fail:
                    receiver.refused += 1
                    status, headers, text = receiver.fail, {}, b"no"
                else:
                    with receiver.lock:
                        receiver.got.append(request)
                    status, headers, text = receiver.answer(request) if receiver.answer else (200, {}, b"ok")
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

        self.server = Server(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"

    def bodies(self):
        with self.lock:
            return [json.loads(r["body"]) for r in self.got]


class Mailbox:
    """A real SMTP server that keeps the messages. `fail` is what it says to each instead; of `unknown` it takes none."""

    def __init__(self, tls=None):
        self.messages, self.envelopes, self.tls_used, self.fail, self.unknown, self.refused = [], [], [], None, set(), 0
        mailbox = self

        class Handler:
            async def handle_RCPT(self, server, session, envelope, address, options):
                if address in mailbox.unknown:
                    return "550 nobody of that name"
                envelope.rcpt_tos.append(address)
                return "250 OK"

            async def handle_DATA(self, server, session, envelope):
                if mailbox.fail:
                    mailbox.refused += 1
                    return mailbox.fail
                mailbox.messages.append(email.message_from_bytes(envelope.content, policy=email.policy.default))
                mailbox.envelopes.append((envelope.mail_from, list(envelope.rcpt_tos)))
                mailbox.tls_used.append(session.ssl is not None)
                return "250 OK"

        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.controller = Controller(Handler(), hostname="127.0.0.1", port=self.port, tls_context=tls)
        self.controller.start()

    def stop(self):
        self.controller.stop()


def secret(stack, text="a-key-for-the-tests"):
    path = f"{stack.directory}/{unique('secret')}"
    with open(path, "w") as f:
        f.write(text + "\n")
    os.chmod(path, 0o644)
    return path


@contextlib.contextmanager
def channel(stack, **values):
    """A channel that is there while the block runs."""
    name = unique("ch")
    stack.camctl("channel", "add", name, *[f"{k}={v}" for k, v in values.items()])
    try:
        yield name
    finally:
        stack.camctl("channel", "remove", name)


@contextlib.contextmanager
def settings(stack, **values):
    """Tunables for the time of the block; dispatchers know those that come with the heartbeat."""
    before = {k: stack.one("SELECT camserver.setting_set(%s, %s)", k, str(v)) for k, v in values.items()}
    try:
        yield
    finally:
        for k, v in before.items():
            stack.sql("SELECT camserver.setting_set(%s, %s)", k, v)


def reloads(stack):
    return [len(re.findall("configuration reloaded", stack.log(f"dispatcher{i + 1}"))) for i in range(int(stack.settings["DISPATCHERS"]))]


def reload(stack):
    """All dispatchers read their configuration again."""
    before = reloads(stack)
    for pid in stack.pids("cam-dispatcher"):
        os.kill(pid, signal.SIGHUP)
    wait_until(lambda: all(n > b for n, b in zip(reloads(stack), before)), what="the reload")


@contextlib.contextmanager
def configured(stack, **options):
    """Lines of camserver.conf for the time of the block."""
    with open(stack.conf) as f:
        before = f.read()
    kept = [line for line in before.splitlines() if line.split("=", 1)[0].strip() not in options]
    with open(stack.conf, "w") as f:
        f.write("\n".join(kept + [f"{k}={v}" for k, v in options.items()]) + "\n")
    reload(stack)
    try:
        yield
    finally:
        with open(stack.conf, "w") as f:
            f.write(before)
        reload(stack)


def certificate(stack):
    """A key and a certificate for 127.0.0.1 that nobody trusts by itself; the context and the certificate's file."""
    base = f"{stack.directory}/{unique('cert')}"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", base + ".key", "-out", base + ".pem"],
                   check=True, capture_output=True)
    os.chmod(base + ".pem", 0o644)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(base + ".pem", base + ".key")
    return context, base + ".pem"


def signature_is_right(request, key="a-key-for-the-tests"):
    stamp = request["headers"]["X-Camserver-Timestamp"]
    wanted = hmac.new(key.encode(), stamp.encode() + b"." + request["body"], hashlib.sha256).hexdigest()
    return request["headers"]["X-Camserver-Signature"] == "sha256=" + wanted and abs(time.time() - int(stamp)) < 600
