"""Lists the files of installed Debian packages and of their dependencies."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess

# Files that no test reads.
UNUSED_PATHS = re.compile(r"/usr/(share/(doc|man|locale|info|zoneinfo|i18n)|include|lib/[^/]*/(perl|gconv))/")


def output_of(*argv: str) -> str:
    return subprocess.run(argv, check=True, text=True, stdout=subprocess.PIPE).stdout


def parse_alternatives(field: str) -> list[list[str]]:
    """Parses a dependency field of dpkg: a list of packages, each with its alternatives."""
    return [[re.sub(r"[:\s(].*", "", name.strip()) for name in group.split("|")] for group in field.split(",") if group.strip()]


def installed() -> tuple[dict[str, list[list[str]]], dict[str, str]]:
    """Returns the dependencies of each package, and the package that provides each virtual name."""
    needs, provider = {}, {}
    form = "${Package}\t${db:Status-Abbrev}\t${Provides}\t${Pre-Depends}, ${Depends}\n"
    for line in output_of("dpkg-query", "-W", "-f", form).splitlines():
        name, status, provides, depends = line.split("\t")
        if not status.startswith("ii"):
            continue
        needs[name] = parse_alternatives(depends)
        provider.update({names[0]: name for names in parse_alternatives(provides)})
    return needs, provider


def with_needs(wanted: list[str]) -> list[str]:
    needs, provider = installed()
    found: list[str] = []
    queue = list(wanted)
    while queue:
        name = queue.pop()
        name = name if name in needs else provider.get(name)
        if name is None or name in found:
            continue
        found.append(name)
        for names in needs[name]:
            queue += [n for n in names if n in needs or n in provider][:1]
    return found


def missing(wanted: list[str]) -> list[str]:
    needs, _ = installed()
    return [name for name in wanted if name not in needs]


def files(wanted: list[str]) -> list[str]:
    """Returns all paths of these packages and of their dependencies, with compiled
    Python modules, since compiling is slow on an emulated processor."""
    paths = set()
    for path in output_of("dpkg", "-L", *with_needs(wanted)).splitlines():
        if not path.startswith("/") or UNUSED_PATHS.match(path + "/") or not os.path.lexists(path):
            continue
        paths.add(path)
        if path.endswith(".py"):
            paths.add(importlib.util.cache_from_source(path))
    return sorted(path for path in paths if os.path.lexists(path))
