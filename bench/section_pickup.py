# SPDX-License-Identifier: Apache-2.0
"""Pickup on an idle queue: from the commit of the enqueue to the first byte of the request at the node, against
graphile-worker's time from the same commit to the start of the task."""

import contextlib
import os
import subprocess
import time
import uuid

from harness import interleave, wait_until


def quantile(values, q):
    return sorted(values)[int(q * (len(values) - 1))]


def ours(bench, node, samples):
    """One frame at a time; the node prints when a request's first byte came."""
    spool = bench.file("spool/infer")
    with contextlib.closing(bench.connect()) as connection:
        cursor = connection.cursor()
        waits = []
        for i in range(-5, samples):
            frame = str(uuid.uuid4())
            os.link(bench.file("frame.jpg"), f"{spool}/{frame}.jpg")
            wait_until(lambda: bench.one("SELECT bool_or(idle) FROM camserver.dispatchers WHERE stopped_at IS NULL"), pause=0.005)
            cursor.execute("SELECT camserver.frame_ingest('bench', %s, %s, now(), 0, 50000)->>'outcome'", (frame, f"bench{1 + i % 16}"))
            committed = time.monotonic_ns()
            assert cursor.fetchone()[0] == "ACCEPTED"
            came = int(node.stdout.readline())
            if i >= 0:
                waits.append((came - committed) / 1e6)
            time.sleep(0.01)
    return waits


def run(bench):
    samples = int(60 * bench.seconds)
    os.makedirs(bench.file("spool/infer"), exist_ok=True)
    os.chmod(bench.file("spool/infer"), 0o777)
    os.chmod(bench.file("frame.jpg"), 0o644)
    got = {"ours": [], "graphile": []}
    with bench.instant_node(env=dict(os.environ, NODE_TIMES="1"), stdout=subprocess.PIPE, text=True) as node:
        bench.spawn_dispatcher(1)
        wait_until(lambda: bench.one("SELECT count(*) FROM camserver.dispatchers WHERE idle") == 1)
        interleave(bench, ours=lambda: got["ours"].append(ours(bench, node, samples)),
                   graphile=lambda: got["graphile"].append(bench.peer("pickup.mjs", "graphile", samples)["waits"]))
        bench.stop_dispatchers()
    for q, name in ((0.5, "p50"), (0.99, "p99")):
        their = bench.report.row(f"graphile-worker, commit to start, {name}", [quantile(w, q) for w in got["graphile"]], "ms")
        own = bench.report.row(f"camserver, commit to first byte at the node, {name}", [quantile(w, q) for w in got["ours"]], "ms")
        bench.report.ratio(f"pickup, camserver / graphile-worker, {name}", own / their, most=1.0)
