# SPDX-License-Identifier: Apache-2.0
"""The pools with Docker's own engine, where it is installed; ./check e2e has them with podman's."""

import os
import shutil

from harness import TESTS, test

before = list(TESTS)
import test_pools
from pools import dockerd

TESTS[:] = before  # only some of their bodies are wanted


@test(fronts=None)
def a_pool_in_docker_s_own_engine(stack):
    if os.getuid() != 0 or not shutil.which("dockerd"):
        print("# skipped: there is no dockerd, or nobody to run it")
        return
    with dockerd(stack):
        test_pools.life_of_a_pool(stack, "docker")
        test_pools.killed_worker(stack, "docker")
        test_pools.killed_manager(stack, "docker")
