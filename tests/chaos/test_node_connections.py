# SPDX-License-Identifier: Apache-2.0
"""Ten thousand analyses over four nodes: few connections, used again and again."""

import contextlib
import os
import re

from frames import camera, result, rules
from harness import test, wait_until
from test_dispatch_nodes import node, without_first
from test_frames_survive import feed, left

CALLS = 2 * int(os.environ.get("CHAOS_FRAMES", 5000))
NODES, IDLE_PER_NODE = 4, 32


def counter(stack, name):
    text = stack.fronts["lighttpd"].client().get("/metrics").body.decode()
    return int(float(re.search(rf"^{name} (\S+)$", text, re.M).group(1)))


@test(fronts=None)
def ten_thousand_calls_over_four_nodes_reuse_their_connections(stack):
    rule = result("cam*", "none", 0, detected=False)
    cams = [camera(stack) for _ in range(10)]
    stack.sql("SELECT camserver.setting_set('camera_queue_max', %s)", str(CALLS))
    with contextlib.ExitStack() as running:
        names = [running.enter_context(node(stack, rule)) for _ in range(NODES)]
        running.enter_context(without_first(stack))
        before = counter(stack, "camserver_node_requests_total"), counter(stack, "camserver_node_connections_opened_total")
        for _ in range(2):
            feed(stack, cams)
            wait_until(lambda: left(stack, cams) == 0, timeout=300, what="the analyses")
        calls, opened = (counter(stack, n) - b for n, b in zip(
            ("camserver_node_requests_total", "camserver_node_connections_opened_total"), before))
        each = [n.stats()["analyze"] for n in names]
        reused = 100 * (calls - opened) / calls
        print(f"# {calls} calls over {NODES} nodes {each}: {opened} connections opened, {reused:.2f} % of the calls on one that was there")
        assert calls >= CALLS and sum(each) >= CALLS and min(each) > 0, (calls, each)
        assert opened <= NODES * IDLE_PER_NODE and reused > 99, (opened, reused)
    rules(stack)
