# SPDX-License-Identifier: Apache-2.0
"""The official openai and ollama npm clients, unchanged, against the gateway."""

import json
import os
import shutil

from harness import test
from test_gateway import provider

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients")


def installed(stack):
    """The clients from the registry, once for each checkout."""
    place = os.path.join(os.path.dirname(stack.directory), "npm")
    if not os.path.isdir(os.path.join(place, "node_modules", "openai")):
        os.makedirs(place, exist_ok=True)
        shutil.copy(os.path.join(HERE, "package.json"), place)
        done = stack.run("npm", "install", "--no-audit", "--no-fund", "--prefix", place, cwd=place)
        assert done.returncode == 0, done.stdout + done.stderr
    shutil.copy(os.path.join(HERE, "package.json"), place)
    shutil.copy(os.path.join(HERE, "clients.mjs"), place)
    return place


@test(needs=("plain",))
def the_official_clients_work_unchanged(stack, front):
    place = installed(stack)
    with provider(stack) as openai, provider(stack, "ollama") as ollama, \
            provider(stack, requests=1, window_ms=1500, concurrent=5) as limited:
        done = stack.run("node", os.path.join(place, "clients.mjs"), f"http://127.0.0.1:{front.port}", stack.token("viewer"),
                         openai.models[0], ollama.models[0], limited.models[0], cwd=place)
        assert done.returncode == 0, done.stdout + done.stderr
        seen = json.loads(done.stdout)
        assert openai.models[0] in seen["models"] and ollama.models[0] in seen["tags"], seen
        assert seen["chat"] == seen["ollamaChat"] == seen["generate"] == "Hello world", seen
        assert seen["chatStream"] == seen["ollamaStream"] == seen["generateStream"] == ["Hello", " world"], seen
        assert seen["embedding"] == [0.5, 0.25], seen
        assert seen["retried"] == ["Hello world"] * 2, seen
        assert seen["refused"] == {"rate": True, "status": 429, "code": "RATE_LIMITED", "type": "rate_limit_error"}, seen
        assert seen["ollamaRefused"]["status"] == 429 and seen["ollamaRefused"]["error"], seen
        assert stack.one("SELECT count(*) FROM camserver.permit_calls WHERE model = %s AND outcome = 'refused'", limited.models[0]) >= 3
