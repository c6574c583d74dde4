"""Counts the lines of C that the process of a keeper can reach.

    tools/trusted_lines.py [--json] [BUILD]     prints a table by folder; BUILD is build-small by default, in the source tree

There are two figures. "In the program" counts all functions of build/remit, the program that runs as the keeper: an attacker who
takes a keeper over can use them. "Reached" counts those that the command `keeper` reaches by calls and by pointers in tables. The
linker finds them: it links the program again, with that command as the only entry point, and drops what it cannot reach
(--gc-sections).

A function counts once, with all its lines from its name to its last brace. Tables, declarations and third-party libraries (the C
library, jansson, Mbed TLS) do not count.

The build must give each function a separate section and inline none, as `tests/run.py` builds it:

    meson setup build-small -Doptimization=0 -Ddebug=false '-Dc_args=-ffunction-sections -fdata-sections'
    ninja -C build-small remit
"""

from __future__ import annotations

import collections
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The row of the command in the table of all commands, which only main() uses.
ENTRY = "command_keeper"
# The table itself. Every command refers to it, to name the command that has an unknown option, but calls nothing through it.
ALL = "commands"
# A function's section in a map of the linker: " .text.NAME   ADDRESS   SIZE OBJECT", where a long name is on a separate line.
SECTION = re.compile(r"^ \.text\.(\S+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+) (\S+)$", re.M)

Function = "tuple[str, str]"  # (object, name)


def linked(build: pathlib.Path, *more: str) -> set[Function]:
    """Links the program again with more options. Returns its functions."""
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", "remit"], check=True, capture_output=True, text=True).stdout
    argv = shlex.split(commands.splitlines()[-1])
    with tempfile.TemporaryDirectory() as folder:
        argv[argv.index("-o") + 1] = f"{folder}/program"
        subprocess.run([*argv, f"-Wl,-Map={folder}/map", *more], cwd=build, check=True)
        text = pathlib.Path(folder, "map").read_text()
    kept = text[text.index("\nLinker script and memory map") :]
    return {(m[3], m[1]) for m in SECTION.finditer(kept) if int(m[2], 16)}


def sources(build: pathlib.Path) -> dict[str, pathlib.Path]:
    """Returns the source of each object; those of third-party libraries have none."""
    rows = json.loads((build / "compile_commands.json").read_text())
    return {row["output"]: (build / row["file"]).resolve() for row in rows}


def spans(path: pathlib.Path) -> dict[str, tuple[int, int]]:
    """Returns the first and last line of each function: its name begins a line, and so does its last brace."""
    found: dict[str, tuple[int, int]] = {}
    name, first = "", 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if m := re.match(r"(\w+)\(", line):
            name, first = m[1], number
        elif name and line == "}":
            found[name] = (first, number)
            name = ""
        elif line[:1].isalpha():
            name = ""
    return found


class Lines:
    """The places and lengths of a build's functions."""

    def __init__(self, build: pathlib.Path):
        self.top = build.parent
        self.objects = sources(build)
        self.known: dict[pathlib.Path, dict[str, tuple[int, int]]] = {}
        self.inline = {name: path for path in sorted(self.top.glob("src/**/*.h")) for name in self.of(path)}

    def of(self, path: pathlib.Path) -> dict[str, tuple[int, int]]:
        if path not in self.known:
            self.known[path] = spans(path)
        return self.known[path]

    def count(self, functions: set[Function]) -> dict[str, int]:
        """Returns the lines of these functions by folder."""
        found: set[tuple[pathlib.Path, tuple[int, int]]] = set()
        for where, name in functions:
            source = self.objects.get(where)
            if not source or not source.is_relative_to(self.top):
                continue
            path = source if name in self.of(source) else self.inline.get(name)
            if path:
                found.add((path, self.of(path)[name]))
        by_folder: collections.Counter[str] = collections.Counter()
        for path, (first, last) in found:
            by_folder["/".join(path.relative_to(self.top).parts[:2])] += last - first + 1
        return dict(by_folder)


def measure(build: pathlib.Path) -> dict[str, dict[str, int]]:
    lines = Lines(build)
    reached = linked(build, "-nostartfiles", "-Wl,--gc-sections", f"-Wl,-u,{ENTRY}", f"-Wl,--defsym,_start={ENTRY}", f"-Wl,--defsym,{ALL}=0")
    return {"program": lines.count(linked(build)), "reached": lines.count(reached)}


def show(figures: dict[str, dict[str, int]]) -> None:
    program, reached = figures["program"], figures["reached"]
    print(f"{'folder':16}{'in the program':>16}{'reached':>10}")
    for folder in sorted(program, key=lambda f: -reached.get(f, 0)):
        print(f"{folder:16}{program[folder]:16,}{reached.get(folder, 0):10,}")
    print(f"{'all':16}{sum(program.values()):16,}{sum(reached.values()):10,}")


def main() -> int:
    args = [arg for arg in sys.argv[1:] if arg != "--json"]
    build = pathlib.Path(args[0] if args else ROOT / "build-small").resolve()
    if not (build / "build.ninja").exists():
        print(f"{build} does not exist. How to make it:\n{__doc__}", file=sys.stderr)
        return 1
    figures = measure(build)
    print(json.dumps(figures)) if "--json" in sys.argv else show(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
