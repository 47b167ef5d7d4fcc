# SPDX-License-Identifier: Apache-2.0
"""doc/openapi.yaml: finds the operation of a request and checks its answer. The harness calls check() for every answer."""

import functools
import json
import os
import re

import jsonschema
import yaml

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../doc/openapi.yaml")


@functools.lru_cache(None)
def document():
    with open(PATH) as f:
        return yaml.load(f, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def follow(part):
    while "$ref" in part:
        found = document()
        for word in part["$ref"].removeprefix("#/").split("/"):
            found = found[word]
        part = found
    return part


@functools.lru_cache(None)
def patterns():
    return [(re.compile("^" + re.sub(r"\{[a-z_]+\}", "[^/]+", re.escape(path).replace(r"\{", "{").replace(r"\}", "}")) + "$"), item)
            for path, item in document()["paths"].items()]


@functools.lru_cache(4096)
def operation(method, path):
    """The operation, or None for what the document does not know."""
    for pattern, item in patterns():
        if pattern.match(path):
            return item.get("get" if method == "HEAD" else method.lower())
    return None


VALIDATORS = {}


def schema_validator(schema):
    key = json.dumps(schema, sort_keys=True)
    if key not in VALIDATORS:
        VALIDATORS[key] = jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver.from_schema(document()))
    return VALIDATORS[key]


def check(method, target, status, content_type, body):
    """Raises if the answer is not as the document has it. What the web server answers by itself is not the program's."""
    kind = (content_type or "").split(";")[0].strip()
    path = target.split("?")[0]
    what = operation(method, path)
    if status >= 400 and kind != "application/json":
        return
    if what is None:
        # No such address or method: still our error, unless it is a file of the web server's.
        if kind == "application/json" and path.startswith(("/api/", "/media/", "/v1/")):
            assert status >= 400, f"doc/openapi.yaml does not know {method} {path}, which answers {status}"
            verify(schema_validator({"$ref": "#/components/schemas/Error"}), method, path, status, body)
        return
    answer = what["responses"].get(str(status), what["responses"]["default"] if status >= 400 else None)
    assert answer is not None, f"doc/openapi.yaml does not know status {status} of {method} {path}"
    content = follow(answer).get("content", {})
    if method == "HEAD" or not content or "*/*" in content:
        return
    assert kind in content, f"doc/openapi.yaml does not know {kind!r} as answer {status} of {method} {path}"
    if kind == "application/json":
        verify(schema_validator(content[kind]["schema"]), method, path, status, body)


def verify(validate, method, path, status, body):
    error = jsonschema.exceptions.best_match(validate.iter_errors(json.loads(body)))
    assert error is None, (f"{method} {path} {status} is not as doc/openapi.yaml has it: {error.message} at "
                           f"{'/'.join(map(str, error.absolute_path))}; {body[:300]!r}")
