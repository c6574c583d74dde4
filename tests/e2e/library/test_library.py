"""The installed libremit as a C program uses it."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import ROOT


@pytest.fixture(scope="session")
def prefix(stage):
    """An installation of this build."""
    build = pathlib.Path(os.environ.get("REMIT", ROOT / "build" / "remit")).parent
    destination = stage / "root"
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", destination], check=True)
    subprocess.run(["chmod", "-R", "a+rX", destination], check=True)
    return next(destination.rglob("bin/remit")).parents[1]


def compile_with(prefix, source, output):
    config = next(prefix.rglob("remit.pc"))
    env = {**os.environ, "PKG_CONFIG_PATH": str(config.parent), "PKG_CONFIG_SYSROOT_DIR": str(prefix).removesuffix("/usr/local")}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "remit"], capture_output=True, text=True, check=True, env=env)
    library = next(prefix.rglob("libremit.so")).parent
    subprocess.run(
        ["cc", "-Wall", "-Wextra", "-Werror", source, *flags.stdout.split(), "-pthread", f"-Wl,-rpath,{library}", "-o", output],
        check=True,
    )


def run_as(remit, program, *args):
    return subprocess.run([program, *args], env=remit.env(), cwd=remit.folder, capture_output=True, text=True, timeout=300, **remit.identity())


def test_example_builds_and_runs_with_installed_library(remit, prefix, stage):
    compile_with(prefix, ROOT / "examples" / "hello.c", stage / "hello")
    done = run_as(remit, stage / "hello")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok: hello from process 2\n", "")


def test_threads_share_one_handle(remit, prefix, stage):
    compile_with(prefix, ROOT / "tests" / "e2e" / "library" / "threads.c", stage / "threads")
    done = run_as(remit, stage / "threads", "8", "5")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_thousand_runs_at_once_are_answered(remit, prefix, stage):
    """One keeper queues all of them, and each gets its own result."""
    compile_with(prefix, ROOT / "tests" / "e2e" / "library" / "threads.c", stage / "threads")
    done = run_as(remit, stage / "threads", "1000", "1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_connection_is_kept_after_complete_answer(remit, prefix, stage):
    compile_with(prefix, ROOT / "tests" / "e2e" / "library" / "connections.c", stage / "connections")
    done = run_as(remit, stage / "connections")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_files_go_in_and_out_of_library(remit, prefix, stage):
    compile_with(prefix, ROOT / "tests" / "e2e" / "library" / "files.c", stage / "files")
    folder = remit.folder / f"library-{os.getpid()}"
    result = json.loads(run_as(remit, stage / "files", remit.file("inputs/from-disk", "of the disk"), folder).stdout)
    assert result["status"] == "ok" and [a["path"] for a in result["artifacts"]] == ["both"], result
    assert (folder / "both").read_bytes() == b"a\0bof the disk"
    # Without a folder nothing is exported, and that is not an error.
    result = json.loads(run_as(remit, stage / "files", remit.file("inputs/from-disk", "")).stdout)
    assert (result["status"], result["artifacts"], result["artifacts_skipped"]) == ("ok", [], []), result
    done = run_as(remit, stage / "files", remit.folder / "missing")
    assert done.returncode == 1 and "missing" in done.stderr and done.stdout == ""


def test_installed_command_works(remit, prefix):
    done = subprocess.run(
        [prefix / "bin" / "remit", "run", "-c", "print(1)"], env=remit.env(), cwd=remit.folder,
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, **remit.identity(),
    )  # fmt: skip
    assert done.stdout == "1\n", done


def test_library_reports_missing_keeper(stage, prefix):
    """A missing keeper is an error: the library neither exits nor prints."""
    source = stage / "wrong.c"
    source.write_text(
        '#include <remit.h>\n#include <stdio.h>\nint main(void) { struct remit_options o = { .command_path = "/nowhere/remit" };'
        " struct remit_error e; struct remit *r; int f = remit_open(&r, &o, &e); printf(\"%d %s\", f, e.message); return 0; }"
    )
    compile_with(prefix, source, stage / "wrong")
    done = subprocess.run([stage / "wrong"], capture_output=True, text=True)
    assert done.stdout.startswith("-1 start the keeper /nowhere/remit") and done.stderr == ""
