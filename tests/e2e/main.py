# SPDX-License-Identifier: Apache-2.0
"""main.py STATE BUILD [NAME]: every test_*.py beside this file, against the running stack in STATE."""

import importlib
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True

import harness

for name in sorted(n[:-3] for n in os.listdir(here) if n.startswith("test_") and n.endswith(".py")):
    importlib.import_module(name)
sys.exit(harness.main(harness.Stack(sys.argv[1], os.path.dirname(os.path.dirname(here))), *sys.argv[2:]))
