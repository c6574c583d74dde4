"""Every CPython from 3.9 on: Debian's, pyenv's, and virtual environments."""

import glob
import json
import os
import pathlib
import stat
import subprocess

import pytest
from conftest import PYTHON, skip_or_fail

PYENV = sorted(glob.glob("/root/.pyenv/versions/*/bin/python"), key=lambda p: [int(n) for n in p.split("/")[4].split(".")])
NEW = [p for p in PYENV if int(p.split("/")[4].split(".")[0]) == 3 and int(p.split("/")[4].split(".")[1]) >= 9]
OLD = [p for p in PYENV if p not in NEW]


def test_every_supported_version_is_present(stage):
    """3.14 is tested on a separate machine (tests/newcomer)."""
    found = {".".join(python.split("/")[4].split(".")[:2]) for python in NEW}
    missing = {f"3.{minor}" for minor in range(9, 14)} - found
    if missing:
        skip_or_fail(f"not in /root/.pyenv/versions: CPython {', '.join(sorted(missing))}")


@pytest.mark.parametrize("python", NEW or ["none"])
def test_every_installed_python_runs_code(stage, python):
    from conftest import make_remit, users

    if "root" not in users() or python == "none":
        skip_or_fail("the other interpreters belong to root")
    remit = make_remit("root", stage)
    code = (
        "import sys, ssl, sqlite3, ctypes, asyncio, json, threading\n"
        "print('%d.%d.%d' % sys.version_info[:3], sys.executable)\n"
        "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
        "print(asyncio.run(asyncio.sleep(0, 'async')))\n"
        "try: __import__('subprocess').run(['/bin/true'])\n"
        "except PermissionError: print('refused')\n"
    )
    result = remit.json(code, "--python", python)
    assert result["status"] == "ok", result
    version, executable = result["stdout"].split()[:2]
    assert version == python.split("/")[4] and executable == python
    assert result["stdout"].split()[2:] == ["thread", "async", "refused"]


TEXT = """
import sys
sys.path.insert(0, sys.argv[1])
import _remit
count = _remit.collapse_text()
import decimal, json
maps = open("/proc/self/smaps").read().split("VmFlags:")
# All of the text is in huge pages, and it is not writable.
huge = [m for m in maps if "AnonHugePages:      2048 kB" in m and " r-xp " in m]
print(json.dumps([count, len(huge), str(sum(map(decimal.Decimal, range(1000))))]))
"""


@pytest.mark.parametrize("python", [PYTHON, *NEW])
def test_program_text_is_moved_to_huge_pages_and_still_runs(stage, python):
    if os.geteuid() != 0 and python != PYTHON:
        skip_or_fail("the other interpreters belong to root")
    done = subprocess.run([python, "-I", "-c", TEXT, stage / "bin" / "runtime"], capture_output=True, text=True, check=True)
    count, huge, total = json.loads(done.stdout)
    assert (huge, total) == (count, "499500")
    if not count:
        skip_or_fail("the kernel makes no huge pages on demand")


@pytest.mark.parametrize("python", OLD or ["none"])
def test_old_python_is_refused(stage, python):
    from conftest import make_remit, users

    if "root" not in users() or python == "none":
        skip_or_fail("the other interpreters belong to root")
    result = make_remit("root", stage).json("print('ran')", "--python", python)
    assert result["status"] == "refused" and result["error"]["where"] == "python" and result["stdout"] == ""


def test_python_on_path_may_be_shim(remit):
    """A shim is a script on PATH that starts an interpreter, as pyenv installs them."""
    shim = remit.file("bin/python3", f"#!/bin/sh\nexec {PYTHON} \"$@\"\n")
    shim.chmod(0o755)
    path = f"{shim.parent}:/usr/bin:/bin"
    for _ in range(2):  # the first run queries the interpreter, the second uses the cache
        assert remit.json("import sys; print(sys.executable)", env={"PATH": path})["stdout"] == f"{PYTHON}\n"


