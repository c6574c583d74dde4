"""Bundles web/vendor/codemirror.js from the packages that tests/npm/web/package-lock.json pins.

With an argument, writes the bundle to that path instead.

    /usr/bin/python3 tools/bundle.py
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
VENDOR = ROOT / "web" / "vendor"
sys.path.insert(0, str(ROOT / "tests" / "npm"))
import packages  # noqa: E402

OPTIONS = ["--bundle", "--format=esm", "--minify", "--target=es2022", "--legal-comments=none", "--log-level=warning"]


def bundle(out: pathlib.Path) -> None:
    modules = packages.folder("web") / "node_modules"
    # esbuild searches for packages next to the file that imports them.
    with tempfile.TemporaryDirectory() as folder:
        entry = shutil.copy2(VENDOR / "codemirror.entry.js", folder)
        pathlib.Path(folder, "node_modules").symlink_to(modules)
        subprocess.run([modules / ".bin" / "esbuild", entry, *OPTIONS, f"--outfile={out}"], check=True)


if __name__ == "__main__":
    bundle(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else VENDOR / "codemirror.js")
