# SPDX-License-Identifier: Apache-2.0
"""Last of all: the programs are stopped, which lets leaks show, and no sanitizer may have said a word."""

import os

from harness import test


@test(fronts=None, needs=("sanitized",))
def no_sanitizer_complained(stack):
    stack.stack("stop", "dispatcher")
    stack.stack("stop", "manager")
    stack.stack("stop", "fcgi")
    reports = [n for n in os.listdir(f"{stack.directory}/log") if n.startswith(("asan", "ubsan"))]
    assert not reports, open(f"{stack.directory}/log/{reports[0]}").read()[:3000]
