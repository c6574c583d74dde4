"""The terminal of the playground, without a browser: its parser, screen, keys and bounds, run by Node."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, skip_or_fail

sys.path.insert(0, str(ROOT / "tests" / "npm"))
import packages  # noqa: E402

PROGRAM = pathlib.Path(__file__).parent / "emulator.mjs"
SCENARIOS = re.findall(r"^\t(\w+)\(\) \{$", PROGRAM.read_text().split("const scenarios")[1], re.M)
MOST_LINES = 700


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> dict[str, str | None]:
    folder = tmp_path_factory.mktemp("emulator")
    shutil.copytree(ROOT / "web" / "vt", folder / "vt")
    (folder / "package.json").write_text('{"type": "module"}')
    try:
        node = packages.node(packages.folder("web"))
    except packages.Unavailable as e:
        skip_or_fail(str(e))
    done = subprocess.run([node, PROGRAM, folder], text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return {row["name"]: row["failure"] for row in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", SCENARIOS)
def test_emulator(outcomes, name):
    assert outcomes[name] is None, outcomes[name]


def test_output_becomes_text_only():
    """Nothing that draws a terminal can make markup, run code or reach the clipboard with what a program wrote."""
    for path in (ROOT / "web" / "vt").glob("*.js"):
        text = path.read_text()
        assert len(text.splitlines()) <= MOST_LINES, path
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|new Function|setAttribute|document\.title|\.href", text), path
    users = [path.name for path in (ROOT / "web" / "vt").glob("*.js") if "navigator.clipboard" in path.read_text()]
    # Only for text that the reader has selected or pasted
    assert users == ["view.js"]
