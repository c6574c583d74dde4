"""The OpenAPI document compared with its server at the edges of each schema: the server must refuse what the document does
not allow, and nothing else."""

from __future__ import annotations

import json
import math
import re
from urllib.parse import quote, urlencode

import pytest
from conftest import make_remit, users
from served import serve

# A valid body for each schema of a request. The edges below replace its members, and add others.
BODIES = {
    "Run": {"code": "1"}, "Cell": {"code": "1"}, "NewSession": {}, "Explain": {}, "CallAnswer": {"result": 1},
    "QuestionAnswer": {"answer": "deny"}, "Plain": {"code": "1"},
    "NewCommand": {"argv": ["true"]}, "CommandInput": {"text": ""}, "TerminalSize": {"columns": 80, "rows": 24},
    "FusionCode": {"code": "1", "language": "python"}, "FusionNotebook": {"cells": ["1"]},
    "PistonJob": {"language": "python", "version": "*", "files": [{"content": "1"}]},
}  # fmt: skip
# Members inside of lists, with a valid list that the edges are put into.
INSIDE = {
    ("Run", "files"): {"path": "a", "text": ""}, ("Cell", "files"): {"path": "a", "base64": ""},
    ("Run", "tools"): {"name": "t"}, ("NewSession", "tools"): {"name": "t"}, ("PistonJob", "files"): {"content": "1"},
}  # fmt: skip
# Values of these types have more rules than a schema can state: names of fields, keywords of schemas, versions.
NOT_COMPARED = {
    ("Run", "policy"): dict, ("NewSession", "policy"): dict, ("Explain", "policy"): dict, ("Tool", "schema"): dict,
    ("PistonJob", "language"): str, ("PistonJob", "version"): str,
}  # fmt: skip
NASTY = (
    None, True, False, 0, 1, -1, 2, 0.5, 1.5, 1e-9, 10**6, 2**62, 2**63, -(2**63) - 1, 10**30, "", "x", "text.py", "1", "a\0b", "\0",
    "\x01\x7f", "ä", "..", ".", "/", "//", "a/../b", "../a", "/etc/x", "/workspace", "/workspace/", "/workspace/y", "./z", "__x",
    "9x", "QQ==", "QR==", "QQ", "Q", "=", "Q Q=", "0" * 300, [], {}, [[]], [{}], [None], ["x"], ["a\0b"], [1], [2**63], {"a\0b": 1},
    {"a\0b": "QQ=="}, {"q": None}, {"q": "QQ=="}, {"q": "?"}, {"": "QQ=="}, {"../q": "QQ=="}, {"q": 1}, {"q": [2**63]}, {"q": 2**63},
)  # fmt: skip


class Document:
    """The parts of JSON Schema that the document uses."""

    def __init__(self, document: dict):
        self.schemas = document["components"]["schemas"]
        self.known = {
            "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "pattern", "items", "minItems",
            "maxItems", "properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties", "anyOf", "oneOf",
            "not", "contentEncoding", "$ref",
        }  # fmt: skip

    def resolve(self, schema: dict) -> dict:
        return self.schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def allows(self, schema: dict, value: object) -> bool:
        schema = self.resolve(schema)
        assert self.known.issuperset(schema), schema
        return (
            self.has_type(schema.get("type"), value)
            and ("enum" not in schema or any(same(value, one) for one in schema["enum"]))
            and ("const" not in schema or same(value, schema["const"]))
            and ("anyOf" not in schema or any(self.allows(one, value) for one in schema["anyOf"]))
            and ("oneOf" not in schema or sum(self.allows(one, value) for one in schema["oneOf"]) == 1)
            and ("not" not in schema or not self.allows(schema["not"], value))
            and (isinstance(value, bool) or not isinstance(value, (int, float)) or self.allows_number(schema, value))
            and (not isinstance(value, str) or (len(value) >= schema.get("minLength", 0) and re.search(schema.get("pattern", ""), value) is not None))
            and (not isinstance(value, list) or self.allows_list(schema, value))
            and (not isinstance(value, dict) or self.allows_object(schema, value))
        )

    @staticmethod
    def has_type(wanted, value: object) -> bool:
        kinds = {"string": str, "boolean": bool, "null": type(None), "array": list, "object": dict}
        for kind in [wanted] if isinstance(wanted, str) else wanted or ["any"]:
            if kind == "any" or (kind in kinds and isinstance(value, kinds[kind])):
                return True
            if not isinstance(value, bool) and (kind == "number" and isinstance(value, (int, float)) or kind == "integer" and isinstance(value, int)):
                return True
        return False

    @staticmethod
    def allows_number(schema: dict, value: float) -> bool:
        return (
            schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
            and schema.get("exclusiveMinimum", -math.inf) < value < schema.get("exclusiveMaximum", math.inf)
        )  # fmt: skip

    def allows_list(self, schema: dict, value: list) -> bool:
        fits = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf)
        return fits and all(self.allows(schema.get("items", {}), one) for one in value)

    def allows_object(self, schema: dict, value: dict) -> bool:
        members, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        return (
            set(schema.get("required", ())) <= set(value)
            and schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", math.inf)
            and all(self.allows(schema.get("propertyNames", {}), name) for name in value)
            and all(
                self.allows(members[name], one) if name in members else others is True or others is not False and self.allows(others, one)
                for name, one in value.items()
            )
        )

    def edges(self, schema: dict):
        """Yield the values just inside and outside of each bound, and nasty ones."""
        schema = self.resolve(schema)
        yield from NASTY
        yield from schema.get("enum", ())
        for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if name in schema:
                yield from (schema[name] - 1, schema[name], schema[name] + 1)
        if "maxItems" in schema and schema["maxItems"] <= 1000:
            yield from (["x"] * schema["maxItems"], ["x"] * (schema["maxItems"] + 1))


