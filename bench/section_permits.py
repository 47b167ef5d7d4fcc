# SPDX-License-Identifier: Apache-2.0
"""Permits: 32 callers of one process, acquire and release, against a rate limiter's one consume."""

import json

from harness import interleave

CALLERS = 32
MANY = 1000


def load_limits(bench, models, base_url="http://127.0.0.1:1"):
    """Models bench1 ... with limits that are checked and never reached."""
    limits = {"requests": 1_000_000, "window_ms": 1000, "concurrent": 1_000_000}
    config = {"rate_limit": limits, "providers": {"bench": {"provider": "openai", "base_url": base_url, "models": [
        {"name": f"bench{n}", "model_name": "m"} for n in range(1, models + 1)]}}}
    with open(bench.file("limits.json"), "w") as f:
        json.dump(config, f)
    bench.camctl("limits", "load", bench.file("limits.json"))


def redis(bench):
    return bench.running("redis-server", "--bind", "127.0.0.1", "--port", bench.redis, "--dir", bench.stack_dir, "--save", "",
                         "--appendonly", "yes", "--appendfsync", "everysec", "--daemonize", "no", port=bench.redis,
                         stdout=open(bench.file("redis.log"), "w"))


def run(bench):
    load_limits(bench, MANY)

    def ours(models):
        def measure():
            result = bench.json_of(bench.program("permit_load"), CALLERS, bench.seconds, models,
                                   f"host={bench.host} user=camserver_api dbname=camserver")
            assert result["refused"] == 0, result
            return result["rate"]
        return measure

    def theirs(store, keys):
        return lambda: bench.peer("limiter.mjs", store, keys, bench.seconds, CALLERS)["rate"]

    with redis(bench):
        for models in (1, MANY):
            got = interleave(bench, postgres=theirs("postgres", models), redis=theirs("redis", models), ours=ours(models))
            what = f"{models:,} model{'s' if models > 1 else ''}"
            row = bench.report.row
            postgres = row(f"rate-limiter-flexible on PostgreSQL, consume, {what}", got["postgres"], "ops/s")
            in_redis = row(f"rate-limiter-flexible on Redis, consume, {what}", got["redis"], "ops/s")
            pairs = row(f"camserver, acquire + release, {what}", got["ours"], "pairs/s")
            bench.report.ratio(f"permits / consume on PostgreSQL, {what}", pairs / postgres, least=3 if models == 1 else 1.5)
            bench.report.ratio(f"permits / consume on Redis, {what} (aim 0.5)", pairs / in_redis)
