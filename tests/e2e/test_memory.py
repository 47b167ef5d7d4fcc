# SPDX-License-Identifier: Apache-2.0
"""Long running: the memory of a process stays flat, leases do not pile up."""

import json
import os
import re
import subprocess

from harness import test, wait_until

# The whole length with SOAK=1 (./check soak); a shorter one every day.
REQUESTS, FIRST = (200_000 if os.environ.get("SOAK") else 20_000), 10_000

LUA = """
local n = 0
request = function()
    n = n + 1
    local kind = n % 4
    if kind == 0 then return wrk.format("GET", "/api/system/status") end
    if kind == 1 then return wrk.format("POST", "/api/modal/lease", {["Content-Type"] = "application/json", ["Cookie"] = cookie},
        '{"camera_id":"' .. camera .. '"}') end
    if kind == 2 then return wrk.format("POST", "/api/modal/lease", {["Content-Type"] = "application/json"}, '{"camera_id":') end
    return wrk.format("POST", "/api/modal/lease/00000000-0000-4000-8000-000000000000/heartbeat")
end
init = function(args) camera = args[1]; cookie = args[2] end
"""


def resident_kb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read()).group(1))


def fire(stack, port, camera, cookie, wanted):
    """Requests of all kinds until at least so many have been answered; returns how many were."""
    script = f"{stack.directory}/load.lua"
    with open(script, "w") as f:
        f.write(LUA)
    done = 0
    while done < wanted:
        out = subprocess.run(["wrk", "-t1", "-c4", "-d5", "-s", script, f"http://127.0.0.1:{port}/", "--", camera, cookie],
                             capture_output=True, text=True, timeout=60).stdout
        done += int(re.search(r"(\d+) requests in", out).group(1))
    return done


@test(fronts=None, needs=("plain",))
def many_requests_through_one_process_leave_its_memory_flat(stack):
    front = stack.fronts["lighttpd"]
    server, camera = stack.server()
    viewer = front.client()
    viewer.lease(camera).expect(201)
    settings = open(f"{stack.directory}/settings").read()
    try:
        with open(f"{stack.directory}/settings", "w") as f:
            f.write(re.sub(r"FCGI_WORKERS=\d+", "FCGI_WORKERS=1", settings))
        stack.stack("stop", "fcgi")
        stack.stack("start", "fcgi")
        pid = wait_until(lambda: stack.workers("fcgi"))[0]
        first = fire(stack, front.port, camera, viewer.cookie, FIRST)
        before = resident_kb(pid)
        total = first + fire(stack, front.port, camera, viewer.cookie, REQUESTS - first)
        after = resident_kb(pid)
        assert stack.workers("fcgi") == [pid], "the process did not survive"
    finally:
        with open(f"{stack.directory}/settings", "w") as f:
            f.write(settings)
        stack.stack("stop", "fcgi")
        stack.stack("start", "fcgi")
    print(f"# {before} kB after {first} requests, {after} kB after {total}")
    assert after <= before + 512, f"{before} kB grew to {after} kB"
    assert stack.one("SELECT count(*) FROM camserver.modal_leases WHERE stream_server_id = %s", server) == 1
