"""The tiers other than `local`."""

import json

import pytest


def test_static_tier_checks_and_runs_nothing(remit, covers):
    result = remit.json("import json, os.path\nprint('ran')", "--tier", "static")
    assert (result["status"], result["stdout"], result["exit_code"]) == ("ok", "", None)
    for row in result["enforcement"]:
        covers(remit, row["field"], *row["mechanisms"], tier="static")


@pytest.mark.parametrize(
    "code,name,line",
    [
        ("x = (", "SyntaxError", 1),
        ("import os\nimport no_such_module_here", "ModuleNotFoundError", 2),
        ("from no.such import thing", "ModuleNotFoundError", 1),
    ],
)
def test_static_tier_rejects_invalid_code(remit, code, name, line):
    done = remit("run", "--json", "--tier", "static", "-c", code)
    result = json.loads(done.stdout)
    assert (result["status"], result["error"]["name"], result["error"]["line"]) == ("rejected", name, line)
    assert done.returncode == 126 and "status" in result["reported"]


@pytest.mark.parametrize("tier", ["local", "static", "unsafe", "landlock"])
def test_imports_are_checked_against_lists(remit, covers, tier):
    for flags, code, status in (
        (("--allow-import", "math"), "import math", "ok"),
        (("--allow-import", "math"), "import math\nimport os", "rejected"),
        (("--block-import", "socket"), "def f():\n    from socket import socket", "rejected"),
        (("--block-import", "socket"), "import sockets_of_mine" if tier != "static" else "import math", "ok"),
    ):
        preset = ("--preset", "landlock") if tier == "landlock" else ("--tier", tier)
        result = remit.json(code, *preset, *flags)
        assert result["status"] in (status, "error"), (flags, code, result["error"])
        assert (result["status"] == "rejected") == (status == "rejected")
    for field in ("allowed_imports", "blocked_imports"):
        covers(remit, field, "validator", tier=tier)


@pytest.mark.parametrize("name", ["unsafe", "local_unsafe"])
def test_unsafe_tier_must_be_named_and_prints_warning(remit, covers, name):
    done = remit("run", "--json", "--tier", name, "-c", "import os; print(os.getuid() != 1000 or True, os.path.exists('/proc/self'))")
    result = json.loads(done.stdout)
    assert (result["status"], result["tier"]) == ("ok", "unsafe")
    assert done.stderr.count("\n") == 1 and "no wall" in done.stderr
    assert result["stdout"] == "True True\n"
    rows = {r["field"]: r["strength"] for r in result["enforcement"]}
    assert rows["network_access"] == rows["memory_bytes"] == rows["filesystem_read_roots"] == "not_enforced"
    assert rows["timeout"] == rows["stdout_max_bytes"] == "enforced"


def test_unsafe_tier_enforces_time_output_and_sizes(remit, covers):
    result = remit.json("while True: pass", "--tier", "unsafe", "--timeout", "500ms")
    assert result["status"] == "timeout"
    covers(remit, "timeout", "timer", tier="unsafe")
    result = remit.json("import sys; print('x' * 5000); print('y' * 5000, file=sys.stderr)", "--tier", "unsafe", "--stdout-max", "1k", "--stderr-max", "1k")
    assert len(result["stdout"]) == len(result["stderr"]) == 1024
    for field in ("stdout_max_bytes", "stderr_max_bytes"):
        covers(remit, field, "capture", tier="unsafe")
    result = remit.json("while True: print('x' * 5000)", "--tier", "unsafe", "--stdout-max", "1k", "--output-ceiling", "5")
    assert result["status"] == "output_limit"
    covers(remit, "output_ceiling", "capture", tier="unsafe")
    assert remit.json("#" * 500, "--tier", "unsafe", "--code-max", "100")["status"] == "refused"
    covers(remit, "code_bytes", "frame_cap", tier="unsafe")
    done = remit("run", "--json", "--tier", "unsafe", "--stdin-max", "10", "-c", "import time; time.sleep(60)", input="x" * 99)
    assert json.loads(done.stdout)["status"] == "refused"
    covers(remit, "stdin_bytes", "frame_cap", tier="unsafe")


@pytest.mark.parametrize("tier", ["container", "vm"])
def test_unbuilt_tiers_are_refused_by_name(any_remit, tier):
    result = any_remit.json("print(1)", "--tier", tier)
    assert result["status"] == "refused" and tier in result["error"]["value"]
    assert result["error"]["where"] == "tier" and result["error"]["remedy"]
