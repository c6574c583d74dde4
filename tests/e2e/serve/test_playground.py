"""The playground: its files, how they are served, and a browser that uses it."""

from __future__ import annotations

import base64
import hashlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from conftest import PYTHON, ROOT, make_remit, skip_or_fail, users

sys.path.insert(0, str(ROOT / "tests" / "npm"))
import packages  # noqa: E402

HERE = pathlib.Path(__file__).parent
SCENARIOS = re.findall(r"^\tasync (\w+)\(\) \{$", (HERE / "playground.mjs").read_text().split("const scenarios")[1], re.M)


@pytest.fixture(scope="module")
def modules() -> pathlib.Path:
    try:
        return packages.folder("web")
    except packages.Unavailable as e:
        skip_or_fail(str(e))


@pytest.fixture(scope="module")
def address(stage) -> str:
    """The address with token of a server. If possible, root started it: terminals of an ordinary user need control groups."""
    remit = make_remit(users()[0], stage)
    server = remit.popen("serve", "--listen", "127.0.0.1:0", stdout=subprocess.PIPE, text=True)
    try:
        yield re.fullmatch(r"remit: serving at (\S+)\n", server.stdout.readline())[1]
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0


@pytest.fixture(scope="module")
def outcomes(address, modules, tmp_path_factory) -> dict[str, dict]:
    """The results of all scenarios, run in one browser."""
    base, token = address.split("/?token=")
    argv = [packages.node(modules), HERE / "playground.mjs", modules, base, token, tmp_path_factory.mktemp("shots")]
    done = subprocess.run(argv, text=True, capture_output=True, timeout=800)
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_passes_in_browser(outcomes, name):
    assert outcomes[name]["failure"] is None, outcomes[name]["failure"]


def get(url: str, **headers: str):
    try:
        return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60)
    except urllib.error.HTTPError as error:
        return error


def test_files_are_served_with_tag_and_strict_rules(address):
    base = address.split("?")[0]
    page = get(base)
    assert page.status == 200 and page.headers["Content-Type"] == "text/html; charset=utf-8"
    rules = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in rules and "unsafe" not in rules and "trusted-types 'none'" in rules
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Cross-Origin-Opener-Policy"] == page.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    again = get(base, **{"If-None-Match": page.headers["ETag"]})
    assert again.status == 304 and again.read() == b""
    assert get(base, **{"If-None-Match": '"other"'}).status == 200


@pytest.mark.parametrize("path", ["assets/none.js", "assets/", "assets/../main.js", "assets/vendor/LICENSE", "assets/%2e%2e/main.js"])
def test_other_files_are_not_served(address, path):
    assert get(address.split("?")[0] + path).status in (400, 404)


def test_every_file_of_page_is_in_command(address):
    base = address.split("?")[0]
    for path in (ROOT / "web").rglob("*"):
        if path.suffix in (".js", ".css", ".html", ".svg") and path.name != "codemirror.entry.js":
            assert get(f"{base}assets/{path.relative_to(ROOT / 'web')}").read() == path.read_bytes(), path


def test_frame_allows_only_its_own_script(address):
    frame = get(f"{address.split('?')[0]}assets/frame.html")
    (script,) = re.findall(rb"<script>(.*?)</script>", frame.read(), re.S)
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    rules = frame.headers["Content-Security-Policy"]
    assert f"script-src 'sha256-{digest}';" in rules
    assert "sandbox allow-scripts;" in rules and "allow-same-origin" not in rules and "default-src 'none'" in rules


def test_bundle_is_built_from_pinned_packages(modules, tmp_path):
    made = tmp_path / "codemirror.js"
    subprocess.run([PYTHON, ROOT / "tools" / "bundle.py", made], check=True)
    assert made.read_bytes() == (ROOT / "web" / "vendor" / "codemirror.js").read_bytes()
