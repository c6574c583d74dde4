"""Checks the shape of the tree, which no compiler checks."""

from __future__ import annotations

import ast
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]
GENERATED = {"filter_programs.h", "syscall_names.h"}
MOST_FILES = 31
BANNED = ["strcpy", "strcat", "sprintf", "gets", "strtok", "atoi", "system", "popen", "alloca", "mktemp", "tmpnam", "scanf"]
LONGEST = 1000


def tracked(*patterns: str) -> list[pathlib.Path]:
    out = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    return [ROOT / line for line in out.split("\n") if line]


def folders_below() -> dict[str, list[str]]:
    """Reads the table from which the build makes its include paths."""
    text = (ROOT / "meson.build").read_text()
    return ast.literal_eval(re.search(r"^below = (\{\n.*?^\})", text, re.M | re.S)[1])


def folder_order() -> list[str]:
    """An include in src names the path below src, and a folder includes only from those below it."""
    below = folders_below()
    others = GENERATED | {path.name for path in tracked("include/*.h")}
    problems = []
    for path in tracked("src/*.c", "src/*.h"):
        where = path.relative_to(ROOT / "src")
        known = [where.parts[0], *below[where.parts[0]]]
        # The compiler would search the including file's folder for jail/x.h first.
        problems += [f"{where}: a folder inside another must not be called {part}" for part in where.parts[1:-1] if part in below]
        for header in re.findall(r'#include "([^"]+)"', path.read_text()):
            if header in others:
                continue
            if ".." in header or not (ROOT / "src" / header).is_file():
                problems.append(f"{where} includes {header}, which is not a path below src")
            elif header.split("/")[0] not in known:
                problems.append(f"{where} includes {header}, and {where.parts[0]} must not include from that folder (see `below` in meson.build)")
    return problems


def crowded_folders() -> list[str]:
    """A file is hard to find in a folder of a hundred."""
    counts = collections.Counter(path.parent for path in tracked("src/*", "tests/unit/*", "tests/e2e/*"))
    return [f"{folder.relative_to(ROOT)} has {n} files" for folder, n in counts.items() if n > MOST_FILES]


def banned_functions() -> list[str]:
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
    return [
        f"{path.relative_to(ROOT)}:{number}: {found.group(1)}"
        for path in tracked("src/*.c", "bench/*.c", "runtime/*.c", "python/*.c")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (found := pattern.search(line)) and not line.lstrip().startswith(("*", "/*"))
    ]


def module_names(path: pathlib.Path) -> set[str]:
    """Returns the names a file may have: its stem, also after the name of a folder above it (cgroup/home.c is cgroup_home)."""
    folders = {name for folder in path.relative_to(ROOT).parts[:-1] for name in (folder, folder.removesuffix("s"))}
    return {path.stem, *(f"{folder}_{path.stem}" for folder in folders)}


def purposes() -> list[str]:
    """Every header, and every .c file without a header, begins with a comment about its purpose."""
    problems = []
    for path in tracked("src/*.h", "src/*.c", "bench/*.[ch]", "runtime/*.c", "tools/*.c", "python/*.[ch]"):
        if path.suffix == ".c" and path.with_suffix(".h").exists():
            continue
        opening = re.match(r"/\*\n \* (\w+)", path.read_text())
        if not opening or opening[1] not in module_names(path):
            problems.append(f"{path.relative_to(ROOT)} does not begin with its purpose")
    return problems


def long_files() -> list[str]:
    return [
        f"{path.relative_to(ROOT)} has {n} lines"
        for path in tracked("*.c", "*.h", "*.py")
        if (n := len(path.read_text().splitlines())) > LONGEST
    ]


def tables_are_complete() -> list[str]:
    """Every frame type in the runner has the number of the C enum."""
    header = (ROOT / "src/wire/frame.h").read_text()
    body = re.search(r"enum frame_type \{(.*?)\};", header, re.S).group(1)
    names = re.findall(r"\bFRAME_(\w+),", re.sub(r"/\*.*?\*/", "", body, flags=re.S))
    python = dict(re.findall(r"^([A-Z_]+) = (\d+)$", (ROOT / "runtime/records.py").read_text(), re.M))
    return [
        f"records.py: {name} is {number}, but {names.index(name)} in frame.h"
        for name, number in python.items()
        if name in names and names.index(name) != int(number)
    ]


def session_is_small() -> list[str]:
    """State of a cell, a clock or the committer belongs in a separate struct, with tests."""
    header = re.sub(r"/\*.*?\*/", "", next((ROOT / "src").rglob("session.h")).read_text(), flags=re.S)
    members = {}
    for name in ("session", "filing"):
        body = re.search(rf"^struct {name} {{\n(.*?)^}};", header, re.S | re.M).group(1)
        members[name] = [d for line in body.split(";") for d in line.split(",") if d.strip()]
    all_members = members["session"] + members["filing"][1:]
    booleans = [m for m in all_members if "bool " in m]
    if len(all_members) > 45 or len(booleans) > 10:
        return [f"struct session has {len(all_members)} members, {len(booleans)} of them booleans"]
    return []


def python_names_are_unique() -> list[str]:
    """A second function with the same name in a module silently replaces the first."""
    problems = []
    for path in tracked("runtime/*.py", "python/*.py", "tests/*.py", "bench/*.py", "tools/*.py"):
        if "programs" in path.parts:  # hostile programs are exempt
            continue
        tree = ast.parse(path.read_text())
        for scope in [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]:
            names = collections.Counter(
                node.name
                for node in scope.body
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.decorator_list
            )
            problems += [f"{path.relative_to(ROOT)} defines {name} {n} times" for name, n in names.items() if n > 1]
    return problems


def sleeps_have_reasons() -> list[str]:
    """A test waits for events (tests/e2e/waiting.py). Where it must sleep instead, a comment states why."""
    problems = []
    for path in tracked("tests/*.py", "tests/*.c"):
        lines = path.read_text().splitlines()
        if path.suffix == ".c":
            sleeps = [number for number, line in enumerate(lines, 1) if re.search(r"\bu?sleep\(|\bnanosleep\(", line)]
        elif "programs" in path.parts:
            continue  # hostile programs may sleep in the jail
        else:
            calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
            sleeps = [f.lineno for f in calls if getattr(f, "attr", getattr(f, "id", "")) in ("sleep", "usleep")]
        for number in sleeps:
            near = "".join(lines[number - 3 : number])
            if ("*/" if path.suffix == ".c" else "# ") not in near:
                problems.append(f"{path.relative_to(ROOT)}:{number}: a sleep without a reason")
    return problems


def changelog_is_current() -> list[str]:
    """The first version in CHANGELOG.md is the one in VERSION."""
    version = (ROOT / "VERSION").read_text().strip()
    first = re.search(r"^## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    return [] if first and first[1] == version else [f"CHANGELOG.md does not begin with {version} (unreleased, or a date)"]


CHECKS = [
    folder_order, crowded_folders, banned_functions, purposes, long_files, tables_are_complete, session_is_small,
    python_names_are_unique, sleeps_have_reasons, changelog_is_current,
]  # fmt: skip

if __name__ == "__main__":
    found = [f"{check.__name__}: {problem}" for check in CHECKS for problem in check()]
    print("\n".join(found))
    sys.exit(bool(found))
