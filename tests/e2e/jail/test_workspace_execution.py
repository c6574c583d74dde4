"""Executing what code wrote: the policy field workspace_execution."""

from __future__ import annotations

import base64
import json
import pathlib
import shutil
import tempfile

import pytest
from conftest import enforced
from served import serve
from shared_keeper import SharedKeeper
from test_e2b import COMMANDS, boxed

PROGRAMS = ("--subprocess", "--memory-fallback", "per_process", "--cpu-fallback", "per_process")
GRANTED = (*PROGRAMS, "--workspace-exec")

SCRIPT = "import os, subprocess\nopen('a.sh', 'w').write('#!/bin/sh\\necho ran $1\\n')\nos.chmod('a.sh', 0o755)\n"


@pytest.fixture(params=["cold", "warm"])
def run(request, remit):
    """Runs programs in a jail made for each, or below a shared keeper that keeps jails ready (as an ordinary user)."""
    if request.param == "cold":
        yield lambda code, *flags: remit.json(code, *flags, env={"REMIT_KEEPER": ""})
        return
    keeper = SharedKeeper(remit)
    yield keeper.json if remit.by_root else keeper.warm
    keeper.close()


def test_script_and_program_of_workspace_run_only_with_field(run, remit, covers):
    code = SCRIPT + "import shutil, sys\nshutil.copyfile(os.path.realpath(sys.executable), '/tmp/own')\nos.chmod('/tmp/own', 0o755)\n" + (
        "print(subprocess.run(['./a.sh', 'here'], capture_output=True, text=True).stdout, end='')\n"
        "print(subprocess.run(['/tmp/own', '-I', '-S', '-c', 'print(1 + 1)'], capture_output=True, text=True).stdout, end='')\n"
        "print(subprocess.run('. ./a.sh; ./a.sh there', shell=True, capture_output=True, text=True).stdout, end='')"
    )
    result = run(code, *GRANTED)
    assert (result["status"], result["stdout"]) == ("ok", "ran here\n2\nran\nran there\n"), result
    (row,) = [r for r in result["enforcement"] if r["field"] == "workspace_execution"]
    assert (row["value"], row["strength"], row["mechanisms"]) == (True, "granted", [])

    result = run(code, *PROGRAMS)
    assert result["status"] == "error" and result["error"]["name"] == "PermissionError" and result["stdout"] == "", result
    assert enforced(result, "workspace_execution") == ["landlock", "noexec_mount"]
    covers(remit, "workspace_execution", "landlock", "noexec_mount")


def test_refused_program_of_workspace_names_field(run):
    result = run(SCRIPT + "subprocess.run(['./a.sh'])", *PROGRAMS)
    assert result["denials"] == [
        {"source": "reported", "syscall": None, "what": None, "count": 1, "field": "workspace_execution",
         "flag": "--workspace-exec", "reported": {"path": "/workspace/a.sh", "errno": "EACCES"}},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        "os.chmod('a.sh', 0o644); subprocess.run(['./a.sh'])",
        "os.chmod('a.sh', 0o055); open('a.sh')",
        "os.chmod('a.sh', 0o500); open('a.sh', 'w')",
        "os.mkdir('d'); os.rename('a.sh', 'd/a.sh'); os.chmod('d', 0o500); os.unlink('d/a.sh')",
        "os.mkdir('/tmp/d', 0o755); subprocess.run(['/tmp/d'])",
        "import shutil; shutil.copy('a.sh', '/dev/shm'); subprocess.run(['/dev/shm/a.sh'])",
    ],
)
def test_other_errors_in_workspace_do_not_name_field(remit, code):
    result = remit.json(SCRIPT + code, *PROGRAMS, env={"REMIT_KEEPER": ""})
    assert result["error"]["name"] == "PermissionError" and result["denials"] == [], result


def test_field_without_subprocesses_is_refused_with_remedy(remit):
    result = remit.json("print(1)", "--workspace-exec")
    error = result["error"]
    assert (result["status"], error["where"]) == ("refused", "workspace_execution")
    assert "--subprocess --workspace-exec" in error["remedy"] and "subprocess_execution is off" in error["value"]


