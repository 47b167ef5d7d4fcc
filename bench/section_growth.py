# SPDX-License-Identifier: Apache-2.0
"""What things cost as tables grow, and as dispatchers do. Times are medians of single calls, taken in the database, so that
neither the disk nor the network is measured."""

import contextlib

import section_pipeline
from harness import interleave, wait_until
from section_permits import load_limits

MOST = 1.3
NOBODY = "'00000000-0000-4000-8000-000000000000'"

# The jobs go back at once, with the attempt refunded: the queue stays as it is.
CLAIM = (f"SELECT jsonb_agg(jsonb_build_object('job_id', job_id, 'token', token, 'error', 'bench', 'delay_ms', 0, 'refund', true)) INTO j "
         f"FROM camserver.job_claim('analyze', {NOBODY}, 10)", f"PERFORM camserver.job_fail({NOBODY}, j)")
ACQUIRE = ("j := camserver.lease_acquire('bench-' || i, '{0}')", "PERFORM camserver.lease_release('bench-' || i, (j->>'lease_id')::uuid)")
PERMIT = (f"j := camserver.permit_exchange({NOBODY}, jsonb_build_object('release', '[]'::jsonb, 'cancel', '[]'::jsonb, 'ask', jsonb_build_array(jsonb_build_object("
          "'id', gen_random_uuid(), 'model', '{0}', 'caller', 'bench', 'wait_ms', 60000))))",
          f"PERFORM camserver.permit_cancel(jsonb_build_array((j->'answers'->0) || jsonb_build_object('keep', false)), {NOBODY})")
PAGE = ("j := camserver.event_list(p_limit => 50, p_cursor => {0})", "")


