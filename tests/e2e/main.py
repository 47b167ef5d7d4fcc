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

for name in sorted(n[:-3] for n in os.listdir(directory) if n.startswith("test_") and n.endswith(".py")):
    importlib.import_module(name)
sys.exit(harness.main(harness.Stack(state, os.path.dirname(os.path.dirname(here))), *rest))
