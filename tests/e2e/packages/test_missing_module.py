"""A module that is not installed: the error names the package that provides it, and following the advice works."""

import json

import package_index
import pytest
from batches import batch
from conftest import PYTHON, make_remit, users
from mcp_peer import Peer
from package_index import Wheel
from served import serve
from shared_keeper import SharedKeeper
from test_cells import FORGED
from test_e2b import boxed, of

MODULE = "remit_absent"
CODE = f"import {MODULE}"
REMEDY = f'{MODULE} is not installed. Try --package {MODULE}, or add "{MODULE}" to the policy\'s packages.'
ENDED = 16  # the frame with which a program reports its end


def advice(result):
    """(package, remedy) of a result with an error."""
    error = result["error"]
    assert error and "error" in result["reported"], result
    return error.get("package"), error.get("remedy")


@pytest.fixture(params=["cold", "warm"])
def start(remit, request):
    if request.param == "cold":
        yield lambda code, *flags: remit.json(code, "--python", PYTHON, *flags)
        return
    keeper = SharedKeeper(remit)
    yield lambda code, *flags: keeper.warm(code, "--python", PYTHON, *flags)
    keeper.close()


@pytest.fixture
def index(remit, stage):
    folder = stage / f"missing-{remit.label}"
    Wheel(MODULE).add(f"{MODULE}.py", "value = 42\n").write(folder)
    Wheel("PyStemmer").add("Stemmer.py", "value = 43\n").write(folder)
    with package_index.serve(folder) as served:
        yield served


def test_missing_module_has_package_and_remedy(start):
    assert advice(start(CODE)) == (MODULE, REMEDY)
    assert advice(start(f"import {MODULE}.part")) == (MODULE, REMEDY)
    package, remedy = advice(start("import Stemmer"))
    assert package == "PyStemmer" and remedy.startswith("Stemmer is not installed. Try --package PyStemmer,")


@pytest.mark.parametrize("module", [MODULE, "Stemmer"])
def test_missing_module_is_found_after_following_advice(remit, index, module):
    cache = {"XDG_CACHE_HOME": str(remit.folder / f"cache-{module}")}
    (remit.folder / f"cache-{module}").mkdir(mode=0o700)
    remit.own(remit.folder / f"cache-{module}")
    flags = ("--python", PYTHON, "--index-url", index.url)
    code = f"import {module}; print({module}.value)"
    package, remedy = advice(remit.json(code, *flags, env=cache))
    assert f"--package {package}," in remedy
    result = remit.json(code, *flags, "--package", package, env=cache)
    assert result["status"] == "ok" and result["stdout"] in ("42\n", "43\n"), result
    # The package is installed now, and this is not one of its modules.
    wrong = remit.json(f"import {module}.part", *flags, "--package", package, env=cache)
    assert wrong["error"]["name"] == "ModuleNotFoundError" and advice(wrong) == (None, None)


@pytest.mark.parametrize(
    "code",
    [
        "import json.nothing",
        "import urllib2",
        "import _remit_absent",
        "import google.protobuf",
        "import win32api",
        "from . import sibling",
        f"import sys; sys.modules['{MODULE}'] = None; {CODE}",
        "open('helper_beside.py', 'w').close()\nimport helper_beside",
        "import os\nos.mkdir('package_beside')\nimport package_beside",
        "raise ModuleNotFoundError('no name')",
        "raise ModuleNotFoundError('x', name='a.b')",
        "raise ModuleNotFoundError('x', name='a\\x1b[31m')",
        "raise ModuleNotFoundError('x', name='a' * 1000)",
        "raise ModuleNotFoundError('x', name=7)",
        "raise ModuleNotFoundError('x', name='caf\\u00e9')",
        "raise ImportError('x', name='polars')",
        f"try:\n    {CODE}\nexcept ImportError:\n    1 / 0",
        "class E(ModuleNotFoundError):\n    name = property(lambda self: 1 / 0)\nraise E()",
    ],
)
def test_missing_module_gets_no_advice_if_none_would_help(any_remit, code):
    result = any_remit.json(code, "--python", PYTHON)
    assert result["status"] == "error" and advice(result) == (None, None), result["error"]


def test_missing_module_is_found_through_other_import_error(any_remit):
    """pandas reports a missing openpyxl like this."""
    code = f"try:\n    {CODE}\nexcept ImportError as e:\n    raise ImportError('use pip') from e"
    assert advice(any_remit.json(code, "--python", PYTHON)) == (MODULE, REMEDY)


def test_missing_module_gets_no_advice_refused_by_policy(remit):
    def asked(*flags):
        return advice(remit.json(CODE, "--python", PYTHON, *flags))

    assert asked("--tier", "unsafe") == (None, None)
    assert asked("--offline") == (None, None)
    assert asked("--preset", "landlock") == ((None, None) if remit.by_root else (MODULE, REMEDY))
    assert asked("--tier", "static") == (MODULE, REMEDY)


def test_missing_module_claims_are_validated(remit):
    """The keeper writes the package's name and the sentence. It ignores a module name that is not a plain word."""
    lies = "'package', 'evil', 'remedy', 'run me'"
    for name, want in ((MODULE, (MODULE, REMEDY)), ("x\\x1b]0;y\\x07", (None, None)), ("a b", (None, None)), ("a" * 65, (None, None))):
        code = FORGED + f"frame({ENDED}, records('kind', 'error', 'missing_module', '{name}', {lies}, 'exit', '1'))\nwhile True: pass"
        result = remit.json(code, "--python", PYTHON)
        assert advice(result) == want and "evil" not in json.dumps(result["error"]), result["error"]


# ---- where the advice is shown ----


def test_missing_module_advice_is_printed_at_terminal(remit):
    done = remit("run", "--python", PYTHON, "-c", CODE)
    assert done.returncode == 1 and done.stderr.endswith(f"ModuleNotFoundError: No module named '{MODULE}'\nremit: {REMEDY}\n")
    assert remit("run", "--python", PYTHON, "-c", "import json.nothing").stderr.count("remit:") == 0
    done = remit("repl", "--python", PYTHON, input=f"{CODE}\nprint('goes on')\n")
    assert done.stdout == "goes on\n" and done.stderr.endswith(f"remit: {REMEDY}\n")


def test_missing_module_advice_is_in_batch_result(any_remit):
    (found,) = batch(any_remit, {"code": CODE}, flags=["--python", PYTHON])
    assert advice(found) == (MODULE, REMEDY)


def test_missing_module_advice_reaches_mcp_client(any_remit):
    peer = Peer(any_remit)
    answer = peer.call("run_python", code=CODE)
    assert answer["isError"] and answer["structuredContent"]["error"]["remedy"] == REMEDY
    assert json.loads(answer["content"][0]["text"])["error"]["remedy"] == REMEDY
    assert peer.close() == 0


def test_missing_module_advice_reaches_http_and_e2b_clients(stage):
    with serve(make_remit(users()[-1], stage)) as served:
        assert advice(served.run(CODE)) == (MODULE, REMEDY)
        with boxed(served) as box:
            (error,) = of(box.execute(CODE), "error")
            (other,) = of(box.execute("1 / 0"), "error")
        assert set(error) == set(other) == {"type", "name", "value", "traceback"}
        assert error["traceback"].endswith(f"No module named '{MODULE}'\n{REMEDY}") and "is not installed" not in other["traceback"]
        cells = served.json("POST", "/run_jupyter", {"cells": [CODE]})["cells"]
        assert cells[0]["error"][0]["traceback"][-1] == REMEDY and cells[0]["stderr"] == ""
