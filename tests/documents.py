"""Reads the fenced blocks of a document: commands, and the output shown below them.

    tests/documents.py README.md    runs every block, as a reader would type it

It uses only the standard library, so that it runs on a machine that has nothing but Python.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

BLOCK = re.compile(
    r"(?:^<!-- (?P<comment>[^\n]*?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)
DEMO = "the output of examples/demo.sh"


class Block:
    """A fenced block. `comment` is the HTML comment on the line above: why it is not run, or which Debian packages it needs."""

    def __init__(self, match: re.Match, source: str):
        self.kind, self.text = match["kind"], match["text"]
        self.comment = match["comment"] or ""
        self.not_run = self.comment.startswith("not run: ")
        self.needs = self.comment.removeprefix("needs: ").split() if self.comment.startswith("needs: ") else []
        self.line = source.count("\n", 0, match.start("text")) + 1
        self.start, self.end = match.start(), match.end()
        self.wanted: str | None = None


def blocks(path: pathlib.Path) -> list[Block]:
    """Returns all blocks. A text block directly below a sh block is its expected output."""
    source = path.read_text()
    found = [Block(m, source) for m in BLOCK.finditer(source)]
    for one, below in zip(found, found[1:]):
        if one.kind == "sh" and below.kind == "text" and one.end + 1 == below.start:
            one.wanted = below.text
    return found


def commands(path: pathlib.Path) -> list[Block]:
    """Returns the blocks that a reader types."""
    return [block for block in blocks(path) if block.kind == "sh"]


def demo_output(readme: pathlib.Path) -> str:
    (shown,) = [block.text for block in blocks(readme) if block.comment == DEMO]
    return "...\n" + shown


def shows(wanted: str, output: str) -> bool:
    """Whether the output matches the block: "..." matches any lines or the rest of a line, and N a number."""
    pattern = ""
    for line in wanted.splitlines():
        if line == "...":
            pattern += r"(?:[^\n]*\n)*"
        elif line.endswith(" ..."):
            pattern += re.escape(line[:-3]) + r"[^\n]*\n"
        else:
            pattern += re.sub(r"\bN\b", r"\\d+", re.escape(line)) + r"\n"
    return re.fullmatch(pattern, output) is not None


def run(argv: list[str], **options) -> subprocess.CompletedProcess:
    """Runs a block. If it fails, kills the processes it left in the background; after a success a later block may use them."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, **options)
        code = None
        try:
            code = process.wait(timeout=300)
        finally:
            if code != 0:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(argv, code, out.read(), err.read())


def difference(block: Block, done: subprocess.CompletedProcess) -> str | None:
    """Returns how a block failed or how its output differs, or None."""
    if done.returncode:
        return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    if block.wanted is not None and not shows(block.wanted, done.stdout):
        return f"wanted:\n{block.wanted}\ngot:\n{done.stdout}{done.stderr}"
    return None


def main(name: str) -> int:
    path, failed = pathlib.Path(name), 0
    for block in commands(path):
        if block.not_run:
            continue
        done = run(["sh", "-eu", "-c", block.text])
        wrong = difference(block, done)
        failed += wrong is not None
        print(f"{path.name}:{block.line}: {wrong or 'as shown'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
