"""Measures two builds of Remit in turns, and says which rows became slower.

    bench/compare.py OLD NEW [--turns N] [--json FILE] [-- OPTION OF REMIT BENCH...]

OLD and NEW are folders of finished builds. In each turn both run `remit bench`, in an order that alternates. A row is slower if
it is in every turn, and by more than 5 % in the median. Ends with status 1 if a row is slower. With fewer than three turns
nothing is called slower.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

# The compared values: whether more is better.
VALUES = {"p50": False, "p95": False, "runs_per_s": True, "bytes_per_s": True, "cpu_ms": False, "memory_bytes": False}
# Rows that do not run Remit measure the machine.
OTHERS = ("python3", "a fork of Python", "a waiting fork", "a byte by three processes", "bubblewrap", "runc", "docker", "nsjail")
SLOWER = 1.05
TURNS_MIN = 3
LABEL = 70

Figures = dict[str, float]


@dataclasses.dataclass
class Row:
    name: str
    old: list[float]
    new: list[float]
    more_is_better: bool

    def ratios(self) -> list[float]:
        """Returns how much slower the new build was in each turn."""
        pairs = zip(self.old, self.new, strict=True)
        return [old / new if self.more_is_better else new / old for old, new in pairs]

    def is_slower(self) -> bool:
        ratios = self.ratios()
        return len(ratios) >= TURNS_MIN and min(ratios) > 1 and statistics.median(ratios) > SLOWER

    def __str__(self) -> str:
        ratios = self.ratios()
        figures = f"{statistics.median(self.old):12,.4g} {statistics.median(self.new):12,.4g}"
        spread = f"{statistics.median(ratios):6.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        return f"{self.name[:LABEL]:{LABEL}} {figures} {spread}{'  SLOWER' if self.is_slower() else ''}"


def figures_of(report: dict) -> Figures:
    """Returns the compared values of a report of `remit bench --json`."""
    found: Figures = {}
    for section in report["sections"]:
        for row in section["rows"]:
            if row["name"].startswith(OTHERS):
                continue
            values = {**row, **row.get("time_us", {})}
            for key in VALUES:
                if values.get(key):
                    found[f"{section['name']}: {row['name']}: {key}"] = values[key]
    return found


def rows_of(old: list[Figures], new: list[Figures]) -> list[Row]:
    """Pairs the values that both builds have in every turn."""
    names = [name for name in old[0] if all(name in turn for turn in old + new)]
    return [Row(n, [turn[n] for turn in old], [turn[n] for turn in new], VALUES[n.rsplit(": ", 1)[1]]) for n in names]


def measure(build: pathlib.Path, options: list[str]) -> Figures:
    with tempfile.TemporaryDirectory(prefix="remit-compare-") as folder:
        report = pathlib.Path(folder, "bench.json")
        argv = [build / "remit", "bench", "--json", report, *options]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(f"{build}/remit bench failed:\n{done.stdout}")
        return figures_of(json.loads(report.read_text()))


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    at = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], usage=__doc__.split("\n")[2].strip())
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    found = parser.parse_args(argv[:at])
    if found.turns < 1:
        parser.error("--turns must be at least 1")
    for build in (found.old, found.new):
        if not os.access(build / "remit", os.X_OK):
            parser.error(f"{build} contains no finished build: {build / 'remit'} is missing")
    return found, argv[at + 1 :]


def main(argv: list[str]) -> int:
    request, options = parse(argv)
    builds = {"old": request.old, "new": request.new}
    figures: dict[str, list[Figures]] = {"old": [], "new": []}
    for turn in range(request.turns):
        for name in ("old", "new") if turn % 2 == 0 else ("new", "old"):
            print(f"turn {turn + 1} of {request.turns}: {builds[name]}", file=sys.stderr)
            figures[name].append(measure(builds[name], options))
    rows = rows_of(figures["old"], figures["new"])
    if not rows:
        sys.exit("the builds have no row in common")
    if request.json:
        request.json.write_text(json.dumps(figures, indent=1))
    print(f"{'':{LABEL}} {'old':>12} {'new':>12} {'slower by':>9}")
    print("\n".join(map(str, rows)))
    slower = [row for row in rows if row.is_slower()]
    print(f"{len(slower)} of {len(rows)} rows are slower")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
