"""Packages of npm that tests need, as a lock file pins them."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess

from conftest import skip_or_fail

# What is downloaded outlives the tests, and lies where every user can reach it.
CACHE = pathlib.Path(os.environ.get("REMIT_TEST_CACHE", f"/var/tmp/remit-npm-tests-{os.getuid()}"))


def npm_install(source: pathlib.Path) -> pathlib.Path:
    """The folder of node_modules that package-lock.json of `source` pins, from the cache or the registry."""
    lock = (source / "package-lock.json").read_bytes()
    folder = CACHE / f"npm-{hashlib.sha256(lock).hexdigest()[:12]}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy2(source / name, folder)
        argv = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        done = subprocess.run(argv, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            skip_or_fail(f"npm cannot install what {source.name}/package-lock.json pins: {done.stdout.strip()[-300:]}")
        (folder / "complete").touch()
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    return folder
