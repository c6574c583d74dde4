"""The APIs of `remit serve` in which one request is one program or one notebook."""

from __future__ import annotations

import base64
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest
from conftest import ROOT, make_remit, users
from served import serve
from waiting import until

sys.path.insert(0, str(ROOT / "tests" / "python"))
import venvs  # noqa: E402

# Threads of a client's HTTP library may abort at the interpreter's end, after all results are printed.
UNTIL_THE_LAST_LINE = "import os, runpy, sys; sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name='__main__'); sys.stdout.flush(); os._exit(0)"


@pytest.fixture(scope="module")
def served(stage):
    with serve(make_remit(users()[-1], stage), "--timeout", "20s", "--memory", "2G") as one:
        yield one


def test_minimal_api_needs_only_code(served):
    assert served.json("POST", "/", {"code": "print('a')\n6 * 7"}) == {"result": 42, "stdout": "a\n", "stderr": ""}
    assert served.json("POST", "/", {"code": "x = 1"})["result"] is None
    assert served.json("POST", "/", {"code": "object"})["result"] == "<class 'object'>"
    failed = served.json("POST", "/", {"code": "print('b')\n1 / 0"})
    assert failed["error"] == "ZeroDivisionError: division by zero" and failed["stdout"] == "b\n" and "result" not in failed
    for wrong in ({"code": 1}, {}, {"code": "1", "policy": {}}):
        assert "error" in served.json("POST", "/", wrong, status=400)
    assert served.request("POST", "/", {"code": "1"}, token="wrong")[0] == 401


def fusion(served, code: str, status: int = 200, **more) -> dict:
    return served.json("POST", "/run_code", {"code": code, "language": "python", **more}, status=status)


def test_sandbox_fusion_runs_code(served):
    good = fusion(served, "import sys\nprint(open('in/x').read(), sys.stdin.read())", stdin="typed", files={"in/x": base64.b64encode(b"file").decode(), "y": None})
    assert (good["status"], good["message"], good["compile_result"], good["files"]) == ("Success", "", None, {}), good
    run = good["run_result"]
    assert (run["status"], run["return_code"], run["stdout"], run["stderr"]) == ("Finished", 0, "file typed\n", "") and 0 < run["execution_time"] < 10
    wrong = fusion(served, "1 / 0")
    assert (wrong["status"], wrong["run_result"]["status"], wrong["run_result"]["return_code"]) == ("Failed", "Finished", 1)
    assert "ZeroDivisionError" in wrong["run_result"]["stderr"]
    late = fusion(served, "while True: pass", run_timeout=0.5)
    assert (late["status"], late["run_result"]["status"], late["run_result"]["return_code"]) == ("Failed", "TimeLimitExceeded", None)
    assert fusion(served, "x = bytearray(400 << 20)", memory_limit_MB=300)["status"] == "Failed"
    assert fusion(served, "x = bytearray(400 << 20)")["status"] == "Success"
    refused = fusion(served, "1", memory_limit_MB=1, status=400)
    assert (refused["status"], refused["run_result"]) == ("SandboxError", None) and "memory" in refused["message"], refused
    assert "../x" in fusion(served, "1", files={"../x": "eA=="})["message"]
    assert fusion(served, "print(1)", memory_limit_MB=1 << 20, compile_timeout=3)["status"] == "Success"


@pytest.mark.parametrize("more", [{"language": "cpp"}, {"fetch_files": ["a"]}, {"run_timeout": "soon"}, {"files": {"x": "not base64"}}, {"code": None}])
def test_unsupported_fusion_request_is_refused(served, more):
    reply = fusion(served, **{"code": "1", "status": 400, **more})
    assert reply["status"] == "SandboxError" and reply["message"], reply


# ---- SandboxFusion's notebooks ----


def notebook(served, *cells: str, status: int = 200, **more) -> dict:
    return served.json("POST", "/run_jupyter", {"cells": list(cells), **more}, status=status)


def test_notebook_has_cells_displays_errors_and_files(served):
    files = {"lib/helper.py": base64.b64encode(b"x = 6").decode(), "helper.py": base64.b64encode(b"x = 7").decode()}
    cells = ["import helper\na = 6 * helper.x\na", "print(a)\ndisplay('shown')\n[a]", "import sys\nsys.stderr.write('e')\n1 / 0", "open('out', 'wb').write(bytes([0, 255]))\nNone", "a"]
    got = notebook(served, *cells, files=files, fetch_files=["out", "helper.py", "none", "lib", "/etc/shadow"])
    assert (got["status"], got["message"], got["driver"]["status"], got["driver"]["return_code"]) == ("Success", "", "Finished", 0), got
    first, second, third, fourth, last = got["cells"]
    assert first == {"stdout": "", "stderr": "", "display": [{"text/plain": "42", "application/json": 42}], "status": "ok", "error": []}
    assert second["stdout"] == "42\n" and [d["text/plain"] for d in second["display"]] == ["'shown'", "[42]"] and second["display"][1]["application/json"] == [42]
    (error,) = third["error"]
    assert (third["stderr"], error["ename"], error["evalue"]) == ("e", "ZeroDivisionError", "division by zero") and error["traceback"][-1] == "ZeroDivisionError: division by zero"
    assert fourth["display"] == [] and last["display"][0]["text/plain"] == "42"
    assert got["files"] == {"out": base64.b64encode(b"\0\xff").decode(), "helper.py": files["helper.py"]}


