"""Random schemas and values, and whether the package jsonschema accepts them: one JSON line each.

    schema_documents.py SEED COUNT
"""

import json
import random
import sys

from jsonschema import Draft202012Validator

NAMES = ["a", "b", "c", "ä", "x/y", "~"]
TYPES = ["object", "array", "string", "integer", "number", "boolean", "null"]
SCALARS = [None, True, False, 0, 1, -1, 2, 3, 1.0, 0.0, -0.0, 1.5, 2**53, 2**53 + 1, float(2**53), -(2**63), 2**63 - 1, 1e300, "", "a",
           "ab", "abc", "ä", "\U0001f600", "a\u0000b"]  # fmt: skip


def value(r, depth=3):
    kind = r.random()
    if depth and kind < 0.25:
        return [value(r, depth - 1) for _ in range(r.randrange(4))]
    if depth and kind < 0.6:
        return {r.choice(NAMES): value(r, depth - 1) for _ in range(r.randrange(4))}
    return r.choice(SCALARS)


def pointer(name):
    return name.replace("~", "~0").replace("/", "~1")


def schema(r, depth=3, defs=()):
    if r.random() < 0.06:
        return r.random() < 0.7
    made = {}
    simple = {
        "type": lambda: r.choice(TYPES) if r.random() < 0.6 else r.sample(TYPES, r.randrange(1, 4)),
        "required": lambda: r.sample(NAMES, r.randrange(3)),
        "enum": lambda: [value(r, 2) for _ in range(r.randrange(1, 4))],
        "const": lambda: value(r, 2),
        "minimum": lambda: r.choice([0, 1, 1.5, -1, 2**53 + 1]),
        "maximum": lambda: r.choice([0, 1, 1.5, 2, 2**53]),
        "exclusiveMinimum": lambda: r.choice([0, 1, 1.5]),
        "exclusiveMaximum": lambda: r.choice([1, 2, 1.5]),
        "minLength": lambda: r.randrange(3),
        "maxLength": lambda: r.randrange(3),
        "minItems": lambda: r.randrange(3),
        "maxItems": lambda: r.randrange(3),
        "minProperties": lambda: r.randrange(3),
        "maxProperties": lambda: r.randrange(3),
        "title": lambda: "t",
        "default": lambda: value(r, 1),
    }
    nested = {
        "properties": lambda: {n: schema(r, depth - 1, defs) for n in r.sample(NAMES, r.randrange(1, 4))},
        "additionalProperties": lambda: schema(r, depth - 1, defs),
        "items": lambda: schema(r, depth - 1, defs),
        "anyOf": lambda: [schema(r, depth - 1, defs) for _ in range(r.randrange(1, 4))],
    }
    if defs:
        simple["$ref"] = lambda: f"#/$defs/{pointer(r.choice(defs))}"
    choices = {**simple, **(nested if depth else {})}
    weights = [4 if k in nested or k in ("type", "$ref") else 1 for k in choices]
    for name in r.choices(list(choices), weights, k=r.randrange(1, 4)):
        made[name] = choices[name]()
    return made


def document(r):
    defs = tuple(r.sample(NAMES, r.randrange(3)))
    root = schema(r, 3, defs)
    root = root if isinstance(root, dict) else {"anyOf": [root]}
    if defs:
        # Definitions have no references to each other: Remit refuses endless cycles, and jsonschema hangs on them.
        root["$defs"] = {n: schema(r, 1) for n in defs}
    if "type" in root:
        root["type"] = "object"
    return root


def main():
    r = random.Random(int(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        made = document(r)
        checker = Draft202012Validator(made)
        for _ in range(6):
            v = {n: value(r) for n in r.sample(NAMES, r.randrange(4))} if r.random() < 0.9 else value(r)
            print(json.dumps({"schema": made, "value": v, "fits": checker.is_valid(v)}))


main()