def test_execution_reaches_no_folder_of_host_and_no_shared_memory(remit):
    """Only the private workspace, at its place and by its aliases, and /tmp are executable."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="remit-exec-", dir="/var/tmp"))
    try:
        for name in ("ro", "overlay"):
            (folder / name).mkdir()
            (folder / name / "a.sh").write_text("#!/bin/sh\necho ran\n")
            (folder / name / "a.sh").chmod(0o755)
        folder.chmod(0o755)
        flags = [f for m in ("ro", "overlay") for f in ("--mount", f"{folder}/{m}:/work/{m}:{m}")]
        code = SCRIPT + (
            "import shutil\nfor place in ('/tmp', '/dev/shm'): shutil.copy('a.sh', place)\n"
            "for path in ('/work/a.sh', '/alias/a.sh', '/tmp/a.sh', '/dev/shm/a.sh', '/work/ro/a.sh', '/work/overlay/a.sh'):\n"
            "    try: print(path, subprocess.run([path], capture_output=True, text=True).stdout.strip())\n"
            "    except OSError as e: print(path, type(e).__name__)\n"
            "for path in ('/work', '/tmp', '/work/ro', '/work/overlay', '/dev/shm', '/'):\n"
            "    f = os.statvfs(path).f_flag; print(path, bool(f & os.ST_NOSUID), bool(f & os.ST_NODEV), bool(f & os.ST_NOEXEC))\n"
        )
        result = remit.json(code, *GRANTED, "--workspace", "/work", "--workspace-alias", "/alias", *flags)
        assert result["stdout"].splitlines() == [
            "/work/a.sh ran", "/alias/a.sh ran", "/tmp/a.sh ran", "/dev/shm/a.sh PermissionError",
            "/work/ro/a.sh PermissionError", "/work/overlay/a.sh PermissionError",
            "/work True True False", "/tmp True True False", "/work/ro True True True", "/work/overlay True True True",
            "/dev/shm True True True", "/ True True True",
        ], result  # fmt: skip
    finally:
        shutil.rmtree(folder)


def test_virtual_environment_and_compiled_program_run(remit):
    """What the field is for: build tools, tests and environments that start what they have made."""
    code = (
        "import os, shutil, subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'venv', '--without-pip', 'v'], check=True)\n"
        "open('v/bin/tool', 'w').write('#!/workspace/v/bin/python3\\nimport sys; print(sys.prefix)\\n')\n"
        "os.chmod('v/bin/tool', 0o755)\n"
        "print(subprocess.run(['v/bin/tool'], capture_output=True, text=True, check=True).stdout.strip())\n"
        "if shutil.which('gcc'):\n"
        "    open('m.c', 'w').write('#include <stdio.h>\\nint main(void) { return puts(\"compiled\") < 0; }')\n"
        "    subprocess.run(['gcc', '-o', 'm', 'm.c'], check=True)\n"
        "    print(subprocess.run(['./m'], capture_output=True, text=True, check=True).stdout.strip())\n"
    )
    result = remit.json(code, *GRANTED, "--memory", "1G")
    assert result["status"] == "ok", result
    assert result["stdout"].splitlines() == ["/workspace/v"] + (["compiled"] if shutil.which("gcc") else []), result


def test_instructions_state_what_can_be_executed(remit):
    without = remit("instructions", *PROGRAMS).stdout
    granted = remit("instructions", *GRANTED).stdout
    assert "cannot be executed directly" in without and "sh script.sh" in without
    assert "also those written or compiled here" in granted and "cannot be executed" not in granted


def test_warm_jail_of_one_policy_serves_no_other(remit):
    """A keeper that has waiting jails with the field never gives one to a policy without it."""
    keeper = SharedKeeper(remit)
    # Root's jails with programs are made for each run.
    run = keeper.json if remit.by_root else keeper.warm
    try:
        code = SCRIPT + "try: print(subprocess.run(['./a.sh']).returncode)\nexcept OSError as e: print(type(e).__name__)"
        for _ in range(3):
            assert run(code, *GRANTED)["stdout"] == "ran\n0\n"
            assert run(code, *PROGRAMS)["stdout"] == "PermissionError\n"
    finally:
        keeper.close()


# ---- servers ----

RUN = SCRIPT + "try: print(subprocess.run(['./a.sh'], capture_output=True, text=True).stdout.strip())\nexcept OSError as e: print(type(e).__name__)"
LIMITS = {"memory_fallback": "per_process", "cpu_fallback": "per_process", "subprocess_execution": True}


def test_key_gets_field_only_if_its_policy_has_it(remit):
    path = remit.folder / "execution-keys"
    path.unlink(missing_ok=True)
    plain, granted = (remit("serve", "--keys", path, "--add-key", name).stdout.strip() for name in ("plain", "granted"))
    document = json.loads(path.read_text())
    document["keys"][1] |= {"policy": {**LIMITS, "workspace_execution": True}}
    path.write_text(json.dumps(document))
    wish = {"code": RUN, "policy": {**LIMITS, "workspace_execution": True}}
    with serve(remit, "--keys", path) as s:
        status, _, text = s.request("POST", "/v1/runs", wish, token=plain)
        assert status == 403 and json.loads(text)["error"]["where"] == "workspace_execution", text
        assert s.json("POST", "/v1/runs", wish, token=granted)["stdout"] == "ran\n"
        narrower = {"code": RUN, "policy": {**LIMITS, "workspace_execution": False}}
        assert s.json("POST", "/v1/runs", narrower, token=granted)["stdout"] == "PermissionError\n"


@pytest.mark.parametrize("granted", [False, True])
def test_e2b_command_executes_file_that_client_wrote(remit, granted):
    script = base64.b64encode(b"#!/bin/sh\necho ran\n").decode()
    with serve(remit, *COMMANDS, *(["--workspace-exec"] if granted else [])) as s, boxed(s) as box:
        events = box.command(f"echo {script} | base64 -d > a.sh; chmod +x a.sh; ./a.sh 2>&1; echo $?")
        shown = b"".join(base64.b64decode(e["event"]["data"].get("stdout", "")) for e in events if "data" in e.get("event", {}))
        assert shown.split()[-2:] == ([b"ran", b"0"] if granted else [b"denied", b"126"]), shown
