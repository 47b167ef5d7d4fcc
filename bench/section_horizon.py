# SPDX-License-Identifier: Apache-2.0
"""A transaction left open under load: dead rows cannot be removed while it lasts. Jobs a second before, during, after."""

import contextlib
import os
import time

from harness import wait_until
from section_pipeline import INFLIGHT, done, fill

OPEN_SECONDS = float(os.environ.get("BENCH_HORIZON_SECONDS", 300))
STAGES = 3


def finished(bench):
    return bench.one("SELECT count(*) FROM camserver.frames WHERE analyzed")


def run(bench):
    """A steady load: frames are put back into the queue as they are done, at half of what the dispatcher can do at most."""
    bench.sql("SELECT camserver.setting_set('analyze_inflight', %s)", str(INFLIGHT))
    pace = 20_000
    rates = {"before": [], "during": [], "after": []}

    def stretch(name, seconds):
        """Whole drains of the same frames, one after the other, for so long."""
        end = time.monotonic() + seconds
        while True:
            bench.sql("""INSERT INTO camserver.inference_jobs (camera_id, frame_id, captured_at, created_at, available_at)
                SELECT camera_id, frame_id, captured_at, now(), now() FROM camserver.frames ORDER BY frame_id""")
            began = time.monotonic()
            wait_until(lambda: done(bench), pause=0.1, timeout=300)
            rates[name].append(pace / (time.monotonic() - began))
            if time.monotonic() >= end and len(rates[name]) >= STAGES:
                return

    with bench.instant_node():
        fill(bench, pace)
        bench.spawn_dispatcher(1)
        wait_until(lambda: done(bench), timeout=300)
        stretch("before", bench.seconds)
        with contextlib.closing(bench.connect()) as holder:
            holder.autocommit = False
            holder.cursor().execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM camserver.cameras")
            stretch("during", OPEN_SECONDS)
            holder.rollback()
        bench.sql("VACUUM camserver.inference_jobs")
        bench.sql("VACUUM camserver.frames")
        stretch("after", bench.seconds)
        bench.stop_dispatchers()
    row = bench.report.row
    before = row("before", rates["before"], "jobs/s")
    row(f"during, first {STAGES} drains", rates["during"][:STAGES], "jobs/s")
    last = row(f"during, last {STAGES} drains of {OPEN_SECONDS:.0f} s", rates["during"][-STAGES:], "jobs/s")
    after = row("after", rates["after"], "jobs/s")
    bench.report.ratio("jobs with the horizon held / before", last / before)
    bench.report.ratio("jobs after / before", after / before)
