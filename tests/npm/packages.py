"""The npm packages that tests use: each folder here has a list of them, pinned by its lock file.

Run as a program by tools/setup.sh, it installs all of them.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
# Downloads are kept after the tests, in a place that every user can read.
CACHE = pathlib.Path(os.environ.get("REMIT_TEST_CACHE", f"/var/tmp/remit-npm-tests-{os.getuid()}"))


class Unavailable(Exception):
    pass


def folder(name: str) -> pathlib.Path:
    """Returns a folder with the node_modules of that list, from the cache or from npm."""
    files = [HERE / name / part for part in ("package.json", "package-lock.json")]
    key = hashlib.sha256(b"\0".join(f.read_bytes() for f in files)).hexdigest()[:12]
    made = CACHE / f"{name}-{key}"
    if not (made / "complete").exists():
        if not shutil.which("npm"):
            raise Unavailable("npm is not installed")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        for file in files:
            shutil.copy(file, made)
        argv = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        done = subprocess.run(argv, cwd=made, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            shutil.rmtree(made, ignore_errors=True)
            raise Unavailable(f"{name} cannot be installed: {done.stdout.strip()[-300:]}")
        subprocess.run(["chmod", "-R", "a+rX", CACHE], check=True)
        (made / "complete").touch()
    return made


def node(made: pathlib.Path) -> str:
    """Returns the Node interpreter that the list contains, or else the machine's."""
    found = sorted(made.glob("node_modules/node-linux-*/bin/node"))
    return str(found[0]) if found else "node"


if __name__ == "__main__":
    for one in sorted(p.parent.name for p in HERE.glob("*/package.json")):
        try:
            folder(one)
        except Unavailable as e:
            print(f"setup: {e}", file=sys.stderr)
