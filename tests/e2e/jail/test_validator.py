"""The validator: an early and friendly answer, given by the interpreter that will run the code."""

import json

import pytest
from shared_keeper import SharedKeeper

ALL_TIERS = ["local", "static", "unsafe", "landlock"]


def check(remit, code, *flags):
    done = remit("check", "--json", *flags, "-c", code)
    assert done.returncode in (0, 1), (done.stdout, done.stderr)
    answer = json.loads(done.stdout)
    assert answer["ok"] == (done.returncode == 0) == (answer["findings"] == [])
    for finding in answer["findings"]:
        assert finding["hint"] and finding["line"] and finding["column"], finding
    return [(f["line"], f["column"], f["value"]) for f in answer["findings"]]


def rules(remit, code, *flags):
    return [value for _, _, value in check(remit, code, *flags)]


ORDINARY = [
    "class A:\n    x: int = 1\n    def f(self): return super().__init__()",
    "with open('x', 'w') as f: f.write('a')",
    "def f():\n    raise ValueError('x')",
    "def g():\n    yield 1\n    yield from [2]",
    "if (n := len('abc')) > 2: print(n)",
    "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass P:\n    x: int = field(default=0)",
    "import numpy as np\na = np.eye(3) @ np.ones(3)",
    "import pandas as pd\nimport matplotlib.pyplot as plt",
    "import sys, os, shutil, tempfile, threading, csv, statistics, string, io, importlib",
    "from __future__ import annotations\nimport typing as t",
    "import os\nos.makedirs('a/b', exist_ok=True); os.listdir('.'); os.environ.get('X'); os.path.join('a', 'b'); os.getcwd()",
    "import urllib.parse\nfrom urllib.parse import urlparse",
    "assert 1 == 1\nx = [1]\ndel x[0]\nglobal_x = 1\ndef f():\n    global global_x\n    global_x = 2",
    "def outer():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n    return inner",
    "try:\n    pass\nexcept (KeyError, OSError) as e:\n    print(repr(e))\nelse:\n    pass\nfinally:\n    pass",
    "import asyncio\nawait asyncio.gather(asyncio.sleep(0))",
    "hasattr(int, 'x') or getattr(int, 'x', 1); vars(); dir(); globals(); locals(); input",
    "match 1:\n    case int(x) if x: pass\n    case [a, *b] | {'k': a, **b}: pass\n    case _: pass",
    "x = lambda *a, k=1, **kw: (a, k, kw)\nprint(*x(1), sep='', end='')",
    "print(f'{1!r:>{5}}', b'', 1j, ..., {**{}}, {*()}, [*'ab'])",
    "import re, json, math, random, datetime, collections, itertools, functools, pathlib, hashlib, uuid, time, decimal",
    "from typing import TypeVar\nT = TypeVar('T')",
    "def open(x): return x\nopen(1)",
    "def compile(x): return x\ncompile(1)\nfor eval in [1]: print(eval)",
    "import sqlite3, zipfile, gzip, pickle, logging, argparse, unittest, concurrent.futures",
    "object(); Exception('x'); complex(1); property(int); classmethod(int); staticmethod(int)",
]


@pytest.mark.parametrize("code", ORDINARY)
def test_relaxed_validator_accepts_ordinary_idioms(any_remit, code):
    assert check(any_remit, code) == []
    result = any_remit.json("if 0:\n    pass\n" + code, "--validator", "relaxed")
    assert result["status"] != "rejected", result["error"]


RELAXED = [
    ("import subprocess", 1, "import of 'subprocess' will not work here"),
    ("import os as o\np = o\np.system('x')", 3, "os.system will not work here"),
    ("from os import popen", 1, "os.popen will not work here"),
    ("x = 1\nfrom urllib import request", 2, "import of 'urllib' will not work here"),
    ("def f():\n    import urllib.request", 2, "import of 'urllib.request' will not work here"),
    ("import ctypes", 1, "import of 'ctypes' will not work here"),
    ("x = eval('1')", 1, "'eval' should not be used here"),
    ("f = exec", 1, "'exec' should not be used here"),
    ("breakpoint()", 1, "'breakpoint' should not be used here"),
]


@pytest.mark.parametrize("code,line,value", RELAXED)
def test_relaxed_validator_finds_what_will_not_work(any_remit, code, line, value):
    assert [(f[0], f[2]) for f in check(any_remit, code)] == [(line, value)]


