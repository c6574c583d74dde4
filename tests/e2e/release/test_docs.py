"""The documents are correct: every command in them runs, and every list is complete."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, skip_or_fail

sys.path.insert(0, str(ROOT / "tests"))
import documents  # noqa: E402
import prose  # noqa: E402
from documents import blocks, commands, demo_output, difference, shows  # noqa: E402

BUILD = pathlib.Path(os.environ.get("REMIT", ROOT / "build" / "remit")).parent
DECISIONS = ROOT / "docs" / "design" / "decisions"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
DECISION_PAGES = [page for page in PAGES if DECISIONS in page.parents and page != DECISIONS / "README.md"]
# Decisions have no commands: test_decisions_have_the_same_form.
SHELL_DOCS = [ROOT / "README.md", *(page for page in PAGES if page not in DECISION_PAGES)]
DOCS = [*SHELL_DOCS, *DECISION_PAGES, *(ROOT / name for name in ("ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md"))]
RESULT = ROOT / "docs" / "reference" / "result.md"
# Blocks may be skipped if each of their lines begins with one of these
MAY_BE_LEFT_OUT = ("make", "apt-get ", "sudo apt-get ", "pip install ")


def test_comparison_can_fail():
    assert shows("a\n...\nb\n", "a\nx\ny\nb\n") and shows("a\n...\n", "a\n") and shows("v ...\n", "v 1\n") and shows("N left\n", "12 left\n")
    assert not shows("a\n...\nb\n", "a\nx\n") and not shows("a\n", "a\nb\n") and not shows("", "a\n") and not shows("N left\n", "N left\n")


@pytest.fixture
def checkout(remit):
    """What a reader has after `make`, in a folder that the user owns."""
    folder = remit.folder / "checkout"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in ("examples", "include"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "build").mkdir()
    staged = pathlib.Path(remit.command).parent
    for name in ("remit", "runtime"):
        (folder / "build" / name).symlink_to(staged / name)
    for library in BUILD.glob("libremit.so*"):
        if library.is_file():
            shutil.copy2(library, folder / "build", follow_symlinks=False)
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            remit.own(path)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def run_block(remit, folder: pathlib.Path, argv: list[str]) -> subprocess.CompletedProcess:
    env = remit.env()
    env["PATH"] = f"{folder / 'build'}:{env['PATH']}"
    return documents.run(argv, cwd=folder, env=env, **remit.identity())


@pytest.mark.parametrize("path", SHELL_DOCS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_in_documents_runs(remit, checkout, path):
    """In sequence and in one folder, as a reader would type them."""
    for block in commands(path):
        if block.not_run:
            continue
        done = run_block(remit, checkout, ["sh", "-eu", "-c", block.text])
        wrong = difference(block, done)
        assert not wrong, f"{path.name}:{block.line}: {wrong}"


@pytest.mark.parametrize("path", SHELL_DOCS, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_commands_that_change_machine_are_skipped(path):
    for block in commands(path):
        if block.not_run:
            for line in block.text.splitlines():
                assert line.startswith(MAY_BE_LEFT_OUT), f"{path.name}:{block.line}: {line}"


def test_demo_output_is_as_shown(remit, checkout):
    # Refusals go to stderr, and the reader sees both.
    done = run_block(remit, checkout, ["sh", "-c", "examples/demo.sh build/remit 2>&1"])
    assert done.returncode == 0, done
    assert shows(demo_output(ROOT / "README.md"), done.stdout), done.stdout


def test_shown_result_is_like_real_one(any_remit):
    (shown,) = [json.loads(b.text) for b in blocks(RESULT) if b.kind == "json"]
    real = any_remit.json("print(6 * 7)")
    assert list(shown) == list(real)
    assert list(shown["usage"]) == list(real["usage"])
    for row in shown["enforcement"]:
        assert row in real["enforcement"]
    for key in ("status", "tier", "exit_code", "signal", "stdout", "stderr", "error", "reported", "remit_version"):
        assert shown[key] == real[key], key


def test_the_check_of_prose_finds_habits_and_retired_words():
    comment = "/* Whoever is killed cannot tell any more, and nobody hears it. */"
    ((_, text),) = prose.prose_of("x.c", comment)
    names = {habit.name for habit in prose.habits_in(text)}
    assert {"a free relative as subject", "an indefinite person", "a speech verb for input or output"} <= names
    assert not prose.habits_in("A killed process cannot report its usage.")
    retired = next(iter(prose.RETIRED)).rstrip("s?")
    assert prose.RETIRED_WORD.search(f"struct {retired} *w") and prose.RETIRED_WORD.search(f"{retired}_new") and not prose.RETIRED_WORD.search(f"the{retired}")


# ---- complete lists ----


def rows(path: str, pattern: str) -> list:
    found = re.findall(pattern, (ROOT / path).read_text())
    assert found, f"{path} has changed its form"
    return found


def statuses() -> list[tuple[str, str, str]]:
    """(name, exit code, sentence) of each row in the table."""
    found = rows("src/wire/result.c", r'\[STATUS_\w+\] = \{\s*"(\w+)",\s*(\w+),\s*((?:"[^"]+"\s*)+)\}')
    return [(name, code, "".join(re.findall(r'"([^"]+)"', text))) for name, code, text in found]


EXIT_WORDS = {"OWN_CODE": "the program's", "SIGNAL_CODE": "128 + signal"}


def test_every_status_is_in_reference_and_man_page():
    reference, man = RESULT.read_text(), (ROOT / "man" / "remit.1.scd.in").read_text()
    assert len(statuses()) == 14
    for name, code, sentence in statuses():
        code = EXIT_WORDS.get(code, code)
        assert f"| `{name}` | {code} | {sentence} |" in reference, name
        assert f"|  {name}\n:  {code}\n:  {sentence}\n" in man, name


def man_page(name: str) -> str:
    path = BUILD / "man" / name
    if not path.exists():
        skip_or_fail(f"{path} is not built")
    shown = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=200", path], capture_output=True, check=True).stdout
    return re.sub(".\x08", "", shown.decode())


def test_every_field_is_in_man_page(any_remit):
    text = man_page("remit-policy.5")
    for field in ("preset", *json.loads(any_remit("policy").stdout)):
        assert re.search(rf"^ +{field} \(", text, re.M), field


def test_every_mechanism_and_tier_is_explained():
    page, security = man_page("remit-policy.5"), (ROOT / "SECURITY.md").read_text()
    for name in rows("src/policy/mechanism.c", r'\.name = "(\w+)"'):
        assert re.search(rf"\b{name}\b", page), name
        assert f"`{name}`" in security, name
    tiers = page[page.index("TIERS") :]
    for name in rows("src/policy/policy.c", r'\.(?:name|alias) = "(\w+)"'):
        assert re.search(rf"\b{name}\b", tiers), name
    for name in rows("src/policy/plan/plan.c", r'\[STRENGTH_\w+\] = "(\w+)"'):
        assert re.search(rf"\b{name}\b", tiers), name


@pytest.mark.parametrize("name", ["remit.1", "remit-policy.5"])
def test_man_pages_are_built_without_warnings(name):
    path = BUILD / "man" / name
    if not path.exists():
        skip_or_fail(f"{path} is not built")
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path], capture_output=True, text=True).stdout
    # scdoc writes a .PP before each list, which is harmless.
    wrong = [line for line in lint.splitlines() if "skipping paragraph macro" not in line]
    assert wrong == []


def test_every_environment_variable_is_in_man_page():
    page = (ROOT / "man" / "remit.1.scd.in").read_text()
    own = {"REMIT_HOLES", "REMIT_DEADLINES", "REMIT_FAIL_STEP"}  # only in test builds
    for path in (ROOT / "src").rglob("*.c"):
        for name in re.findall(r'getenv\("(REMIT_\w+|XDG_\w+)"\)', path.read_text()):
            assert name in own or f"*{name}*" in page, name


def test_every_stage_is_in_guide():
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    lists = rows("tests/run.py", r"(?m)^(?:STAGES|LONGER) = \((.*)\)$")
    assert re.findall(r"^\| `(\w+)` \|", guide, re.M) == re.findall(r'"(\w+)"', " ".join(lists))


# ---- docs/reference/inside.md against tests/e2e/jail/test_inside.py ----


def test_documented_environment_is_tested_one():
    inside = (ROOT / "docs" / "reference" / "inside.md").read_text()
    source = (ROOT / "tests" / "e2e" / "jail" / "test_inside.py").read_text()
    body = source[source.index("assert env == {") : source.index("}", source.index("assert env == {"))]
    tested = dict(re.findall(r'"(\w+)": "([^"]*)"', body))
    section = inside[inside.index("## Environment") :].split("\n## ")[0]
    documented = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", section, re.M))
    documented.pop("MPLCONFIGDIR")  # the test ignores it, since it exists only with matplotlib
    assert len(tested) >= 8 and documented == tested


ATTEMPTS = """
import json, sys
seen = []
for line in json.loads(sys.argv[1]):
    try:
        exec(line, {})
        seen.append("works")
    except BaseException as e:
        seen.append(type(e).__name__)
