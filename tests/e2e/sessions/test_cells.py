"""Cells: the value of the last expression, top-level await, and errors with their line."""

import json

import pytest
from shared_keeper import SharedKeeper


@pytest.fixture(params=["cold", "warm"])
def cells(remit, request):
    """A function from code to result, cold or warm."""
    if request.param == "cold":
        yield lambda code, *flags: remit.json(code, *flags)
        return
    keeper = SharedKeeper(remit)
    yield keeper.warm
    keeper.close()


def value(result):
    assert result["status"] == "ok", (result["error"], result["stderr"])
    assert ("value" in result["reported"]) == (result["value"] is not None)
    return result["value"]


# code, text, json (... if it has none)
VALUES = [
    ("1 + 1", "2", 2),
    ("x = 20\nx + 1", "21", 21),
    ("x = 20; x", "20", 20),
    ("'ä\\n'", "'ä\\n'", "ä\n"),
    ("0.1 + 0.2", "0.30000000000000004", 0.1 + 0.2),
    ("(1, [2.5, None], {'a': True})", "(1, [2.5, None], {'a': True})", [1, [2.5, None], {"a": True}]),
    ("{1, 2}", "{1, 2}", ...),
    ("float('nan')", "nan", ...),
    ("[float('inf')]", "[inf]", ...),
    ("2 ** 70", "1180591620717411303424", 2**70),
    ("'\\0'", "'\\x00'", "\0"),
    ("[\n    1,\n    2,\n]", "[1, 2]", [1, 2]),
    ('"""a\nb"""', "'a\\nb'", "a\nb"),
    ("def f():\n    return 7\n\n\nf()  # done\n\n", "7", 7),
    ("# -*- coding: latin-1 -*-\nx = 1\n'a'", "'a'", "a"),
    ("from __future__ import annotations\nx: undefined = 3\nx", "3", 3),
    ("import asyncio\nawait asyncio.sleep(0, 5)", "5", 5),
    ("import asyncio\nx = await asyncio.gather(asyncio.sleep(.1, 1), asyncio.sleep(.1, 2))\nx", "[1, 2]", [1, 2]),
    ("[i async for i in (lambda: (yield))()] if 0 else 4", "4", 4),
    ("__name__", "'__main__'", "__main__"),
    ("len('ab') # x", "2", 2),
    ("x = 1\n\nabs(-3)\n\n# end", "3", 3),
    ("x = 5\nabs(-3); x", "5", 5),
    ("import asyncio\nlen([await asyncio.sleep(0)])", "1", 1),
    ("__builtins__.len('ab')", "2", 2),
]


@pytest.mark.parametrize("code,text,data", VALUES, ids=[repr(row[0])[:40] for row in VALUES])
def test_last_expression_is_value(any_remit, code, text, data):
    found = value(any_remit.json(code))
    assert (found["text"], found.get("json", ...), found["mime"]) == (text, data, {})
    assert found["truncated"] is False and found["left_out"] == []


NONE = [
    "print(1)",
    "x = 1",
    "",
    "# only a comment",
    "None",
    "if True:\n    5",
    "x = 1\nif(x): 5",
    "str(1); x = 2",
    "for i in range(3):\n    i",
    "def f():\n    'doc'",
    'x = """\ny\n"""',
    "import asyncio\nawait asyncio.sleep(0)",
]


@pytest.mark.parametrize("code", NONE)
def test_statement_and_none_have_no_value(any_remit, code):
    assert value(any_remit.json(code)) is None


def test_cells_work_cold_and_warm(cells):
    assert value(cells("import math\nmath.factorial(5)"))["json"] == 120
    assert value(cells("import asyncio\nawait asyncio.sleep(0.01)\n'x'"))["text"] == "'x'"
    result = cells("def f():\n    return [][1]\n\nf()")
    assert result["error"]["frames"][-1] == {"line": 2, "name": "f", "text": "return [][1]"}
    result = cells("display({'a': 1}); print('x'); display('y')")
    assert [d["mime"]["application/json"] for d in result["displays"]] == [{"a": 1}, "y"]


