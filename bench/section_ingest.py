# SPDX-License-Identifier: Apache-2.0
"""Frames in: spool synced, row and job committed, against the shortest program that does the same."""

from harness import CAMERAS, interleave

CLIENTS = 16


def run(bench):
    token = bench.camctl("token", "create", "bench", "--role", "ingest").strip()
    bench.stack("up", "fcgi", "lighttpd")

    def empty():
        """Each measurement begins with an empty queue, as where dispatchers keep up."""
        bench.sql("TRUNCATE camserver.inference_jobs, camserver.frames CASCADE")

    def ours():
        empty()
        return bench.load("frame", CLIENTS, bench.seconds, bench.http, "bench", CAMERAS, bench.file("frame.jpg"), token)["rate"]

    def shortest():
        empty()
        return bench.json_of(bench.program("ingest"), CLIENTS, bench.seconds, bench.file("spool"), "bench", CAMERAS,
                             bench.file("frame.jpg"))["rate"]

    got = interleave(bench, shortest=shortest, ours=ours)
    least = bench.report.row(f"shortest C program, fsync + insert, {CLIENTS} threads", got["shortest"], "frames/s")
    rate = bench.report.row(f"camserver, POST /api/frames of 50 kB, {CLIENTS} clients", got["ours"], "frames/s")
    bench.report.ratio("ingest over HTTP / shortest program", rate / least, least=0.6)
