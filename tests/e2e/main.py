# SPDX-License-Identifier: Apache-2.0
"""main.py DIRECTORY STATE BUILD [NAME]: every test_*.py of the directory, against the running stack in STATE."""

import importlib
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
directory, state, *rest = sys.argv[1:]
sys.path[:0] = [here, directory]
sys.dont_write_bytecode = True

import harness

names = sorted(n[:-3] for n in os.listdir(directory) if n.startswith("test_") and n.endswith(".py"))
for name in names:
    importlib.import_module(name)
# What those use of other directories' tests brings tests along that are not asked for.
harness.TESTS[:] = [t for t in harness.TESTS if t[0].__module__ in names]
sys.exit(harness.main(harness.Stack(state, os.path.dirname(os.path.dirname(here))), *rest))