def test_notebook_times_are_enforced(served):
    got = notebook(served, "while True: pass", "print(1)", cell_timeout=3)
    assert got["status"] == "Success" and got["cells"][0]["error"][0]["ename"] == "KeyboardInterrupt" and got["cells"][1]["stdout"] == "1\n", got
    got = notebook(served, "a = 1", "while True: pass", "print(1)", total_timeout=3)
    assert (got["status"], got["driver"]["status"], len(got["cells"])) == ("Failed", "TimeLimitExceeded", 2), got
    assert 3 <= got["driver"]["execution_time"] < 20


def test_notebook_reports_end_of_its_session(served):
    got = notebook(served, "print('a', flush=True)\nimport os\nos._exit(3)", "print(1)", fetch_files=["x"])
    assert (got["status"], len(got["cells"]), got["cells"][0]["stdout"]) == ("Failed", 1, "a\n") and "ended" in got["message"], got
    got = notebook(served, "x = bytearray(400 << 20)", memory_limit_MB=300)
    assert got["cells"][0]["error"][0]["ename"] == "MemoryError", got
    served.wait_for_no_hosted_sessions()


def test_notebook_file_is_limited_in_size(served):
    got = notebook(served, "open('big', 'wb').truncate(65 << 20)", fetch_files=["big"])
    assert got["status"] == "SandboxError" and "larger" in got["message"], got


def test_large_notebook_answer_needs_little_memory(served):
    """Empty lists are small as text and large as parsed values. The server joins the answers as text."""
    cell = "class Wide:\n    def _repr_json_(self):\n        return b'[' + b'[],' * 300_000 + b'0]'\ndisplay(Wide())"
    status, _, text = served.request("POST", "/run_jupyter", {"cells": [cell] * 12, "total_timeout": 200}, timeout=240)
    assert status == 200 and len(text) > 12 * 900_000, text[:500]
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{served.process.pid}/status").read_text())
    assert int(peak) < 300 * 1024, peak


def test_deeply_nested_json_ends_no_other_session(served):
    """These APIs serialize what code has made again. Its depth must not exceed the stack of the thread that does so."""
    code = "class Deep:\n    def _repr_json_(self):\n        return b'[' * 2040 + b']' * 2040\nDeep()"
    for path, body in (("/run_jupyter", {"cells": [code]}), ("/", {"code": code})):
        status, _, text = served.request("POST", path, body)
        assert status == 200 and b"[" * 2040 + b"]" * 2040 in text, (path, status, text[:500])


def test_numbers_beyond_double_are_values(served):
    assert served.json("POST", "/", {"code": "10 ** 30"})["result"] == str(10**30)
    assert served.json("POST", "/", {"code": "10 ** 15"})["result"] == 10**15
    assert notebook(served, "[10 ** 30]")["cells"][0]["display"][0]["text/plain"] == f"[{10**30}]"
    assert fusion(served, "10 ** 30")["run_result"]["return_code"] == piston(served, "10 ** 30")["run"]["code"] == 0


def test_client_that_leaves_ends_its_notebook(served):
    connection = served.connect()
    body = json.dumps({"cells": ["import time; time.sleep(60)", "1"]})
    begun = time.monotonic()
    connection.request("POST", "/run_jupyter", body, {"Authorization": f"Bearer {served.token}", "Content-Type": "application/json"})
    until(lambda: served.metric("remit_rooms"), "the notebook does not begin")
    connection.close()
    served.wait_for_no_hosted_sessions()
    assert time.monotonic() - begun < 20, "the notebook's timeout ended it, not the client"


@pytest.mark.parametrize(
    "more",
    [{"cells": []}, {"cells": "1"}, {"cells": [1]}, {"kernel": "r"}, {"total_timeout": 0}, {"cell_timeout": -1}, {"cell_timeout": "1"}, {"files": ["a"]}, {"files": {"a": "?"}},
     {"fetch_files": [1]}, {"fetch_files": ["a"] * 257}, {"memory_limit_MB": 1}, {"memory_limit_MB": 64.5}],
)  # fmt: skip
def test_malformed_notebook_is_refused(served, more):
    got = served.json("POST", "/run_jupyter", {"cells": ["1"], **more}, status=400)
    assert (got["status"], got["driver"], got["cells"]) == ("SandboxError", None, []) and got["message"], got


