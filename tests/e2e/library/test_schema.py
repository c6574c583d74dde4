"""Remit's schema checker, compared with the package jsonschema on random documents."""

import collections
import json
import os
import pathlib
import subprocess

import pytest
from conftest import PYTHON, ROOT, skip_or_fail

PACKAGE = "jsonschema==4.25.1"
SEEDS = range(4)
COUNT = 1500


@pytest.fixture(scope="session")
def other(stage):
    """A Python with the package installed."""
    folder = stage / "jsonschema"
    subprocess.run([PYTHON, "-m", "venv", folder], check=True)
    done = subprocess.run([folder / "bin" / "pip", "install", "-q", PACKAGE], capture_output=True, text=True)
    if done.returncode:
        skip_or_fail(f"{PACKAGE} cannot be installed: {done.stderr[-300:]}")
    return folder / "bin" / "python"


@pytest.mark.parametrize("seed", SEEDS)
def test_schema_checkers_agree(other, seed):
    build = pathlib.Path(os.environ.get("REMIT", ROOT / "build" / "remit")).parent
    made = subprocess.run(
        [other, ROOT / "tests" / "e2e" / "library" / "schema_documents.py", str(seed), str(COUNT)], capture_output=True, text=True, check=True
    ).stdout
    assessed = subprocess.run([build / "tests" / "unit" / "schema_checker"], input=made, capture_output=True, text=True, check=True).stdout
    lines, answers = made.splitlines(), assessed.splitlines()
    assert len(lines) == len(answers) == COUNT * 6
    wrong = [(line, answer) for line, answer in zip(lines, answers) if answer != ("fits" if json.loads(line)["fits"] else "not")]
    assert not wrong, wrong[:3]
    # Both answers must be common, or nothing was compared.
    assert min(collections.Counter(answers)[v] for v in ("fits", "not")) > COUNT // 2
