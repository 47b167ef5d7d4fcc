# SPDX-License-Identifier: Apache-2.0
"""Queue kernel: jobs that do nothing, claimed and completed durably."""

from harness import interleave

BATCH = 100
CLIENTS = 8


def fill(bench, n):
    """n jobs as frame_ingest leaves them, but for the frame."""
    bench.sql("TRUNCATE camserver.inference_jobs")
    bench.sql("""INSERT INTO camserver.inference_jobs (camera_id, frame_id, captured_at, created_at, available_at)
                 SELECT 'bench' || 1 + g %% 16, g, now(), now(), now() FROM generate_series(1, %s) g""", n)
    bench.sql("VACUUM ANALYZE camserver.inference_jobs")
    bench.settle()


def fill_plain(bench, n):
    bench.sql("TRUNCATE job", database="peer_pgbench")
    bench.sql("INSERT INTO job SELECT FROM generate_series(1, %s)", n, database="peer_pgbench")
    bench.sql("VACUUM ANALYZE job", database="peer_pgbench")
    bench.settle()


def run(bench):
    enough = int(60_000 * (bench.seconds + 1)), int(12_000 * (bench.seconds + 1))

    def ours(script, clients, per_round, n):
        def measure():
            fill(bench, n)
            rate = bench.pgbench(script, clients, ids="{}", tokens="{}")[0] * per_round
            assert bench.one("SELECT EXISTS (SELECT 1 FROM camserver.inference_jobs WHERE status = 'queued')"), "ran dry"
            return rate
        return measure

    def plain(script, clients, per_round, n):
        def measure():
            fill_plain(bench, n)
            return bench.pgbench(script, clients, database="peer_pgbench")[0] * per_round
        return measure

    bench.fresh_database("peer_pgbench", f"{bench.top}/bench/pgbench/job_schema.sql")
    got = interleave(
        bench,
        graphile=lambda: bench.peer("drain.mjs", "graphile", int(6000 * bench.seconds))["rate"],
        batch_plain=plain("job_plain_100", CLIENTS, BATCH, enough[0]),
        batch_ours=ours("job_ours_100", CLIENTS, BATCH, enough[0]),
        batch_plain_2=plain("job_plain_100", 2, BATCH, enough[0]),
        batch_ours_2=ours("job_ours_100", 2, BATCH, enough[0]),
        one_plain=plain("job_plain_1", CLIENTS, 1, enough[1]),
        one_ours=ours("job_ours_1", CLIENTS, 1, enough[1]))
    row = bench.report.row
    graphile = row("graphile-worker, batched drain", got["graphile"], "jobs/s")
    plain_batch = row(f"pgbench, claim 100 + complete 100, {CLIENTS} clients", got["batch_plain"], "jobs/s")
    batch = row(f"camserver, complete 100 + claim 100, {CLIENTS} clients", got["batch_ours"], "jobs/s")
    plain_batch_2 = row("pgbench, claim 100 + complete 100, 2 clients", got["batch_plain_2"], "jobs/s")
    batch_2 = row("camserver, complete 100 + claim 100, 2 clients", got["batch_ours_2"], "jobs/s")
    plain_one = row(f"pgbench, claim 1 + complete 1, {CLIENTS} clients", got["one_plain"], "jobs/s")
    one = row(f"camserver, claim 1 + complete 1, {CLIENTS} clients", got["one_ours"], "jobs/s")
    bench.report.ratio("camserver / graphile-worker, batched", max(batch, batch_2) / graphile, least=1.2)
    bench.report.ratio(f"camserver / pgbench, batches of 100, {CLIENTS} clients", batch / plain_batch, least=1.0)
    bench.report.ratio("camserver / pgbench, batches of 100, 2 clients", batch_2 / plain_batch_2, least=1.0)
    bench.report.ratio(f"camserver / pgbench, one by one, {CLIENTS} clients", one / plain_one, least=0.8)
