# SPDX-License-Identifier: Apache-2.0
"""The same work three ways: claim a frame's job, POST its image to the same instant node, apply the same completion."""

import os

from harness import CAMERAS, interleave, rss_kb, wait_until

INFLIGHT = 64


def fill(bench, n):
    """n frames with their images (links to one file) and queued jobs."""
    bench.sql("TRUNCATE camserver.frames, camserver.events, camserver.frame_tags, camserver.event_tags, camserver.inference_jobs CASCADE")
    spool = bench.file("spool/infer")
    os.makedirs(spool, exist_ok=True)
    os.chmod(spool, 0o777)
    for name in os.listdir(spool):
        os.unlink(f"{spool}/{name}")
    uuids = [row[0] for row in bench.sql("""
        WITH f AS (INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes)
            SELECT gen_random_uuid(), 'bench' || 1 + g %% %s, now() + g * interval '1 ms', now(), 50000 FROM generate_series(1, %s) g
            RETURNING frame_id, frame_uuid, camera_id, captured_at),
        j AS (INSERT INTO camserver.inference_jobs (camera_id, frame_id, captured_at, created_at, available_at)
            SELECT camera_id, frame_id, captured_at, now(), now() FROM f ORDER BY frame_id)
        SELECT frame_uuid::text FROM f""", CAMERAS, n)]
    os.chmod(bench.file("frame.jpg"), 0o644)
    for uuid in uuids:
        os.link(bench.file("frame.jpg"), f"{spool}/{uuid}.jpg")
    for table in ("frames", "inference_jobs"):
        bench.sql(f"VACUUM ANALYZE camserver.{table}")
    bench.settle()


def rate(bench, n):
    """Of all but the first tenth, by the database's clock."""
    assert bench.one("SELECT count(*) FROM camserver.frames WHERE analyzed") == n
    return bench.one("""SELECT count(*) / extract(epoch FROM max(analyzed_at) - min(analyzed_at))::float8 FROM (
        SELECT analyzed_at FROM camserver.frames ORDER BY analyzed_at OFFSET %s) t""", n // 10)


def done(bench):
    """Asked while it is measured, so by the indexes of the states."""
    return not bench.one("SELECT " + " OR ".join(
        f"EXISTS (SELECT 1 FROM camserver.inference_jobs WHERE status = '{status}')" for status in ("queued", "running", "waiting")))


def run(bench):
    memory = {"ours": [], "graphile": [], "pgboss": []}
    bench.sql("SELECT camserver.setting_set('analyze_inflight', %s)", str(INFLIGHT))

    def ours():
        n = int(4000 * bench.seconds)
        fill(bench, n)
        bench.spawn_dispatcher(1)
        wait_until(lambda: done(bench), pause=0.1)
        memory["ours"].append(rss_kb(bench.crowd[0].pid) / 1024)
        bench.stop_dispatchers()
        return rate(bench, n)

    def theirs(peer):
        def measure():
            n = int(1000 * bench.seconds)
            fill(bench, n)
            # Their queues hold the jobs; the row of ours is only what the completion ends.
            bench.sql("""UPDATE camserver.inference_jobs SET status = 'running', locked_token = camserver.job_token(now(), job_id),
                locked_by = gen_random_uuid(), locked_at = now(), deadline_at = now() + interval '1 day'""")
            bench.sql("VACUUM ANALYZE camserver.inference_jobs")
            memory[peer].append(bench.peer("pipeline.mjs", peer)["rss_mb"])
            return rate(bench, n)
        return measure

    with bench.instant_node():
        got = interleave(bench, ours=ours, graphile=theirs("graphile"), pgboss=theirs("pgboss"))
    row = bench.report.row
    best = row("cam-dispatcher", got["ours"], "jobs/s")
    graphile = row("graphile-worker, batched, 2 processes", got["graphile"], "jobs/s")
    pgboss = row("pg-boss, batches", got["pgboss"], "jobs/s")
    own = row("cam-dispatcher, resident", memory["ours"], "MB")
    their = [row("graphile-worker, resident", memory["graphile"], "MB"), row("pg-boss, resident", memory["pgboss"], "MB")]
    better = graphile if graphile > pgboss else pgboss
    bench.report.ratio("cam-dispatcher / better peer, jobs", best / better, least=3)
    bench.report.ratio("cam-dispatcher / better peer, memory", own / their[0 if better == graphile else 1], most=0.2)