print(json.dumps(seen))
"""


def test_what_works_and_fails_inside_is_as_documented(remit):
    inside = (ROOT / "docs" / "reference" / "inside.md").read_text()
    section = inside[inside.index("## What works and what fails") :]
    table = re.findall(r"^\| `([^`|]+)` \| (works|`\w+`) \|", section, re.M)
    assert len(table) > 15
    done = remit("run", "-c", ATTEMPTS, json.dumps([code for code, _ in table]))
    assert done.returncode == 0, done
    seen = dict(zip((code for code, _ in table), json.loads(done.stdout)))
    assert seen == {code: word.strip("`") for code, word in table}


# ---- references in the documents ----


@pytest.mark.parametrize("path", DOCS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_referenced_file_exists(path):
    text = path.read_text()
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (path.parent / link).exists(), link
    for name in re.findall(r"`((?:src|tests|runtime|tools|include|examples|man|share|docs)/[\w./-]*\w)(?:::\w+)?`", text):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("path", DOCS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_referenced_test_exists(path):
    for name, test in re.findall(r"`(tests/[\w./-]+)::(\w+)`", path.read_text()):
        assert re.search(rf"\b{test}\(", (ROOT / name).read_text()), f"{name}::{test}"


def unlinked(index: pathlib.Path, pages: list[pathlib.Path]) -> list[str]:
    linked = {(index.parent / link).resolve() for link in re.findall(r"\]\(([^)#:]+)\)", index.read_text())}
    return [str(page.relative_to(ROOT)) for page in pages if page != index and page.resolve() not in linked]


def test_every_page_is_in_an_index():
    """Decisions have a separate index, which is itself in the index of all documents."""
    assert unlinked(ROOT / "docs" / "README.md", [page for page in PAGES if page not in DECISION_PAGES]) == []
    assert len(DECISION_PAGES) > 100
    assert unlinked(DECISIONS / "README.md", DECISION_PAGES) == []


def anchors(page: pathlib.Path) -> set[str]:
    """The anchors of a page's headings, as web pages of repositories make them."""
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text())
    titles = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"(?m)^#+ (.*)$", text))
    return {re.sub(r"[^\w -]", "", title.lower().replace("`", "")).strip().replace(" ", "-") for title in titles}


def broken_links(page: pathlib.Path) -> list[str]:
    text = re.sub(r"(?ms)^```.*?^```$|`[^`]*`", "", page.read_text())
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{page.relative_to(ROOT)}: {link}")
    return broken


def test_links_lead_to_a_file_and_a_heading():
    pages = [ROOT / name for name in subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, text=True, check=True, stdout=subprocess.PIPE).stdout.split()]
    assert len(pages) > 100
    assert [link for page in pages for link in broken_links(page)] == []


def test_decisions_have_the_same_form():
    """A title that is also the file's name and the text of its link, why, what it costs, and no commands."""
    index = (DECISIONS / "README.md").read_text()
    for page in DECISION_PAGES:
        path, text = page.relative_to(DECISIONS), page.read_text()
        title = text.split("\n", 1)[0].removeprefix("# ")
        name = re.sub(r"[^a-z0-9]+", "-", title.lower().replace("'s", "s")).strip("-")
        assert path.name == f"{name}.md" and len(path.parts) == 2, path
        assert f"| [{title}]({path}) | " in index, path
        assert re.findall(r"(?m)^\*\*(\w+)\.\*\*", text) == ["Why", "Costs"], path
        assert not blocks(page), path