def test_venv_has_its_packages(remit):
    venv = remit.folder / "venv"
    if not venv.exists():
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", venv], check=True, env=remit.env(), **remit.identity())
    site = next(venv.glob("lib/python3*/site-packages"))
    (site / "only_here.py").write_text("value = 'from the venv'\n")
    code = "import sys, only_here; print(only_here.value, sys.prefix, sys.executable, sys.prefix != sys.base_prefix)"
    result = remit.json(code, "--python", venv / "bin" / "python")
    assert result["stdout"] == f"from the venv {venv} {venv}/bin/python True\n", result


def test_editable_install_needs_read_root_for_its_folder(remit):
    venv = remit.folder / "venv-editable"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", venv], check=True, env=remit.env(), **remit.identity())
    source = remit.file("src/mine.py", "value = 'editable'\n").parent
    site = next(venv.glob("lib/python3*/site-packages"))
    (site / "__editable__.mine.pth").write_text(f"{source}\n")
    python = venv / "bin" / "python"
    assert remit.json("import mine", "--python", python)["error"]["name"] == "ModuleNotFoundError"
    assert remit.json("import mine; print(mine.value)", "--python", python, "--read", source)["stdout"] == "editable\n"


def test_package_installed_after_first_run_is_found(remit):
    """The cached answer of an interpreter is valid until its folders change."""
    venv = remit.folder / "venv-later"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", "--clear", venv], check=True, env=remit.env(), **remit.identity())
    source, python = remit.file("later/mine.py", "value = 'later'\n").parent, venv / "bin" / "python"
    assert remit.json("pass", "--python", python)["status"] == "ok"
    site = next(venv.glob("lib/python3*/site-packages"))
    (site / "__editable__.mine.pth").write_text(f"import sys; sys.path.append({str(source)!r})\n")
    assert remit.json("import mine; print(mine.value)", "--python", python, "--read", source)["stdout"] == "later\n"


@pytest.mark.parametrize(
    "name,content,mode,words",
    [
        ("missing", None, 0, "No such file"),
        ("folder", "dir", 0, "not an executable file"),
        ("noexec", "#!/bin/sh\n", 0o644, "not an executable file"),
        ("silent", "#!/bin/sh\nexit 0\n", 0o755, "malformed"),
        ("failing", "#!/bin/sh\nexit 3\n", 0o755, "did not answer"),
        ("liar", "#!/bin/sh\necho '{\"version\": [3, 99, 0]}'\n", 0o755, ""),
        ("garbage", b"\x7fELF garbage", 0o755, "cannot be started"),
        ("free", '#!/bin/sh\necho \'{"version": [3, 13, 0], "implementation": "cpython", "free_threaded": true, "executable": "/x"}\'\n', 0o755, "free-threaded"),
        ("pypy", '#!/bin/sh\necho \'{"version": [3, 10, 0], "implementation": "pypy", "executable": "/x"}\'\n', 0o755, "not CPython"),
    ],
)
def test_unusable_python_is_refused(any_remit, name, content, mode, words):
    path = any_remit.folder / f"py-{name}"
    if content == "dir":
        path.mkdir(exist_ok=True)
    elif content is not None:
        any_remit.file(path.name, content).chmod(mode)
    result = any_remit.json("print('ran')", "--python", path)
    assert result["status"] == "refused" and result["stdout"] == "", result
    assert words in result["error"]["value"], result["error"]


def test_only_remit_s_code_runs_before_lockdown(remit):
    """Modules with the names of the runner's or of the standard library's do not run before the lock-down."""
    root = remit.file("evil/posix.py", "print('evil')").parent
    for name in ("records.py", "runner.py", "_remit.py", "sitecustomize.py", "usercustomize.py", "encodings.py"):
        remit.file(f"evil/{name}", "print('evil')")
    result = remit.json("print('fine')", "--read", root, "--env", f"PYTHONPATH={root}")
    assert result["stdout"] == "fine\n"