# ---- Piston ----


def piston(served, code: str, status: int = 200, **more) -> dict:
    return served.json("POST", "/api/v2/execute", {"language": "python", "version": "*", "files": [{"content": code}], **more}, status=status)


def test_modules_among_files_are_found_wherever_workspace_is(stage):
    with serve(make_remit(users()[-1], stage), "--workspace", "/home/user") as other:
        files = [{"name": "main.py", "content": "import helper, os\nprint(helper.x, __file__, os.getcwd())"}, {"name": "helper.py", "content": "x = 7"}]
        run = other.json("POST", "/api/v2/execute", {"language": "python", "version": "*", "files": files})["run"]
        assert run["stdout"] == "7 /home/user/main.py /home/user\n", run
        got = notebook(other, "import helper\nhelper.x", "open('/home/user/out', 'w').write('o')", files={"helper.py": base64.b64encode(b"x = 7").decode()}, fetch_files=["out"])
        assert got["status"] == "Success" and base64.b64decode(got["files"]["out"]) == b"o", got


def test_piston_runs_code(served):
    for path in ("/api/v2", "/api/v2/piston"):
        (runtime,) = served.json("GET", f"{path}/runtimes")
        assert runtime["language"] == "python" and "py" in runtime["aliases"] and runtime["version"] in sys.version, runtime
    code = "import sys\nfrom lib import helper\nprint(helper.x, open('b', 'rb').read(), sys.argv, input())\nprint('e', file=sys.stderr, flush=True)\nprint('o')"
    files = [
        {"name": "b", "content": "00ff", "encoding": "hex"},
        {"name": "main.py", "content": code},
        {"name": "lib/helper.py", "content": base64.b64encode(b"x = 7").decode(), "encoding": "base64"},
    ]
    got = served.json("POST", "/api/v2/piston/execute", {"language": "py", "version": runtime["version"], "files": files, "stdin": "typed", "args": ["a", "b"]})
    run = got.pop("run")
    assert got == {"language": "python", "version": runtime["version"]}
    out = "7 b'\\x00\\xff' ['/workspace/main.py', 'a', 'b'] typed\no\n"
    assert (run["stdout"], run["stderr"], run["code"], run["signal"], run["message"], run["status"]) == (out, "e\n", 0, None, None, None), run
    assert sorted(run["output"]) == sorted(out + "e\n") and run["cpu_time"] > 0 and run["wall_time"] > 0 and run["memory"] > 1 << 20
    assert served.request("POST", "/api/v2/execute", {}, token="wrong")[0] == 401
    assert served.request("GET", "/api/v2/runtimes", headers={"Host": "elsewhere.test"})[0] == 421


@pytest.mark.parametrize(
    "code, more, ended",
    [
        ("import sys; sys.exit(3)", {}, (3, None, "RE", "Exited with error status 3")),
        ("1 / 0", {}, (1, None, "RE", "Exited with error status 1")),
        ("import os; os.kill(os.getpid(), 11)", {}, (None, "SIGSEGV", "SG", "Caught fatal signal")),
        ("import time; time.sleep(9)", {"run_timeout": 300}, (None, "SIGKILL", "TO", "Time limit exceeded (wall clock)")),
        ("while True: pass", {"run_cpu_time": 300, "run_timeout": 20000}, (None, "SIGKILL", "TO", "Time limit exceeded")),
        ("x = bytearray(400 << 20)", {"run_memory_limit": 300_000_000}, (None, "SIGKILL", "SG", "Memory limit exceeded")),
        ("x = bytearray(400 << 20)", {"run_memory_limit": -1, "compile_timeout": 10000, "compile_memory_limit": -1}, (0, None, None, None)),
        ("print('x' * (3 << 20))", {}, (0, None, None, "stdout was cut at the policy's limit")),
    ],
)  # fmt: skip
def test_piston_reports_how_program_ended(served, code, more, ended):
    run = piston(served, code, **more)["run"]
    if ended[1] == "SIGKILL" and ended[2] == "SG" and run["code"] == 1:  # without a cgroup, Python gets a MemoryError
        assert "MemoryError" in run["stderr"]
    else:
        assert (run["code"], run["signal"], run["status"], run["message"]) == ended, run