def test_granted_capability_is_not_a_finding(any_remit):
    assert check(any_remit, "import subprocess\nimport os\nos.system('x')", "--subprocess", "--memory-fallback", "per_process", "--cpu-fallback", "per_process") == []
    assert check(any_remit, "from urllib import request", "--net", "--memory-fallback", "per_process") == []


STRICT_OK = [
    "x = 1 + 2\nprint(x)", "import asyncio\nawait asyncio.gather()", "from pathlib import Path", "import json", "[i for i in range(3)]",
    "import os\nos.environ['A']\nos.path.join('a')", "from os import path, environ", "from os.path import join", "def f(a): return a\nf(1)",
    "import decimal\nwith decimal.localcontext() as c: pass", "display(1)",
]  # fmt: skip
STRICT = [
    ("import sys", "blocked_imports"), ("import csv", "allowed_imports"), ("import numpy", "allowed_imports"), ("eval('1')", "blocked_builtins"),
    ("__import__('os')", "blocked_builtins"), ("globals()", "blocked_builtins"), ("aiter(1)", "allowed_builtins"), ("object()", "allowed_builtins"),
    ("ValueError('x')", "allowed_builtins"), ("open('x')", "blocked_builtins"), ("import os\nos.listdir('.')", "allowed_os_attrs"),
    ("import os as x\ny: object = x\ny.system('a')", "allowed_os_attrs"), ("import os\na, b = os, 1\na.execv", "allowed_os_attrs"),
    ("import os\n[a] = [os]\na.getcwd()", "allowed_os_attrs"), ("from os import system", "allowed_os_attrs"), ("import os.path\nos.open", "allowed_os_attrs"),
    ("class A: pass", "allowed_nodes"), ("raise 1", "allowed_nodes"), ("assert 1", "allowed_nodes"), ("del x", "allowed_nodes"),
    ("(x := 1)", "allowed_nodes"), ("a = b = 1\na @ b", "allowed_nodes"), ("def f():\n    yield 1", "allowed_nodes"), ("print.__globals__", "validator"),
]  # fmt: skip


@pytest.mark.parametrize("code", STRICT_OK)
def test_strict_validator_accepts_its_lists(any_remit, code):
    assert check(any_remit, code, "--validator", "strict") == []


@pytest.mark.parametrize("code,rule", STRICT)
def test_strict_validator_rejects_what_is_not_listed(any_remit, code, rule):
    done = any_remit("check", "--json", "--validator", "strict", "-c", code)
    findings = [f for f in json.loads(done.stdout)["findings"] if f["rule"] != "tier"]
    assert [f["rule"] for f in findings] == [rule], findings


def test_mixed_import_reports_only_forbidden_name(any_remit):
    assert rules(any_remit, "from os import path, system, environ", "--validator", "strict") == ["os.system is not in allowed_os_attrs"]


def test_policy_lists_replace_those_of_mode(any_remit):
    assert rules(any_remit, "import csv\nimport json", "--validator", "strict", "--allow-import", "csv") == ["import of 'json' is not in allowed_imports"]
    assert rules(any_remit, "import os\nos.getcwd()\nos.environ", "--validator", "strict", "--allow-os-attr", "getcwd") == ["os.environ is not in allowed_os_attrs"]
    assert rules(any_remit, "print(1)\nlen('')", "--allow-builtin", "len") == ["a call of 'print' is not in allowed_builtins"]
    assert rules(any_remit, "eval\nmap(len, [])", "--block-builtin", "map") == ["'map' is blocked by blocked_builtins"]
    assert rules(any_remit, "import math", "--allow-node", "Module,Expr") == ["Import is not in allowed_nodes", "alias is not in allowed_nodes"]


def test_findings_are_reported_together_in_sequence(any_remit):
    found = check(any_remit, "import subprocess\nx = eval('1')\ndef f():\n    import ctypes; breakpoint()")
    assert [place[:2] for place in found] == [(1, 1), (2, 5), (4, 5), (4, 20)]


def test_findings_are_limited_in_number(any_remit):
    code = "\n".join(f"eval('ä{i}')" for i in range(5000))
    done = any_remit("run", "--json", "--validator", "relaxed", any_remit.file("many.py", code))
    error = json.loads(done.stdout)["error"]
    assert len(error["findings"]) == 100 and error["value"].endswith("(and 4999 more)")


