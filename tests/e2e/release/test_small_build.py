"""A build without the APIs of other services, and how much of the program a keeper can reach.

`tests/run.py` makes the build: -Dforeign_apis=false, and each function in a separate section.
"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import PYTHON, ROOT, Remit, make_remit, skip_or_fail, users
from served import serve

BUILD = ROOT / "build-small"
WITH = '"remit serve" has the APIs of E2B, SandboxFusion and Piston as well.'
WITHOUT = '"remit serve" of this build is without the APIs of E2B, SandboxFusion and Piston.'
# The first requests of typical clients
FIRST = [
    ("POST", "/sandboxes", {"templateID": "base"}),
    ("GET", "/v2/sandboxes", None),
    ("POST", "/execute", {"code": "1"}),
    ("GET", "/files?path=a", None),
    ("POST", "/process.Process/List", {}),
    ("POST", "/run_code", {"code": "1", "language": "python"}),
    ("POST", "/run_jupyter", {"cells": ["1"]}),
    ("GET", "/api/v2/runtimes", None),
    ("POST", "/api/v2/piston/execute", {"language": "python", "version": "*", "files": []}),
]


@pytest.fixture(scope="module")
def small(stage) -> Remit:
    """The command of this build."""
    if not (BUILD / "remit").exists():
        skip_or_fail("build-small does not exist (tests/run.py e2e makes it)")
    folder = stage / "small" / "bin"
    folder.mkdir(parents=True)
    for name in ("remit", "remit-bench"):
        shutil.copy2(BUILD / name, folder / name)
    shutil.copytree(BUILD / "runtime", folder / "runtime", ignore=shutil.ignore_patterns("*.p"))
    own = folder.parent / users()[-1]
    own.mkdir()
    small = Remit(users()[-1], own)
    small.own(own)
    return small


@pytest.fixture(scope="module")
def full(stage) -> Remit:
    return make_remit(users()[-1], stage)


@pytest.fixture(scope="module")
def served(small):
    with serve(small) as one:
        yield one


# ---- what the small build lacks ----


def test_build_reports_whether_it_has_foreign_apis(small, full):
    for remit, sentence, word, yes in ((small, WITHOUT, "without", False), (full, WITH, "with", True)):
        assert remit("--version").stdout.endswith(f", {word} the APIs of E2B, SandboxFusion and Piston\n")
        for shown in (remit("serve", "--help"), remit("doctor")):
            text = " ".join(shown.stdout.split())  # help wraps the sentence
            assert sentence in text and text.count("E2B, ") == 1
        assert json.loads(remit("doctor", "--json").stdout)["foreign_apis"] is yes


def test_openapi_document_has_only_existing_routes(served, full):
    def document(one) -> tuple[str, set[str], set[str]]:
        shown = one.json("GET", "/v1/openapi.json")
        return shown["info"]["description"], set(shown["paths"]), set(shown["components"]["schemas"])

    with serve(full) as other:
        sentence, paths, schemas = document(other)
    small_sentence, small_paths, small_schemas = document(served)
    assert (small_sentence, sentence) == (WITHOUT, WITH)
    assert {"/run_code", "/run_jupyter", "/api/v2/execute", "/api/v2/runtimes"} <= paths - small_paths and small_paths < paths
    assert small_schemas < schemas and not [name for name in small_schemas if re.match("Fusion|Piston", name)]


@pytest.mark.parametrize("method,path,body", FIRST, ids=lambda v: v if isinstance(v, str) else "")
def test_client_of_missing_api_gets_reason(served, method, path, body):
    error = served.json(method, path, body, status=404)["error"]
    assert error["message"] == "there is nothing at this path; this server is without the APIs of E2B, SandboxFusion and Piston"


def test_full_build_answers_same_clients(full):
    with serve(full) as other:
        for method, path, body in FIRST:
            status, _, text = other.request(method, path, body)
            assert status != 404 or b"there is nothing at this path" not in text, (path, text)
        assert b"there is nothing at this path" in other.request("GET", "/nowhere")[2]
        assert b"E2B" not in other.request("GET", "/nowhere")[2]


def test_debug_option_of_missing_api_is_error(small):
    done = small("serve", "--open", "--listen", "127.0.0.1:0", "--e2b-debug", "--python", PYTHON)
    assert done.returncode == 2 and "--e2b-debug: this build is without the APIs" in done.stderr, done


def parts_of(names: str) -> tuple[set[bytes], set[bytes]]:
    """The sources' public functions and paths, as they appear in a program file."""
    sources = [path.read_text() for path in (ROOT / "src" / "serve").rglob("*.c") if re.match(names, str(path.relative_to(ROOT / "src" / "serve")))]
    assert sources
    text = "\n".join(sources)
    functions = re.findall(r"^(?!static)[\w *]+\n((?:e2b|fusion|piston|notebook)_\w+)\(", text, re.M)
    paths = re.findall(r'\.pattern = (?:path )?"(/[^"]*)"', text)
    return {b"\0%s\0" % name.encode() for name in functions}, {path.encode() for path in paths}


