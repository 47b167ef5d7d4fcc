# SPDX-License-Identifier: Apache-2.0
"""The overload valve with the real dispatchers, which read their host's load from a directory of the test's."""

import re

from harness import test, wait_until


def set_load(stack, memory_percent=30, swap_mb=0):
    total, swap = 16_000_000, 2_000_000
    text = (f"MemTotal: {total} kB\nMemFree: 1 kB\nMemAvailable: {int(total * (100 - memory_percent) / 100)} kB\n"
            f"SwapTotal: {swap} kB\nSwapFree: {swap - swap_mb * 1024} kB\n")
    with open(f"{stack.directory}/proc/meminfo", "w") as f:
        f.write(text)


def health(stack):
    """Of nothing, until the first sample."""
    rows = stack.sql("SELECT level, overloaded, reason FROM camserver.health JOIN camserver.stream_servers s USING (host)"
                     " WHERE s.stream_server_id = 'default'")
    return rows[0] if rows else (None, False, None)


@test()
def memory_trips_the_valve_and_it_recovers_with_hysteresis(stack, front):
    stack.camctl("camera", "add", "valve")
    stack.camctl("setting", "set", "recover_hold_sec", "1")
    try:
        set_load(stack, memory_percent=30)
        wait_until(lambda: health(stack)[0] == "normal", what="a normal sample")
        mine = lambda: next(s for s in front.client().get("/api/system/status").json["servers"]
                            if s["stream_server_id"] == "default")
        assert mine()["level"] == "normal"
        set_load(stack, memory_percent=80)
        wait_until(lambda: health(stack)[0] == "warning", what="the warning")
        front.client().lease("valve").expect(201)
        set_load(stack, memory_percent=95)
        wait_until(lambda: health(stack)[1], what="the overload")
        assert "memory 95.0 % > 90 %" in health(stack)[2]
        front.client().lease("valve").expect(503, "SYSTEM_OVERLOAD")
        status = front.client().get("/api/system/status").json
        assert status["healthy"] is False and status["level"] == "overload" and round(mine()["memory_percent"]) == 95
        set_load(stack, memory_percent=80)  # below the trip, above the recovery limit
        wait_until(lambda: "not yet low enough" in (health(stack)[2] or ""), what="the hold")
        front.client().lease("valve").expect(503, "SYSTEM_OVERLOAD")
        set_load(stack, memory_percent=60)
        wait_until(lambda: not health(stack)[1], what="the recovery")
        front.client().lease("valve").expect(201)
    finally:
        stack.camctl("setting", "set", "recover_hold_sec", "60")
        set_load(stack)


@test(fronts=None)
def swap_trips_the_valve_too_and_the_hold_time_is_kept(stack):
    stack.camctl("setting", "set", "recover_hold_sec", "5")
    try:
        set_load(stack, swap_mb=150)
        wait_until(lambda: health(stack)[1], what="the overload")
        assert "swap" in health(stack)[2]
        set_load(stack)
        wait_until(lambda: "too soon" in (health(stack)[2] or ""), what="the hold")
        wait_until(lambda: not health(stack)[1], what="the recovery")
    finally:
        stack.camctl("setting", "set", "recover_hold_sec", "60")
        set_load(stack)
    held = stack.one("SELECT max(extract(epoch FROM h.sampled_at - h.last_overload_at)) FROM camserver.system_health h"
                     " JOIN camserver.stream_servers s USING (host) WHERE s.stream_server_id = 'default'")
    assert held > 5, held


@test(fronts=None)
def two_dispatchers_of_one_host_agree(stack):
    last = "SELECT seq, sampled_by FROM camserver.system_health h JOIN camserver.stream_servers s USING (host) WHERE s.stream_server_id = 'default'"
    first, seen = wait_until(lambda: stack.sql(last), what="a sample")[0][0], set()

    def five():
        seq, by = stack.sql(last)[0]
        if seq > first:  # the first may be of one that an earlier test stopped
            seen.add(by)
        return seq >= first + 5
    wait_until(five, what="five samples")
    assert 1 <= len(seen) <= 2
    assert stack.one("SELECT count(*) FROM camserver.dispatcher_list WHERE state = 'alive'") >= 2


@test(fronts=None)
def a_load_that_cannot_be_read_goes_stale_and_refuses_nothing(stack):
    import os
    _, camera = stack.server()
    os.rename(f"{stack.directory}/proc/meminfo", f"{stack.directory}/proc/gone")
    try:
        stack.camctl("setting", "set", "health_stale_sec", "3")
        wait_until(lambda: health(stack)[0] == "stale", what="staleness")
        client = stack.fronts["lighttpd"].client()
        status = client.get("/api/system/status").json
        assert status["healthy"] is False and status["level"] in ("stale", "overload"), status
        stack.camctl("camera", "add", "valve")
        client.lease("valve").expect(201)
    finally:
        os.rename(f"{stack.directory}/proc/gone", f"{stack.directory}/proc/meminfo")
        stack.camctl("setting", "set", "health_stale_sec", "30")
    wait_until(lambda: health(stack)[0] == "normal", what="a fresh sample")
    assert re.search(r"cannot sample the host's load: .*meminfo", stack.log("dispatcher1") + stack.log("dispatcher2"))