def median_us(bench, call, *args, database="camserver"):
    """Microseconds of one call, each in a transaction of its own; what undoes it is not counted."""
    timed, undo = (part.format(*args) for part in call)
    rounds = int(60 * bench.seconds)
    with contextlib.closing(bench.connect(database)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE t (us numeric)")
        cursor.execute(f"""DO $do$ DECLARE a timestamptz; b timestamptz; j jsonb; BEGIN
            FOR i IN 1..{rounds} LOOP
                a := clock_timestamp();
                {timed};
                b := clock_timestamp();
                {undo}{';' if undo else ''}
                INSERT INTO t VALUES (extract(epoch FROM b - a) * 1e6);
                COMMIT;
            END LOOP;
        END $do$""")
        cursor.execute("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY us::float8) FROM t")
        return cursor.fetchone()[0]


def add_jobs(bench, n, status):
    bench.sql("""INSERT INTO camserver.inference_jobs (status, camera_id, captured_at, created_at, available_at, attempt, finished_at)
        SELECT %s, 'bench' || 1 + g %% 16, now(), now(), now() + interval '1 day', 1, CASE WHEN %s = 'done' THEN now() END
        FROM generate_series(1, %s) g""", status, status, n)
    bench.sql("VACUUM ANALYZE camserver.inference_jobs")


def claims(bench):
    """A second database stays small, so that small and grown can be measured in turn."""
    add_jobs(bench, 1000, "queued")
    bench.sql("DROP DATABASE IF EXISTS growth_small WITH (FORCE)", database="postgres")
    bench.sql("CREATE DATABASE growth_small TEMPLATE camserver", database="postgres")
    for name, *added in (("1,000,000 queued", (1_000_000, "queued")), ("1,000 queued, 1,000,000 done", (1000, "queued"), (1_000_000, "done")),
                         ("1,000 queued, 100,000 in backoff", (1000, "queued"), (100_000, "waiting"))):
        bench.sql("TRUNCATE camserver.inference_jobs")
        for n, status in added:
            add_jobs(bench, n, status)
        got = interleave(bench, small=lambda: median_us(bench, CLAIM, database="growth_small"), grown=lambda: median_us(bench, CLAIM))
        small = bench.report.row("claim of 10, 1,000 queued", got["small"], "us")
        bench.report.ratio(f"claim, {name} / 1,000 queued", bench.report.row(f"claim of 10, {name}", got["grown"], "us") / small, most=MOST)
    bench.sql("TRUNCATE camserver.inference_jobs")


def leases(bench):
    for server, n in (("few", 10), ("crowded", 10_000)):
        bench.sql("SELECT camserver.stream_server_set(%s, '{\"total_units\": 1000000, \"modal_ttl_sec\": 86400, \"heartbeat_grace_sec\": 7200}')", server)
        bench.sql("SELECT camserver.camera_set(%s, jsonb_build_object('stream_server_id', %s))", server, server)
        bench.sql("SELECT count(camserver.lease_acquire(%s || g, %s)) FROM generate_series(1, %s) g", server, server, n)
    for table in ("modal_leases", "modal_lease_log", "stream_usage"):
        bench.sql(f"VACUUM ANALYZE camserver.{table}")
    got = interleave(bench, few=lambda: median_us(bench, ACQUIRE, "few"), crowded=lambda: median_us(bench, ACQUIRE, "crowded"))
    few = bench.report.row("acquire, 10 leases", got["few"], "us")
    bench.report.ratio("acquire, 10,000 leases / 10", bench.report.row("acquire, 10,000 leases", got["crowded"], "us") / few, most=MOST)


def permits(bench):
    load_limits(bench, 2)
    for model, waiters in (("bench1", 1), ("bench2", 1000)):
        bench.camctl("limits", "set", "model", model, "concurrent=1")
        for n in range(waiters + 1):  # the first holds the one permit
            bench.sql("""SELECT camserver.permit_acquire(gen_random_uuid(), jsonb_build_array(jsonb_build_object(
                'id', gen_random_uuid(), 'model', %s, 'caller', 'c' || %s, 'wait_ms', 3000000)))""", model, n)
    bench.sql("UPDATE camserver.permit_waiters SET seen_until = now() + interval '1 day'")
    bench.sql("UPDATE camserver.permits SET expires_at = now() + interval '1 day'")
    for table in ("permits", "permit_waiters", "buckets", "permit_turns"):
        bench.sql(f"VACUUM ANALYZE camserver.{table}")
    got = interleave(bench, one=lambda: median_us(bench, PERMIT, "bench1"), many=lambda: median_us(bench, PERMIT, "bench2"))
    one = bench.report.row("permit asked for, 1 waiter", got["one"], "us")
    bench.report.ratio("permit, 1,000 waiters / 1", bench.report.row("permit asked for, 1,000 waiters", got["many"], "us") / one, most=MOST)


def events(bench):
    bench.sql("""INSERT INTO camserver.events (camera_id, start_at, last_seen_at, end_at, state, close_reason, primary_event, severity_max,
            retention_class, created_at, updated_at)
        SELECT 'bench' || 1 + g % 16, now() - g * interval '1 s', now() - g * interval '1 s', now() - g * interval '1 s', 'closed', 'gap', 'human', 1,
            'normal', now(), now() FROM generate_series(1, 1000000) g""")
    bench.sql("VACUUM ANALYZE camserver.events")
    cursor = None
    for _ in range(999):
        cursor = bench.one("SELECT camserver.event_list(p_limit => 50, p_cursor => %s)->>'next'", cursor)
    got = interleave(bench, first=lambda: median_us(bench, PAGE, "NULL"), far=lambda: median_us(bench, PAGE, f"'{cursor}'"))
    first = bench.report.row("events, page 1 of 1,000,000 events", got["first"], "us")
    bench.report.ratio("events, page 1,000 / page 1", bench.report.row("events, page 1,000", got["far"], "us") / first, most=MOST)
    bench.sql("TRUNCATE camserver.events CASCADE")


def dispatchers(bench):
    """All on one machine: what is asked for is that more of them do no harm."""
    bench.sql("SELECT camserver.setting_set('analyze_inflight', '16')")
    n = int(2000 * bench.seconds)

    def crowd(size):
        def measure():
            section_pipeline.fill(bench, n)
            for i in range(1, size + 1):
                bench.spawn_dispatcher(i)
            wait_until(lambda: section_pipeline.done(bench), pause=0.1)
            bench.stop_dispatchers()
            return section_pipeline.rate(bench, n)
        return measure

    sizes = (1, 2, 4, 8, 16)
    with bench.instant_node():
        got = interleave(bench, **{str(size): crowd(size) for size in sizes})
    rates = [bench.report.row(f"jobs/s with {size} dispatcher{'s' if size > 1 else ''}", got[str(size)], "jobs/s") for size in sizes]
    bench.report.ratio("16 dispatchers / the best number of them", rates[-1] / max(rates), least=0.7)


def run(bench):
    for part in (claims, leases, permits, events, dispatchers):
        part(bench)
