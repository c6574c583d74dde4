"""Programs that code starts (`--subprocess`) find what they need, and nothing else."""

from __future__ import annotations

import json
import pathlib
import subprocess
import tempfile

import pytest
from conftest import PYTHON, skip_or_fail


@pytest.fixture
def flags(remit):
    """An ordinary user cannot write cgroups, and must accept limits of each process."""
    return ["--subprocess"] + ([] if remit.by_root else ["--memory-fallback", "per_process", "--cpu-fallback", "per_process"])


def shell(remit, flags, script: str) -> tuple[int, str]:
    """A script's exit code and output."""
    code = (
        "import json, subprocess\n"
        f"p = subprocess.run({script!r}, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)\n"
        "print(json.dumps([p.returncode, p.stdout]))"
    )
    result = remit.json(code, *flags)
    assert result["status"] == "ok", result
    code, text = json.loads(result["stdout"])
    return code, text


def need(*programs: str) -> None:
    for program in programs:
        if not pathlib.Path(f"/usr/bin/{program}").exists():
            skip_or_fail(f"/usr/bin/{program} does not exist here")


def test_git_finds_its_helpers(remit, flags):
    need("git")
    assert shell(remit, flags, "git init -q here && git -C here status --short && git -C here stash list") == (0, "")
    code, text = shell(remit, flags, "git clone -q https://127.0.0.1/x")
    # Without its helper git does not get as far as the network.
    assert code == 128 and "is not a git command" not in text and "unable to access 'https://127.0.0.1/x/'" in text, text


def test_a_compiler_compiles_and_what_it_made_does_not_run(remit, flags):
    need("gcc")
    script = (
        "echo '#include <stdio.h>' > a.c; echo 'int main(void) { return puts(\"ran\") < 0; }' >> a.c\n"
        "gcc a.c -o a && gcc -shared -fPIC a.c -o a.so && test -s a && echo made; ./a || echo $?"
    )
    code, text = shell(remit, flags, script)
    assert text.startswith("made\n") and text.endswith("126\n") and "ran" not in text, text


def test_file_knows_its_magic_numbers(remit, flags):
    need("file")
    assert "ELF 64-bit" in shell(remit, flags, "file -L /usr/bin/file")[1]


# The prefix of a child by each name.
ASK = (
    "import os, subprocess, sys\n"
    "one = 'import sys; print(sys.prefix, sys.base_prefix == sys.prefix)'\n"
    "for name in (sys.executable, 'python', 'python3'):\n"
    "    print(subprocess.run([name, '-c', one], capture_output=True, text=True))\n"
)


def children(remit, *flags) -> list[str]:
    result = remit.json(ASK, *flags)
    assert result["status"] == "ok", result
    return [line.split("stdout='")[1].split("\\n'")[0] for line in result["stdout"].splitlines()]


def test_python_and_python3_are_the_interpreter(remit, flags):
    assert children(remit, *flags) == ["/usr True"] * 3


@pytest.mark.parametrize("below", ["/var/tmp", "/tmp"])
def test_children_of_a_venv_are_in_it(remit, flags, below):
    with tempfile.TemporaryDirectory(prefix="remit-venv-", dir=below) as folder:
        pathlib.Path(folder).chmod(0o755)
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", f"{folder}/venv"], check=True)
        (pathlib.Path(folder) / "venv" / "bin" / "tool").write_text("#!/bin/sh\necho tool\n")
        (pathlib.Path(folder) / "venv" / "bin" / "tool").chmod(0o755)
        python = ("--python", f"{folder}/venv/bin/python")
        assert children(remit, *python, *flags) == [f"{folder}/venv False"] * 3
        # Libraries start interpreters with the flags of this one.
        (site,) = pathlib.Path(folder).glob("venv/lib/python*/site-packages")
        (site / "of_the_venv.py").write_text("")
        code = (
            "import multiprocessing.util, subprocess, sys\n"
            "for flags in (subprocess._args_from_interpreter_flags(), multiprocessing.util._args_from_interpreter_flags()):\n"
            "    subprocess.run([sys.executable, *flags, '-c', 'import of_the_venv; print(of_the_venv.__name__)'], check=True)"
        )
        assert remit.json(code, *python, *flags)["stdout"] == "of_the_venv\nof_the_venv\n"
        assert shell(remit, [*python, *flags], "tool; echo $PATH") == (0, f"tool\n{folder}/venv/bin:/usr/local/bin:/usr/bin:/bin\n")


def test_the_folder_of_a_linked_interpreter_is_not_shown(remit, flags):
    """A link to an interpreter may be in the caller's home."""
    link = remit.file("home/notes.txt", "of the caller").parent / "python3"
    if not link.is_symlink():
        link.symlink_to(PYTHON)
    found = children(remit, "--python", link, *flags)
    assert found == ["/usr True"] * 3
    code, text = shell(remit, ["--python", link, *flags], f"cat {link.parent}/notes.txt; ls {link.parent}")
    assert code and "of the caller" not in text and "Permission denied" in text, text


def test_without_programs_nothing_of_them_is_seen(remit):
    paths = ["/usr/bin/env", "/usr/lib/git-core", "/usr/lib/gcc", "/usr/libexec", "/usr/include/stdio.h"]
    result = remit.json(f"import os; print([p for p in {paths!r} if os.path.exists(p)], os.environ['PATH'])")
    assert result["stdout"] == "[] /usr/local/bin:/usr/bin:/bin\n"
