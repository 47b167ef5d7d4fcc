# SPDX-License-Identifier: Apache-2.0
"""Leases over HTTP against the same functions without it, and refusals and status against a program that only says hello."""

import os

from harness import WORKERS, interleave

CLIENTS = 32


def start_hello(bench, server):
    """The hello-world program beside camserver's own, behind the same web server."""
    socket = bench.file("hello.sock")
    if not os.path.exists(socket):
        bench.spawn("spawn-fcgi", "-n", "-s", socket, "-M", "0666", "--", "/usr/bin/multiwatch", "-f", WORKERS, "-s", "TERM",
                    "--", bench.program("hello"))
    if server == "lighttpd":
        bench.extra(server, f'fastcgi.server += ( "/hello" => (( "socket" => "{socket}", "check-local" => "disable" )) )\n')
    else:
        bench.extra(server, f'ProxyPass "/hello" "unix:{socket}|fcgi://hello/hello"\n')


def measure_front(bench, server, port):
    hello = lambda: bench.load("request", CLIENTS, bench.seconds, port, "GET", "/hello", 200)["rate"]
    # Apache closes the connection after every 503, whoever says it: refusals are held against a hello that is one, too.
    refused_hello = lambda: bench.load("request", CLIENTS, bench.seconds, port, "POST", "/hello/503", 503, bench.file("lease.json"),
                                       "application/json")["rate"]
    got = interleave(
        bench,
        functions=lambda: bench.pgbench("lease_cycle", CLIENTS)[0],
        cycle=lambda: bench.load("lease", CLIENTS, bench.seconds, port, "roomy")["rate"],
        hello=hello,
        status=lambda: bench.load("request", CLIENTS, bench.seconds, port, "GET", "/api/system/status", 200)["rate"],
        hello_again=hello,
        refused_hello=refused_hello,
        refusal=lambda: bench.load("request", CLIENTS, bench.seconds, port, "POST", "/api/modal/lease", 503,
                                   bench.file("lease.json"), "application/json")["rate"])
    row = bench.report.row
    functions = row(f"pgbench, acquire + heartbeat + release, {CLIENTS} clients", got["functions"], "cycles/s")
    cycle = row(f"{server}, acquire + heartbeat + release, {CLIENTS} clients", got["cycle"], "cycles/s")
    hello_rate = row(f"{server}, hello world", got["hello"] + got["hello_again"], "req/s")
    status = row(f"{server}, status", got["status"], "req/s")
    refused = row(f"{server}, hello world as a 503", got["refused_hello"], "req/s")
    refusal = row(f"{server}, refusal", got["refusal"], "req/s")
    bench.report.ratio(f"leases over HTTP / pgbench, {server}", cycle / functions, least=0.7)
    bench.report.ratio(f"status / hello world, {server}", status / hello_rate, least=0.6)
    if server == "lighttpd":
        bench.report.ratio(f"refusals / hello world, {server}", refusal / hello_rate, least=0.6)
    else:
        bench.report.ratio(f"refusals / hello world, {server}", refusal / hello_rate)
        bench.report.ratio(f"refusals / hello world as a 503, {server}", refusal / refused, least=0.6)


def run(bench):
    for server, units in (("roomy", 1_000_000), ("full", 15)):  # 15 are the reserve: nothing is left for leases
        bench.sql("SELECT camserver.stream_server_set(%s, jsonb_build_object('total_units', %s))", server, units)
        bench.sql("SELECT camserver.camera_set(%s, jsonb_build_object('stream_server_id', %s))", server, server)
    with open(bench.file("lease.json"), "w") as f:
        f.write('{"camera_id": "full", "quality": "sub"}')
    for server in ("lighttpd", "apache"):
        start_hello(bench, server)
        bench.stack("up", "fcgi", server)
        measure_front(bench, server, bench.http if server == "lighttpd" else bench.apache)
        bench.stack("stop", server)
