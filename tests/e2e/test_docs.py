# SPDX-License-Identifier: Apache-2.0
"""The documents' promises: each query of doc/QUERIES.md runs, and as the role it says; doc/openapi.yaml is sound and knows
every route and every error. (That answers are as it says is checked with every request of every test.)"""

import re

import jsonschema

import openapi
from harness import test


@test(fronts=None)
def every_query_of_the_documents_runs(stack):
    text = open(f"{stack.source}/doc/QUERIES.md").read()
    parts = re.findall(r"^## (\d+)\. (.+?)\n\n```sql\n(.+?)```", text, re.M | re.S)
    assert [int(n) for n, _, _ in parts] == list(range(1, 21)), [n for n, _, _ in parts]
    ops = stack.connect("camserver_ops")
    try:
        for number, title, query in parts:
            with (stack.connect() if "(owner)" in title else ops).cursor() as c:
                c.execute(query)
                c.fetchall()
                assert c.description, title
    finally:
        ops.close()


def parts_of(node, where="#"):
    """Every object in the document with its place."""
    if isinstance(node, dict):
        yield where, node
        for key, value in node.items():
            yield from parts_of(value, f"{where}/{key}")
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from parts_of(value, f"{where}/{i}")


@test(fronts=None)
def the_description_of_the_API_is_sound(stack):
    doc = openapi.document()
    assert doc["openapi"].startswith("3.1.") and doc["info"]["version"] == open(f"{stack.source}/VERSION").read().strip()
    tags, schemes = {t["name"] for t in doc["tags"]}, set(doc["components"]["securitySchemes"])
    for where, part in parts_of(doc):
        if "$ref" in part:
            assert openapi.follow(part) is not None, where
        if where.startswith("#/components/schemas/") and where.count("/") == 3 or where.endswith("/schema"):
            jsonschema.Draft202012Validator.check_schema(part)
    for path, item in doc["paths"].items():
        named = set(re.findall(r"\{([a-z_]+)\}", path))
        for method, what in item.items():
            if method == "parameters":
                continue
            assert method in ("get", "put", "post", "delete") and what["summary"] and set(what["tags"]) <= tags, (path, method)
            assert "default" in what["responses"] and any(s.startswith("2") for s in what["responses"]), (path, method)
            assert all(set(s) <= schemes for s in what.get("security", doc["security"])), path
            parameters = [openapi.follow(p) for p in item.get("parameters", []) + what.get("parameters", [])]
            assert {p["name"] for p in parameters if p["in"] == "path"} == named, path
            assert all(p["required"] for p in parameters if p["in"] == "path"), path


@test(fronts=None)
def the_description_of_the_API_knows_every_route_and_every_error(stack):
    routes = []
    for name in ("routes.c", "gateway_routes.c"):
        routes += re.findall(r'^    \{"([A-Z]+)", "(/[^"]*)"', open(f"{stack.source}/fcgi/{name}").read(), re.M)
    assert len(routes) > 30
    missing = [f"{method} {path}" for method, path in routes
               if method.lower() not in openapi.document()["paths"].get(path, {})]
    assert not missing, f"doc/openapi.yaml lacks {missing}"
    codes = re.findall(r'^    \{"([A-Z_]+)", \d+', open(f"{stack.source}/fcgi/errors.c").read(), re.M)
    assert sorted(codes) == sorted(openapi.document()["components"]["schemas"]["ErrorCode"]["enum"])


@test()
def what_the_console_reads_is_as_described(stack, front):
    server, camera = stack.server(total_units=20)
    operator = front.client(token=stack.token("operator"))
    for page in ("live", "events", "operations"):
        operator.get(f"/api/console/{page}").expect(200)
    event = stack.one("INSERT INTO camserver.events (camera_id, start_at, last_seen_at, primary_event, severity_max, retention_class,"
                      " created_at, updated_at) VALUES (%s, now(), now(), 'human', 1, 'normal', now(), now()) RETURNING event_uuid::text", camera)
    operator.get(f"/api/console/events/{event}").expect(200)
    done = operator.request("PUT", f"/api/servers/{server}", {"total_units": 30}).expect(200)
    assert done["server"]["total_units"] == 30
    operator.request("PUT", "/api/servers/no_such_server", {"total_units": 30}).expect(404, "UNKNOWN_SERVER")


@test(fronts=None)
def every_alert_has_its_line_in_the_manual(stack):
    alerts = re.findall(r"- alert: (\w+)", open(f"{stack.source}/contrib/prometheus/camserver.rules.yml").read())
    explained = re.findall(r"^\| `(Camserver\w+)` \|", open(f"{stack.source}/doc/OPERATIONS.md").read(), re.M)
    assert len(alerts) > 10 and alerts == explained, set(alerts) ^ set(explained)
