# SPDX-License-Identifier: Apache-2.0
"""A minute of 200 acquire and release cycles a second on a warm pool."""

import os

from harness import TESTS, test

before = list(TESTS)
import test_pools

TESTS[:] = before  # only the load is wanted of these


@test(fronts=None)
def a_minute_of_acquire_and_release_leaks_nothing(stack):
    seconds = float(os.environ.get("POOL_LOAD_SEC", "60"))
    assert test_pools.load(stack, seconds, 200) > 0