def test_program_contains_no_code_of_missing_apis(small, full):
    functions, paths = parts_of("e2b/|compat/(fusion|piston|notebook)")
    assert len(functions) > 30 and len(paths) > 10
    # Remit's own routes contain some of these paths.
    paths -= {b"/files", b"/execute", b"/health", b"/runtimes", b"/{path...}"}
    in_full, in_small = (pathlib.Path(remit.command).read_bytes() for remit in (full, small))
    assert [name for name in functions | paths if name in in_small] == []
    assert len([name for name in functions if name in in_full]) > 30
    assert [path for path in paths if path not in in_full] == []


# ---- what the small build has ----


def test_remaining_routes_work(served):
    assert served.run("6 * 7")["value"]["json"] == 42
    assert served.json("POST", "/", {"code": "6 * 7"})["result"] == 42
    session = served.json("POST", "/v1/sessions", {}, status=201)["id"]
    served.json("POST", f"/v1/sessions/{session}/cells", {"code": "a = 6"})
    assert served.json("POST", f"/v1/sessions/{session}/cells", {"code": "a * 7"})["value"]["json"] == 42
    assert served.json("DELETE", f"/v1/sessions/{session}")
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
    accepts = {"Accept": "application/json, text/event-stream"}
    assert b"serverInfo" in served.request("POST", "/mcp", asked, headers=accepts)[2]
    assert b"<html" in served.request("GET", "/")[2]


@pytest.mark.longer
def test_benchmark_reports_missing_frontend(small):
    flags = ("--quick", "--rounds", "1", "--only", "doors*", "--python", PYTHON)
    done = small("bench", *flags, "--json", "frontends.json")
    assert done.returncode == 0, done
    sections = json.loads((small.folder / "frontends.json").read_text())["sections"]
    rows = {row["name"]: row for section in sections for row in section["rows"]}
    assert "without the APIs of E2B" in rows["a cell, POST /execute of E2B"]["absent"]
    assert rows["a cell, POST /mcp"]["time_us"]["count"] > 0


# ---- lines that a keeper can reach ----


def test_lines_reached_by_keeper_match_document():
    if not (BUILD / "remit").exists():
        skip_or_fail("build-small does not exist (tests/run.py e2e makes it)")
    shown = subprocess.run([PYTHON, ROOT / "tools" / "trusted_lines.py", "--json", BUILD], capture_output=True, text=True, check=True)
    figures = json.loads(shown.stdout)
    reached = figures["reached"]
    assert not [folder for folder in figures["program"] if folder.startswith("bench")]
    assert not [folder for folder in reached if re.match("src/(serve|mcp|hosted)", folder)]
    named = re.search(r"^\| a keeper reaches \| ([\d,]+) \|", (ROOT / "ARCHITECTURE.md").read_text(), re.M)
    assert named, "ARCHITECTURE.md has the figure"
    wanted, found = int(named[1].replace(",", "")), sum(reached.values())
    assert abs(found - wanted) <= 0.05 * wanted, f"ARCHITECTURE.md has {wanted:,}, the build has {found:,}: {reached}"