def test_long_names_in_findings_are_cut(any_remit):
    code = "\n".join(f"import {'ä' * 20_000}{i}" for i in range(20))
    done = any_remit("run", "--json", "--allow-import", "math", any_remit.file("long.py", code))
    result = json.loads(done.stdout)
    assert result["status"] == "rejected" and len(result["error"]["findings"]) == 20


@pytest.mark.parametrize("tier", ALL_TIERS)
def test_rejected_code_does_not_run(remit, covers, tier):
    preset = ("--preset", "landlock") if tier == "landlock" else ("--tier", tier)
    rows = {
        "validator": (("--validator", "relaxed"), "print('ran')\nimport subprocess"),
        "allowed_builtins": (("--allow-builtin", "len"), "print('ran')"),
        "blocked_builtins": (("--block-builtin", "open"), "print('ran', open)"),
        "allowed_os_attrs": (("--allow-os-attr", "path"), "import os\nprint('ran', os.getpid())"),
        "allowed_nodes": (("--allow-node", "Module"), "print('ran')"),
    }
    for field, (flags, code) in rows.items():
        done = remit("run", "--json", *preset, *flags, "-c", code)
        result = json.loads(done.stdout)
        assert (result["status"], result["stdout"], done.returncode) == ("rejected", "", 126), (field, result)
        assert result["error"]["findings"] and "status" in result["reported"]
        (row,) = [r for r in result["enforcement"] if r["field"] == field]
        assert row["mechanisms"] == ["validator"] and "not a wall" in row["note"]
        covers(remit, field, "validator", tier=tier)
        assert remit.json("pass", *preset, *(("--validator", "relaxed") if field == "allowed_nodes" else flags))["status"] == "ok"


def test_validator_checks_warm_runs(remit):
    keeper = SharedKeeper(remit)
    flags = ("--validator", "relaxed")
    assert keeper.warm("import math\nmath.pi", *flags)["status"] == "ok"
    result = keeper.warm("import subprocess", *flags)
    assert result["status"] == "rejected" and result["error"]["findings"][0]["line"] == 1
    keeper.close()


def test_validator_is_not_a_wall(any_remit):
    """Code that evades the validator meets the jail."""
    code = "import os\n__name__ == '__main__' and __builtins__.print\ngetattr(os, 'sys' + 'tem')('true')\n__builtins__.__dict__['ev' + 'al']('1')\nprint('ran')"
    result = any_remit.json(code, "--validator", "relaxed")
    assert (result["status"], result["stdout"]) == ("ok", "ran\n")


# ---- remit check ----


def test_check_prints_findings(remit):
    path = remit.file("bad.py", "import subprocess\nprint(eval('1'))\n")
    done = remit("check", path)
    assert done.returncode == 1 and done.stderr == ""
    assert done.stdout == (
        f"{path}:1:1: import of 'subprocess' will not work here\n"
        "    No process can be started here; use Python itself, or request subprocess_execution.\n"
        f"{path}:2:7: 'eval' should not be used here\n"
        "    Write the code directly, not code that generates code.\n"
    )
    done = remit("check", remit.file("good.py", "print(1)"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_check_runs_nothing(remit):
    flag = remit.folder / "ran"
    done = remit("check", "--write", remit.folder, "-c", f"open({str(flag)!r}, 'w')")
    assert done.returncode == 0 and not flag.exists()
    done = remit("check", "--tier", "unsafe", "-c", f"open({str(flag)!r}, 'w')")
    assert done.returncode == 0 and not flag.exists()


def test_check_reads_standard_input_and_reports_syntax_errors(remit):
    done = remit("check", "-", input="x = (\n")
    assert done.returncode == 1 and done.stdout.startswith("main.py:1:5: '(' was never closed")
    assert remit("check", "-", input="x = 1\n").returncode == 0
    assert remit("check", "-c", "import no_such_module").returncode == 1


def test_check_misuse_is_error(any_remit):
    assert any_remit("check").returncode == 2
    assert any_remit("check", "a.py", "b.py").returncode == 2
    assert any_remit("check", "/no/such/file.py").returncode == 2
    assert any_remit("check", "--no-such-flag", "-c", "1").returncode == 2


def test_hostile_name_is_not_printed_raw(any_remit):
    done = any_remit("check", "-c", "import a\u202eb\nimport 𝐜𝐭𝐲𝐩𝐞𝐬")
    assert "\u202e" not in done.stdout and "\x1b" not in done.stdout
