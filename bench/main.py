# SPDX-License-Identifier: Apache-2.0
"""bench/run, once everything is built: main.py TOP STATE [SECTION...]"""

import importlib
import signal
import sys
import traceback

from harness import Bench

SECTIONS = ("pipeline", "kernel", "pickup", "leases", "permits", "gateway", "ingest", "growth", "cost", "horizon")


def main(top, state, *wanted):
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        sys.exit(f"There is no section {unknown[0]}; sections: {' '.join(SECTIONS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # nothing of it stays behind
    bench = Bench(top, state)
    failed = []
    try:
        for name in wanted or SECTIONS:
            section = importlib.import_module(f"section_{name}")
            bench.report.begin(name)
            try:
                bench.up()
                section.run(bench)
            except Exception:
                traceback.print_exc()
                failed.append(name)
                del bench.report.sections[name]
    finally:
        bench.close()
        bench.report.write()
    if failed:
        print(f"\nNot measured: {' '.join(failed)}")
    return 0 if not failed and bench.report.all_hold() else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
