"""Checks the English of comments, strings and documents.

    tests/prose.py [--since REVISION]   the lines that changed since then
    tests/prose.py --count [REVISION]   how often each habit occurs in the whole tree

A habit is a suggestion: it is printed with the better form, and does not fail. A retired word fails
wherever it stands, since its meaning has a better name.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import io
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).parents[1]
SUFFIXES = (".c", ".h", ".py", ".js", ".mjs", ".md", ".html", ".css", ".scd.in", ".sh", "meson.build")
# Data, and this table.
LEFT_OUT = ("tests/fuzz/corpus/", "tests/prose.py", "CHANGELOG.md")
# Names that users know: a section of `remit bench`, and the folder of packages of version 0.1.
KEPT_NAMES = re.compile(r"doors, loopback|doors\*|\"shelves\"")


@dataclasses.dataclass
class Habit:
    name: str
    pattern: str
    instead: str


SENTENCE = r"(?:^|[.:;!?]\s+|\"\s*)"
INDEFINITE = r"(?:nobody|somebody|anybody|everybody|no one|someone|anyone|everyone|whoever)\b"
HABITS = [
    Habit(
        "a free relative as subject",
        SENTENCE + r"(?:Who|Whoever|Whatever|What|Where|Which)\b(?![^.?!]*\?)(?!'s)(?= [a-z])"
        r"|(?:^|[,;] )(?:who|what|which) \w+ \w+ (?:is|are|was|has|may|can|must|will)\b",
        "name the actor: the client, the keeper, a killed process",
    ),
    Habit("an indefinite person", r"\b" + INDEFINITE, "the client, the keeper, the child"),
    Habit("a sentence that begins in the middle", SENTENCE + r"(?:Or|And|But|Nor|So|Else|Likewise|Otherwise)\b,?", "join it, or repeat the noun"),
    Habit("is no X, is there", r"\b(?:is|are|was|were|be) (?:no (?!longer|more)\w+|there\b)|\bthere is (?:something|nothing)\b", '"is not an X", "exists", "is not empty"'),
    Habit("of its own", r"\bof (?:its|their|our|one's|his|your) own\b|\bof (?:ours|theirs|its)\b(?= [a-z.,;:)])", '"its", "separate", "private"'),
    Habit("a speech verb for input or output", r"\b(?:hears?|heard|tells?|told|says?|said|speaks?|spoken)\b", "read, send, report, log, state"),
    Habit(
        "a preposition out of place",
        r"\b(?:behind|beside|inside of|outside of|anew|amid|so many\b(?! as)|ever new|once more)\b",
        'after, with, in, again, "at most N"',
    ),
    Habit("a fragment", r"^(?:Of|By|With|Without|For|From|Into|To|In|On|Until|While) [^.!?:;]{3,60}\.$", "a sentence with a verb"),
]
# Each with what it is called now. They stand in no prose and in no name.
RETIRED = {
    r"inmates?": "worker",
    r"nursery|nurseries": "zygote server",
    r"moulds?": "root template",
    r"shelf|shelves": "package layer",
    r"porters?": "proxy launcher",
    r"clerks?": "audit writer",
    r"errands?": "oneshot",
    r"doors?": "client for the peer of a connection, frontend for CLI, HTTP, MCP and libraries",
    r"harvests?": "export",
    r"rehears(?:e|es|ed|al|als|ing)": "warm up",
    r"patience_us": "a name for each deadline, by its meaning",
}
RETIRED_WORD = re.compile(r"(?<![A-Za-z])(?:" + "|".join(f"(?P<r{i}>{word})" for i, word in enumerate(RETIRED)) + r")(?![A-Za-z])", re.I)


def git(*argv: str) -> str:
    return subprocess.run(["git", *argv], cwd=ROOT, text=True, capture_output=True, check=True, errors="replace").stdout


def is_prose_file(name: str) -> bool:
    return name.endswith(SUFFIXES) and not name.startswith(LEFT_OUT)


# ---- the prose in a file: (line number, text) ----


def prose_of_c(text: str) -> list[tuple[int, str]]:
    """Comments, and strings with a blank in them."""
    found = []
    pattern = r'/\*(.*?)\*/|//([^\n]*)|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)*\''
    for match in re.finditer(pattern, text, re.S):
        body = next((group for group in match.groups() if group is not None), "")
        if match[3] is not None and " " not in body:
            continue
        first = text.count("\n", 0, match.start()) + 1
        lines = [re.sub(r"^\s*\*? ?", "", line) for line in body.split("\n")]
        found += [(first + i, line.strip()) for i, line in enumerate(lines) if line.strip()]
    return found


def prose_of_python(text: str) -> list[tuple[int, str]]:
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found.append((token.start[0], token.string.lstrip("#! ")))
            elif token.type == tokenize.STRING and " " in token.string:
                lines = token.string.strip("rbfuRBFU\"'").split("\n")
                found += [(token.start[0] + i, line.strip()) for i, line in enumerate(lines) if line.strip()]
    except (tokenize.TokenError, IndentationError, SyntaxError):
        pass  # a program that is wrong on purpose
    return found


def prose_of_text(text: str) -> list[tuple[int, str]]:
    """Markdown and manual pages without their code."""
    found = []
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and line.strip():
            found.append((number, re.sub(r"`[^`]*`", "`code`", line.strip().lstrip("#|->* "))))
    return found


def prose_of_shell(text: str) -> list[tuple[int, str]]:
    return [(n, line.split("#", 1)[1].strip()) for n, line in enumerate(text.split("\n"), 1) if re.match(r"\s*#[^!]", line)]


def prose_of(name: str, text: str) -> list[tuple[int, str]]:
    if name.endswith((".c", ".h", ".js", ".mjs", ".css")):
        return prose_of_c(text)
    if name.endswith(".py"):
        return prose_of_python(text)
    if name.endswith((".sh", "meson.build")):
        return prose_of_shell(text)
    return prose_of_text(text)


# ---- what is looked at ----


def habits_in(text: str) -> list[Habit]:
    return [habit for habit in HABITS if re.search(habit.pattern, text, 0 if "SENTENCE" in habit.name else re.M)]


def count(revision: str | None) -> None:
    counts: collections.Counter[str] = collections.Counter()
    names = git("ls-tree", "-r", "--name-only", revision).split("\n") if revision else git("ls-files").split("\n")
    lines = 0
    for name in filter(is_prose_file, names):
        text = git("show", f"{revision}:{name}") if revision else (ROOT / name).read_text(errors="replace")
        for _, line in prose_of(name, text):
            lines += 1
            counts.update(habit.name for habit in habits_in(line))
        counts["a retired word"] += len(RETIRED_WORD.findall(KEPT_NAMES.sub("", text)))
    print(f"{lines:6} lines of prose")
    for name in [habit.name for habit in HABITS] + ["a retired word"]:
        print(f"{counts[name]:6} {name}")


def changed_lines(since: str) -> dict[str, set[int]]:
    """Of each file, the numbers of lines that are not as they were."""
    changed: dict[str, set[int]] = collections.defaultdict(set)
    name = ""
    for line in git("diff", "-U0", "--no-renames", since).split("\n"):
        if line.startswith("+++ "):
            name = line[6:]
        elif found := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, length = int(found[1]), int(found[2] or 1)
            changed[name].update(range(first, first + length))
    return changed


def retired_words() -> list[str]:
    problems = []
    for name in filter(is_prose_file, git("ls-files").split("\n")):
        for number, line in enumerate((ROOT / name).read_text(errors="replace").split("\n"), 1):
            for found in RETIRED_WORD.finditer(KEPT_NAMES.sub("", line)):
                instead = list(RETIRED.values())[int(found.lastgroup[1:])]
                problems.append(f"{name}:{number}: retired word \"{found[0]}\": {instead}")
    return problems


def suggestions(since: str) -> list[str]:
    found = []
    for name, numbers in changed_lines(since).items():
        path = ROOT / name
        if not is_prose_file(name) or not path.is_file():
            continue
        for number, line in prose_of(name, path.read_text(errors="replace")):
            if number in numbers:
                found += [f"{name}:{number}: {habit.name}; write {habit.instead}: {line[:100]}" for habit in habits_in(line)]
    return found


def branch_point() -> str:
    """Where the work began that has not landed; on main, the commit before the last."""
    try:
        base = git("merge-base", "HEAD", "origin/main").strip()
        return base if base != git("rev-parse", "HEAD").strip() else git("rev-parse", "HEAD~1").strip()
    except subprocess.CalledProcessError:
        return "HEAD"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", default=branch_point(), help="suggestions for lines that changed since this revision")
    parser.add_argument("--count", nargs="?", const="", metavar="REVISION", help="count habits in the tree, or in a revision")
    options = parser.parse_args()
    if options.count is not None:
        count(options.count or None)
        return 0
    for line in suggestions(options.since):
        print(f"suggestion: {line}")
    problems = retired_words()
    print("\n".join(problems), end="\n" if problems else "")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
