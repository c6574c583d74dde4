"""The pages about Python: every block and every example runs, and blocks print the output shown below them."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from conftest import ROOT
from test_docs import blocks, shows
from test_package import clean, run_as, wheel  # noqa: F401
from venvs import PYTHON, framework

# The environment that a page or an example needs; "" is one with the package only.
PAGES = {"README.md": "", "docs/tutorial/python.md": "", "docs/guide/compat-mellea.md": "mellea", "docs/guide/frameworks.md": "agents"}
EXAMPLES = {
    "python_run.py": "", "branches.py": "", "mellea_tool.py": "mellea", "langchain_tool.py": "agents", "pydantic_ai_tool.py": "agents",
    "openai_agents_tool.py": "agents", "smolagents_executor.py": "agents", "agent_framework_codeact.py": "agents",
}  # fmt: skip

# Runs all blocks of a page in one namespace, and prints a separator after each block.
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
namespace = {"__name__": "__main__"}
for path in sys.argv[2:]:
    exec(compile(open(path).read(), path, "exec"), namespace)
    print("\\0", end="")
"""


def needs(name: str, clean) -> pathlib.Path:  # noqa: F811
    return framework(name) if name else clean


@pytest.mark.parametrize("page", PAGES)
def test_every_block_prints_the_documented_output(remit, stage, clean, page):  # noqa: F811
    python = needs(PAGES[page], clean)
    found = blocks(ROOT / page)
    shown = [(one, behind) for one, behind in zip(found, [*found[1:], None]) if one.kind == "python"]
    assert shown
    files = [remit.file(f"blocks/{number}.py", one.text) for number, (one, _) in enumerate(shown)]
    done = run_as(remit, python, "-c", RUN, stage / "unpacked", *files)
    assert done.returncode == 0, done.stderr[-3000:]
    for (one, behind), printed in zip(shown, done.stdout.split("\0")):
        wanted = behind.text if behind is not None and behind.kind == "text" and one.end + 1 == behind.start else ""
        assert shows(wanted, printed), f"{page}:{one.line}\nwanted:\n{wanted}\ngot:\n{printed}"


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_runs(any_remit, stage, clean, name):  # noqa: F811
    python = needs(EXAMPLES[name], clean)
    path = any_remit.file(name, (ROOT / "examples" / name).read_text())
    done = run_as(any_remit, python, path, env=any_remit.env({"PYTHONPATH": str(stage / "unpacked")}))
    assert done.returncode == 0 and done.stdout, done


def test_every_example_and_page_is_listed():
    importing = [p.name for p in (ROOT / "examples").glob("*.py") if re.search(r"^(import|from) remit\b", p.read_text(), re.M)]
    assert sorted(importing) == sorted(EXAMPLES)
    pages = [
        str(p.relative_to(ROOT))
        for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
        if any(b.kind == "python" and re.search(r"(import|from) remit\b", b.text) for b in blocks(p))
    ]
    assert sorted(pages) == sorted(PAGES)


def test_api_reference_is_current(clean, stage):  # noqa: F811
    made = subprocess.run(
        [PYTHON, ROOT / "tools" / "python_api.py"], env={"PYTHONPATH": str(stage / "unpacked")}, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout == (ROOT / "docs" / "reference" / "python-api.md").read_text(), "regenerate it with tools/python_api.py"
