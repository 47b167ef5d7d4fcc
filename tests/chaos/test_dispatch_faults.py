# SPDX-License-Identifier: Apache-2.0
"""What takes the dispatcher's whole time-out to show."""

from frames import camera, frame, settled
from harness import test, wait_until
from pools import reason, rows
from test_dispatch_pools import asks, pooled, write


@test(fronts=None)
def a_call_that_times_out_evicts_its_worker(stack):
    cam = camera(stack)
    with pooled(stack, script=[{"match": {"path": "/v1/analyze", "camera_id": cam}, "hang": True, "times": 1}], max_capacity=1) as (pool, path):
        name = frame(stack, cam)
        wait_until(lambda: rows(stack, pool, "in_use") and asks(stack, pool), 60, "a call that hangs")
        first, = rows(stack, pool, "in_use")
        write(path)
        assert settled(stack, name, timeout=90)[0][0] == "done"
        assert first not in rows(stack, pool) and "out" in reason(stack, first), reason(stack, first)