HOSTILE = {
    "raises": "class C:\n    def __repr__(self): raise ValueError('no')\nC()",
    "raises anything": "class C:\n    def __repr__(self): raise SystemExit(3)\nC()",
    "raises the unprintable": "class E(Exception):\n    def __str__(self): 1/0\nclass C:\n    def __repr__(self): raise E\nC()",
    "no string": "class C:\n    def __repr__(self): return 1\nC()",
    "cycle": "x = []\nx.append(x)\nx",
    "cycle of dicts": "x = {}\nx['x'] = x\nx",
    "deep": "x = []\nfor i in range(10 ** 6): x = [x]\nx",
    "deep, with a raised recursion limit": "import sys\nsys.setrecursionlimit(10 ** 8)\nx = []\nfor i in range(10 ** 6): x = [x]\nx",
    "a huge number": "10 ** 100000",
    "a huge number inside": "[10 ** 5000]",
    "a hostile class": "class M(type):\n    @property\n    def __name__(cls): raise ValueError\nclass C(metaclass=M):\n    __class__ = property(lambda self: 1/0)\n    def __getattr__(self, name): raise KeyboardInterrupt\nC()",
    "answers every name": "class C:\n    def __getattr__(self, name): return lambda *a, **k: 5\nC()",
    "a class": "class C:\n    def _repr_html_(self): return 'x'\nC",
    "bad methods": "class C:\n    def _repr_html_(self): raise ValueError('x' * 10 ** 6)\n    def _repr_png_(self): return 7\n    def _repr_json_(self): return {1: float('nan')}\n    def _repr_mimebundle_(self, **k): return {1: 2, 'a b': 'c', 'text/x': object(), '\\n/\\n': 'x'}\nC()",
    "half a character": "'\\ud800'",
    "surrogates": "class C:\n    def __repr__(self): return '\\ud800\\0\\x1b[31m'\n    def _repr_html_(self): return '\\udfff'\nC()",
    "json that forges members": "class C:\n    def _repr_json_(self): return b'{\"a\":1}, \"status\": \"forged\"'\nC()",
    "a text of another kind": "class S(str):\n    def encode(self, *a): raise ValueError\n    def __len__(self): return 10 ** 9\nclass C:\n    def __repr__(self): return S('x')\n    def _repr_html_(self): return S('y')\nC()",
    "a class that is equal to all": "class M(type):\n    def __eq__(cls, other): raise ValueError\n    __hash__ = type.__hash__\nclass C(metaclass=M): pass\nC()",
    "an int of another kind": "class I(int):\n    def bit_length(self): raise ValueError\n    def __repr__(self): return 'I'\nI(5)",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_object_gives_bounded_text(remit, name):
    result = remit.json(HOSTILE[name], "--timeout", "60s")
    found = value(result)
    assert 0 < len(found["text"]) < 70_000, found
    assert all(len(gap["reason"]) < 300 for gap in found["left_out"])
    assert "forged" not in json.dumps(found.get("json", ""))


def test_output_of_repr_is_printed(any_remit):
    result = any_remit.json("class C:\n    def __repr__(self):\n        print('p')\n        return 'C'\nC()")
    assert (result["stdout"], value(result)["text"]) == ("p\n", "C")


def test_endless_repr_ends_with_cell(remit):
    result = remit.json("class C:\n    def __repr__(self):\n        while True: pass\nC()", "--timeout", "1s")
    assert result["status"] == "timeout" and result["value"] is None


@pytest.mark.parametrize("tier", ["local", "unsafe", "landlock"])
def test_value_is_cut_at_limit(remit, covers, tier):
    preset = ("--preset", "landlock") if tier == "landlock" else ("--tier", tier)
    found = value(remit.json("'ä' * 5000", *preset, "--value-max", "1k"))
    assert found["truncated"] and 1000 < len(found["text"].encode()) <= 1024 and found["text"].startswith("'ää")
    assert "json" not in found and found["left_out"][0]["mime"] == "application/json"
    covers(remit, "value_bytes", "frame_cap", tier=tier)


FORGED = """
import os, struct
def frame(kind, payload): os.write(3, struct.pack("<IB3x", len(payload), kind) + payload)
def records(*texts): return b"".join(t.encode() + b"\\0" for t in texts)
"""


def test_keeper_enforces_limits_on_hostile_runner(remit):
    """The program writes frames to the channel itself."""
    too_much = FORGED + (
        "frame(26, records('kind', 'value', 'mime', 'text/plain', 'bytes', '2000'))\n"
        "frame(27, b'x' * 2000)\n"
        "for i in range(5):\n"
        "    frame(26, records('kind', 'display', 'mime', 'text/plain', 'bytes', '900'))\n"
        "    frame(27, b'x' * 900)\n"
        "print('end')\n"
    )
    result = remit.json(too_much, "--value-max", "1000", "--display-max", "2k")
    assert (result["status"], result["stdout"], result["value"]) == ("ok", "end\n", None)
    assert len(result["displays"]) == 2 and result["displays_left_out"] == 4


@pytest.mark.parametrize(
    "frames",
    [
        "frame(27, b'x')",
        "frame(26, b'kind')",
        "frame(26, records('kind', 'value', 'mime', 'a', 'bytes', '1'))",
        "frame(26, records('kind', 'display', 'mime', 'text/plain', 'bytes', '9')); frame(27, b'x' * 10)",
        "frame(26, records('kind', 'display', 'mime', 'text/plain', 'bytes', '9')); frame(26, records('kind', 'value'))",
        "frame(26, b'x' * 20000)",
        "frame(26, records('kind', 'display', 'mime', 'text/plain', 'bytes', '9'))",
    ],
)
def test_malformed_displays_end_claims_of_that_run_only(remit, frames):
    result = remit.json(FORGED + "print('x', flush=True)\n" + frames + "\nraise SystemExit(4)")
    assert (result["status"], result["exit_code"], result["stdout"]) == ("exit", 4, "x\n")
    assert result["displays"] == [] and result["value"] is None


def test_excess_displays_are_counted(any_remit):
    result = any_remit.json("for i in range(1100): display(i)", "--timeout", "60s")
    assert len(result["displays"]) == 1000 and result["displays_left_out"] == 100
    assert result["displays"][-1]["mime"]["text/plain"] == "999"


# ---- errors ----


@pytest.mark.parametrize(
    "code,name,line,column,text",
    [
        ("x = 1\ny = (", "SyntaxError", 2, 5, "y = ("),
        ("def f():\n    pass\n\nreturn 5", "SyntaxError", 4, 1, "return 5"),
        ("if x:\n\ty\n        z", "TabError", 3, ..., "z"),
        ("x = 1\n  y = 2\n", "IndentationError", 2, ..., "y = 2"),
        ("def f():\n    await x", "SyntaxError", 2, 5, "await x"),
        ("1/0", "ZeroDivisionError", 1, None, "1/0"),
        ("x = 1\n\nx.y", "AttributeError", 3, None, "x.y"),
        ("async def f():\n    raise ValueError\nawait f()", "ValueError", 2, None, "raise ValueError"),
        ("import json\njson.loads('{')", "JSONDecodeError", 2, None, "json.loads('{')"),
        ("eval('(')", "SyntaxError", 1, None, "eval('(')"),
    ],
)
def test_error_has_program_s_line(any_remit, code, name, line, column, text):
    error = any_remit.json(code)["error"]
    assert (error["name"], error["line"], error["text"]) == (name, line, text)
    assert column is ... or error["column"] == column


def test_program_with_zero_byte_is_error(any_remit):
    done = any_remit("run", "--json", any_remit.file("zero.py", b"a = 1\n\0b"))
    error = json.loads(done.stdout)["error"]
    assert error["name"] in ("SyntaxError", "ValueError") and "null byte" in error["value"]  # depends on the version


def test_frames_are_program_s_own(any_remit):
    code = "import json\nclass A(json.JSONEncoder):\n    def default(self, o):\n        raise KeyError('k')\n\njson.dumps(object(), cls=A)"
    error = any_remit.json(code)["error"]
    assert error["frames"] == [
        {"line": 6, "name": "<module>", "text": "json.dumps(object(), cls=A)"},
        {"line": 4, "name": "default", "text": "raise KeyError('k')"},
    ]
    assert "runner" not in error["traceback"] and "cell.py" not in error["traceback"]


def test_frames_of_await_are_program_s_own(any_remit):
    code = "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    [][0]\nawait f()"
    result = any_remit.json(code)
    assert [f["line"] for f in result["error"]["frames"]] == [5, 4]
    assert "asyncio" not in result["error"]["traceback"]


def test_deep_recursion_gives_last_frames(any_remit):
    error = any_remit.json("def f(): f()\nf()")["error"]
    assert error["name"] == "RecursionError" and len(error["frames"]) == 50


def test_largest_claim_fits_its_frame(any_remit):
    code = "class E(Exception): pass\nE.__name__ = '😀' * 90000\nraise E('😀' * 90000)"
    result = any_remit.json(code)
    assert result["status"] == "error" and result["error"]["value"].startswith("😀😀")


def test_unusual_exception_class_is_described(any_remit):
    code = "class M(type):\n    @property\n    def __name__(cls): raise KeyError\nclass E(Exception, metaclass=M):\n    def __str__(self): raise KeyError\nraise E"
    result = any_remit.json(code)
    assert (result["status"], result["error"]["name"]) == ("error", "E")


# ---- await ----


def test_unawaited_tasks_are_cancelled(any_remit):
    code = "import asyncio\nasync def f():\n    try: await asyncio.sleep(60)\n    finally: print('cancelled')\nt = asyncio.create_task(f())\nawait asyncio.sleep(0)\n'done'"
    result = any_remit.json(code)
    assert (result["stdout"], value(result)["text"]) == ("cancelled\n", "'done'")


def test_asyncio_is_not_imported_without_await(any_remit):
    assert value(any_remit.json("import sys\n'asyncio' in sys.modules"))["json"] is False


def test_runner_s_modules_cannot_be_imported(any_remit):
    for name in ("cell", "records", "errors", "display", "runner", "_remit"):
        result = any_remit.json(f"import {name}")
        assert result["error"]["name"] == "ModuleNotFoundError", name


def test_program_that_breaks_imports_is_described(any_remit):
    for code in ("sys.meta_path.clear(); sys.path_hooks.clear(); sys.path.clear()", "builtins.__import__ = None", "sys.modules.clear()"):
        result = any_remit.json(f"import sys, builtins\n{code}\n[1]")
        assert result["status"] in ("ok", "error"), result
        result = any_remit.json(f"import sys, builtins\n{code}\nraise ValueError(5)")
        assert (result["status"], result["error"]["name"]) == ("error", "ValueError")


def test_large_literal_needs_no_syntax_tree_of_whole_program(remit):
    """Syntax trees take hundreds of bytes for each number."""
    code = "x = [" + "1," * 100_000 + "]\nlen(x)\n"
    done = remit("run", "--json", remit.file("large.py", code))
    assert value(json.loads(done.stdout))["json"] == 100_000
