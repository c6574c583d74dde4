"""The doors of `remit serve` in which one request is one program."""

from __future__ import annotations

import base64

import pytest
from conftest import make_remit, users
from served import serve


@pytest.fixture(scope="module")
def served(stage):
    with serve(make_remit(users()[-1], stage), "--timeout", "20s", "--memory", "2G") as one:
        yield one


def test_nothing_but_code(served):
    assert served.json("POST", "/", {"code": "print('a')\n6 * 7"}) == {"result": 42, "stdout": "a\n", "stderr": ""}
    assert served.json("POST", "/", {"code": "x = 1"})["result"] is None
    assert served.json("POST", "/", {"code": "object"})["result"] == "<class 'object'>"
    failed = served.json("POST", "/", {"code": "print('b')\n1 / 0"})
    assert failed["error"] == "ZeroDivisionError: division by zero" and failed["stdout"] == "b\n" and "result" not in failed
    for wrong in ({"code": 1}, {}, {"code": "1", "policy": {}}):
        assert "error" in served.json("POST", "/", wrong, status=400)
    assert served.ask("POST", "/", {"code": "1"}, token="wrong")[0] == 401


def fusion(served, code: str, status: int = 200, **more) -> dict:
    return served.json("POST", "/run_code", {"code": code, "language": "python", **more}, status=status)


def test_sandbox_fusion(served):
    good = fusion(served, "import sys\nprint(open('in/x').read(), sys.stdin.read())", stdin="typed", files={"in/x": base64.b64encode(b"file").decode(), "y": None})
    assert (good["status"], good["message"], good["compile_result"], good["files"]) == ("Success", "", None, {}), good
    run = good["run_result"]
    assert (run["status"], run["return_code"], run["stdout"], run["stderr"]) == ("Finished", 0, "file typed\n", "") and 0 < run["execution_time"] < 10
    wrong = fusion(served, "1 / 0")
    assert (wrong["status"], wrong["run_result"]["status"], wrong["run_result"]["return_code"]) == ("Failed", "Finished", 1)
    assert "ZeroDivisionError" in wrong["run_result"]["stderr"]
    late = fusion(served, "while True: pass", run_timeout=0.5)
    assert (late["status"], late["run_result"]["status"], late["run_result"]["return_code"]) == ("Failed", "TimeLimitExceeded", None)
    assert fusion(served, "bytearray(200 << 20)", memory_limit_MB=300)["status"] == "Failed"
    assert fusion(served, "bytearray(200 << 20)")["status"] == "Success"
    refused = fusion(served, "1", memory_limit_MB=1, status=400)
    assert (refused["status"], refused["run_result"]) == ("SandboxError", None) and "memory" in refused["message"], refused
    assert "../x" in fusion(served, "1", files={"../x": "eA=="})["message"]
    assert fusion(served, "print(1)", memory_limit_MB=1 << 20, compile_timeout=3)["status"] == "Success"


@pytest.mark.parametrize("more", [{"language": "cpp"}, {"fetch_files": ["a"]}, {"run_timeout": "soon"}, {"files": {"x": "not base64"}}, {"code": None}])
def test_what_sandbox_fusion_has_and_this_has_not_is_refused(served, more):
    said = fusion(served, **{"code": "1", "status": 400, **more})
    assert said["status"] == "SandboxError" and said["message"], said