@pytest.mark.parametrize(
    "more, words",
    [
        ({"language": "rust"}, "rust-* runtime is unknown"),
        ({"version": "2.x"}, "python-2.x runtime is unknown"),
        ({"version": 3}, "version is required as a string"),
        ({"language": None}, "language is required as a string"),
        ({"files": "x"}, "files is required as an array"),
        ({"files": [{"name": "a"}]}, "files[0].content is required as a string"),
        ({"files": [{"content": "eA==", "encoding": "base64"}]}, "files must include at least one utf8 encoded file"),
        ({"files": [{"content": "1"}, {"content": "0g", "encoding": "hex"}]}, "files[1].content is not hexadecimal"),
        ({"files": [{"content": "1", "encoding": "utf16"}]}, "files[0].encoding must be utf8, base64 or hex"),
        ({"files": [{"content": "1"}, {"name": "../x", "content": "1"}]}, "../x"),
        ({"run_timeout": 21000}, "run_timeout cannot exceed the configured limit of 20000"),
        ({"run_timeout": "soon"}, "If specified, run_timeout must be a number"),
        ({"run_timeout": -1}, "run_timeout must be at least 1"),
        ({"run_cpu_time": 1e18}, "run_cpu_time cannot exceed the configured limit of 30000"),
        ({"run_memory_limit": 3 << 30}, "run_memory_limit cannot exceed the configured limit of 2147483648"),
        ({"run_memory_limit": 1}, "memory"),
        ({"compile_timeout": "x"}, "If specified, compile_timeout must be a number"),
        ({"args": [1]}, "argv"),
        ({"stdin": 1}, "stdin"),
        ({"network": True}, "network"),
    ],
)  # fmt: skip
def test_malformed_piston_request_is_refused_in_piston_s_words(served, more, words):
    got = piston(served, "1", status=400, **more)
    assert got.keys() == {"message"} and words in got["message"], got


def test_key_limits_apply_to_small_apis(stage):
    remit = make_remit(users()[-1], stage)
    path = remit.folder / "small-api-keys.json"
    path.unlink(missing_ok=True)
    token = remit("serve", "--keys", path, "--add-key", "one").stdout.strip()
    document = json.loads(path.read_text())
    document["keys"][0] |= {"concurrency": 1, "policy": {"timeout": "6s", "memory_bytes": "300M"}}
    path.write_text(json.dumps(document))
    with serve(remit, "--keys", path) as one:
        one.token = token
        assert "limit of 6000" in piston(one, "1", status=400, run_timeout=7000)["message"]
        assert "limit of 314572800" in piston(one, "1", status=400, run_memory_limit=400_000_000)["message"]
        assert "MemoryError" in json.dumps(notebook(one, "x = bytearray(400 << 20)", memory_limit_MB=1000)["cells"])
        connection = one.connect()
        sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", "/run_jupyter", json.dumps({"cells": ["import time; time.sleep(30)"], "cell_timeout": 20}), sent)
        until(lambda: one.metric("remit_rooms"), "the notebook does not begin")
        assert piston(one, "1", status=429).keys() == {"message"}
        assert notebook(one, "1", status=429)["status"] == fusion(one, "1", status=429)["status"] == "SandboxError"
        # The policy's own timeout, although the request asks for more
        late = json.loads(connection.getresponse().read())
        assert late["cells"][0]["error"][0]["ename"] == "KeyboardInterrupt" and late["driver"]["execution_time"] < 20, late


def test_pypi_clients_of_small_apis_work(stage):
    """Unmodified from PyPI, with only the server's address set."""
    remit = make_remit(users()[-1], stage)
    program = shutil.copy(pathlib.Path(__file__).parent / "small_api_clients.py", remit.folder)
    with serve(remit, "--open") as one:
        done = subprocess.run(
            [str(venvs.framework("small_apis")), "-c", UNTIL_THE_LAST_LINE, program, f"http://127.0.0.1:{one.port}"], env=remit.env(), cwd=remit.folder, capture_output=True, text=True, timeout=300,
            **remit.identity(),
        )  # fmt: skip
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["code"] == ["Success", "Finished", 0, "typed\n"] and "only python" in seen["language"]
    status, driver, out, err, shown = seen["notebook"]
    assert (status, driver, out, err) == ("Success", "Finished", ["", "", "hello\n", "", "", "", ""], ["", "", "", "e\n", "", "", ""])
    assert [d["text/plain"] for cell in shown for d in cell] == ["'hello'", "2", "'hello!'"]
    assert seen["errors"] == [[], [], [], [], ["RuntimeError"], [], []] and seen["files"] == {"out.bin": "AAE="}
    assert seen["runtimes"] == [["python", True]]
    assert seen["execute"] == [True, "python", True, "hello ['a', 'b'] typed\n", "hello ['a', 'b'] typed\n", 3, None]
    assert seen["late"] == [None, "SIGKILL"] and seen["other"] == 400
