# SPDX-License-Identifier: Apache-2.0
"""Model calls: limits checked, permit taken and released, call passed on - against hello world and plain reverse proxies."""

import os

from harness import interleave
from section_leases import start_hello
from section_permits import load_limits

CLIENTS = 64


def nginx(bench, port):
    conf = bench.file("nginx.conf")
    with open(conf, "w") as f:
        f.write(f"""daemon off; worker_processes {os.cpu_count()}; pid {bench.file('nginx.pid')}; error_log {bench.file('nginx.log')};
events {{ worker_connections 1024; }}
http {{ access_log off; client_body_temp_path {bench.file('tmp')}; proxy_temp_path {bench.file('tmp')};
  fastcgi_temp_path {bench.file('tmp')}; uwsgi_temp_path {bench.file('tmp')}; scgi_temp_path {bench.file('tmp')};
  keepalive_requests 1000000; upstream node {{ server 127.0.0.1:{bench.node}; keepalive 128; keepalive_requests 1000000; }}
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://node; proxy_http_version 1.1; proxy_set_header Connection ""; }} }} }}
""")
    return bench.running("/usr/sbin/nginx", "-c", conf, port=port)


def haproxy(bench, port):
    conf = bench.file("haproxy.cfg")
    with open(conf, "w") as f:
        f.write(f"""global
    nbthread {os.cpu_count()}
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    http-reuse always
listen front
    bind 127.0.0.1:{port}
    server node 127.0.0.1:{bench.node}
""")
    return bench.running("/usr/sbin/haproxy", "-f", conf, port=port)


def run(bench):
    load_limits(bench, 1, f"http://127.0.0.1:{bench.node}")
    token = bench.camctl("token", "create", "bench", "--role", "viewer").strip()
    start_hello(bench, "lighttpd")
    bench.stack("up", "fcgi", "gateway", "lighttpd")

    def call(port, path):
        return lambda: bench.load("request", CLIENTS, bench.seconds, port, "POST", path, 200, bench.file("call.json"),
                                  "application/json", token)["rate"]

    def through(proxy):
        def measure():
            with proxy(bench, bench.other):
                return call(bench.other, "/v1/chat/completions")()
        return measure

    def first_byte(port, path):
        return lambda: bench.load("request", 1, bench.seconds, port, "POST", path, 200, bench.file("call.json"),
                                  "application/octet-stream", token)["first_p50_ms"]

    with bench.instant_node(bench.file("answer.json")):
        got = interleave(bench, hello=call(bench.http, "/hello"), ours=call(bench.http, "/api/infer/bench1"),
                         nginx=through(nginx), haproxy=through(haproxy))
        bench.sql("UPDATE camserver.providers SET base_url = %s", f"http://127.0.0.1:{bench.node}/stream")
        first = interleave(bench, direct=first_byte(bench.node, "/stream"), ours=first_byte(bench.http, "/api/infer/bench1"))
    row = bench.report.row
    hello = row(f"lighttpd, hello world, {CLIENTS} clients", got["hello"], "req/s")
    ours = row(f"camserver, model call of 2 kB, {CLIENTS} clients", got["ours"], "calls/s")
    in_nginx = row("nginx as a plain reverse proxy", got["nginx"], "req/s")
    in_haproxy = row("HAProxy as a plain reverse proxy", got["haproxy"], "req/s")
    direct = row("first byte of a stream, direct", first["direct"], "ms")
    added = row("first byte of a stream, camserver", first["ours"], "ms") - direct
    bench.report.ratio("model calls / hello world", ours / hello, least=0.5)
    bench.report.ratio("model calls / nginx (aim 0.5)", ours / in_nginx)
    bench.report.ratio("model calls / HAProxy (aim 0.5)", ours / in_haproxy)
    bench.report.ratio("first byte of a stream, ms added at p50", added, most=2)
