# SPDX-License-Identifier: Apache-2.0
"""A model provider for tests: a real HTTP server on loopback that speaks enough of OpenAI's and Ollama's API, and
misbehaves when the prompt says so: "hang", "fail", "cut", "slow"."""

import contextlib
import http.server
import json
import socket
import threading
import time


class Upstream:
    def __init__(self, delay=0):
        self.delay = delay  # seconds that an answer takes
        self.probes = 0     # GETs
        self.sockets = set()
        self.calls = []  # (path, body, Authorization)
        self.running = self.most = 0
        self.ended_early = 0
        self.lock = threading.Lock()
        self.hold = threading.Event()  # "hang" and "slow" wait for it
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def setup(self):
                super().setup()
                upstream.sockets.add(self.connection)

            def finish(self):
                upstream.sockets.discard(self.connection)
                super().finish()

            def do_GET(self):
                upstream.probes += 1
                upstream.send(self, {"ok": True})

            def do_POST(self):
                upstream.serve(self)

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 1024
            daemon_threads = True

            def handle_error(self, *args):
                pass

        self.server = None
        self.make = lambda port: Server(("127.0.0.1", port), Handler)
        self.revive()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def revive(self):
        """Back at the same address."""
        self.server = self.make(self.server.server_port if self.server else 0)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def die(self):
        """As a process that is killed: nobody listens, and every connection breaks."""
        self.server.shutdown()
        self.server.server_close()
        for s in list(self.sockets):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()

    def serve(self, request):
        text = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        try:
            body = json.loads(text)
        except ValueError:
            body = {}
        with self.lock:
            self.calls.append((request.path, body, request.headers.get("Authorization")))
            self.running += 1
            self.most = max(self.most, self.running)
            request.is_running = True
        try:
            self.answer(request, body)
        except OSError:
            with self.lock:
                self.ended_early += 1
        finally:
            self.over(request)

    def over(self, request):
        """Before the last byte is sent: whoever has it may begin the next call before this thread runs again."""
        with self.lock:
            self.running -= getattr(request, "is_running", False)
            request.is_running = False

    def answer(self, request, body):
        prompt = body.get("prompt") or (body.get("messages") or [{}])[-1].get("content") or ""
        if prompt == "fail":
            return self.send(request, {"error": {"message": "broken"}}, status=500)
        if prompt == "cut":
            request.close_connection = True
            return request.connection.close()
        if prompt == "hang":
            self.hold.wait(60)
        time.sleep(self.delay)
        if request.path.endswith("/embeddings"):
            return self.send(request, {"object": "list", "model": body["model"],
                                       "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
                                       "usage": {"prompt_tokens": 1, "total_tokens": 1}})
        ollama = request.path.startswith("/api/")
        if body.get("stream", ollama):
            return self.stream(request, body, prompt, ollama)
        if ollama:
            return self.send(request, self.ollama(body, request.path, "Hello world", True))
        self.send(request, {"id": "c1", "object": "chat.completion", "created": 1, "model": body.get("model"), "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello world"}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}})

    @staticmethod
    def ollama(body, path, text, done):
        part = {"message": {"role": "assistant", "content": text}} if path == "/api/chat" else {"response": text}
        return {"model": body["model"], "created_at": "2026-01-01T00:00:00Z", "done": done, **part}

    def send(self, request, value, status=200):
        data = json.dumps(value).encode()
        self.over(request)
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def stream(self, request, body, prompt, ollama):
        request.send_response(200)
        request.send_header("Content-Type", "application/x-ndjson" if ollama else "text/event-stream")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        words = ["Hello", " world"]
        for n, word in enumerate(words):
            if ollama:
                line = json.dumps(self.ollama(body, request.path, word, n == 1)) + "\n"
            else:
                line = "data: " + json.dumps({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body["model"],
                    "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": "stop" if n == 1 else None}]}) + "\n\n"
            self.chunk(request, line)
            if prompt == "slow" and n == 0:
                # One byte at a time is what shows that the other end has gone.
                while not self.hold.wait(0.1):
                    self.chunk(request, ": wait\n" if not ollama else "\n")
        if not ollama:
            self.chunk(request, "data: [DONE]\n\n")
        self.over(request)
        request.wfile.write(b"0\r\n\r\n")

    @staticmethod
    def chunk(request, text):
        data = text.encode()
        request.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        request.wfile.flush()