def same(a: object, b: object) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def bodies_at_edges(document: Document, name: str):
    """Yield a body for each edge of each member of a schema, and whether the document allows it."""
    schema = document.schemas[name]
    found = [{}, {**BODIES[name], "unknown": 1}, *({k: v for k, v in BODIES[name].items() if k != left} for left in BODIES[name])]
    for member, one in schema["properties"].items():
        found += ({**BODIES[name], member: edge} for edge in document.edges(one) if not isinstance(edge, NOT_COMPARED.get((name, member), ())))
        if (name, member) in INSIDE:
            within, kind = INSIDE[name, member], one["items"]["$ref"].rpartition("/")[2]
            found += ({**BODIES[name], member: [edge]} for edge in document.edges(one["items"]))
            for part, inner in document.schemas[kind]["properties"].items():
                left_out = NOT_COMPARED.get((kind, part), ())
                found += ({**BODIES[name], member: [{**within, part: edge}]} for edge in document.edges(inner) if not isinstance(edge, left_out))
    for body in found:
        yield body, document.allows(schema, body)


# What the document cannot state: limits of the key, and what a text means.
NOT_STATED = ("must include at least one utf8", "is not hexadecimal", "cannot exceed the configured limit", "is not base64")


def is_refused(status: int, text: bytes) -> bool | None:
    """Whether the server refuses a request as malformed; None if for a reason that no schema can state."""
    if status == 400 and any(words.encode() in text for words in NOT_STATED):
        return None
    # The keeper checks names of files. SandboxFusion reports that with status 200, so it is no refusal.
    return status == 400 or (status == 422 and b"an input file: " in text)


@pytest.mark.parametrize("name", BODIES)
def test_server_refuses_exactly_what_its_document_does_not_allow(edge_server, name):
    served, described, session = edge_server
    document = Document(described)
    paths = [
        (path, method) for path, item in described["paths"].items() for method, o in item.items()
        if json.dumps(o.get("requestBody", {})).count(f'/{name}"')
    ]  # fmt: skip
    assert paths, "the document has no such body"
    path = re.sub(r"\{\w+\}", session if "sessions" in paths[0][0] else "none", paths[0][0])
    wrong, counts = [], {True: 0, False: 0}
    for body, allowed in bodies_at_edges(document, name):
        status, _, text = served.request(paths[0][1].upper(), path, body)
        refused = is_refused(status, text)
        counts[allowed] += 1
        if status >= 500 or refused is not None and refused == allowed:
            wrong.append(f"{'valid' if allowed else 'invalid'}, but {status}: {json.dumps(body)[:200]} {text[:160]!r}")
        if name == "NewSession" and status == 201:
            served.request("DELETE", f"/v1/sessions/{json.loads(text)['id']}?drop=1")
    assert not wrong, "\n".join(wrong[:60] + [f"{len(wrong)} in all"])
    assert min(counts.values()) >= 3, "edges on both sides"


def test_bodies_at_edges_cover_the_document(edge_server):
    _, described, _ = edge_server
    wanted = set()
    for item in described["paths"].values():
        for operation in item.values():
            wanted.update(re.findall(r'schemas/(\w+)"', json.dumps(operation.get("requestBody", {}))))
    assert wanted == set(BODIES)


QUERY_EDGES = ("", "0", "1", "64", "65", "-1", "x", "1.5", " ", "\0", "a\0", "\x01", "ä", "67108864", "67108865", "9223372036854775807", "9223372036854775808", "1" * 30)


def test_server_refuses_exactly_the_queries_that_its_document_does_not_allow(edge_server):
    served, described, session = edge_server
    document, wrong, seen = Document(described), [], 0
    for path, item in described["paths"].items():
        for method, operation in item.items():
            for p in operation["parameters"]:
                if p["in"] != "query" or (method, p["name"]) == ("delete", "drop"):
                    continue
                required = {q["name"]: "a.txt" for q in operation["parameters"] if q["in"] == "query" and q["required"]}
                for edge in QUERY_EDGES:
                    is_number = p["schema"]["type"] == "integer"
                    value = int(edge) if is_number and re.fullmatch(r"-?\d+", edge) else edge
                    allowed = document.allows(p["schema"], value)
                    target = path.replace("{id}", session) + "?" + urlencode({**required, p["name"]: edge}, quote_via=quote)
                    status, _, text = served.request(method.upper(), target, b"" if "requestBody" in operation else None)
                    seen += 1
                    if (status == 400) == allowed and b"ull" not in text:
                        wrong.append(f"{'valid' if allowed else 'invalid'}, but {status}: {method} {target} {text[:160]!r}")
    assert not wrong and seen > 50, "\n".join(wrong)


@pytest.fixture(scope="module")
def edge_server(stage):
    with serve(make_remit(users()[-1], stage), "--timeout", "10s") as served:
        described = served.json("GET", "/v1/openapi.json")
        session = served.json("POST", "/v1/sessions", {}, status=201)["id"]
        served.run("1")
        yield served, described, session
