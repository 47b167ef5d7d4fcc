# SPDX-License-Identifier: Apache-2.0
"""The pools with Docker's own engine, where it is installed; the other tests have them with podman's."""

import os
import shutil

import test_pools
from harness import test
from pools import dockerd
from test_pool_memory import out_of_memory


@test(fronts=None)
def a_pool_in_docker_s_own_engine(stack):
    if os.getuid() != 0 or not shutil.which("dockerd"):
        print("# skipped: there is no dockerd, or nobody to run it")
        return
    with dockerd(stack) as engine:
        test_pools.life_of_a_pool(stack, "docker")
        test_pools.killed_worker(stack, "docker")
        test_pools.killed_manager(stack, "docker")
        assert "out of memory" in out_of_memory(stack), "this engine knows"
        assert engine.service.poll() is None
