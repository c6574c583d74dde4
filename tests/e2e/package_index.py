"""Packages made by tests, and an index on loopback that serves them."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html
import http.server
import io
import pathlib
import re
import tarfile
import threading
import urllib.parse
import urllib.request
import zipfile


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class Wheel:
    """A wheel that a test builds, with contents as wrong as the test likes."""

    def __init__(self, name: str, version: str = "1.0", requires: tuple[str, ...] = (), tag: str = "py3-none-any"):
        self.name, self.version, self.tag = name, version, tag
        self.entries: list[tuple[zipfile.ZipInfo, bytes]] = []
        info = f"{name}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {r}\n" for r in requires)
        self.add(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
        self.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n")
        self.info = info

    def add(self, path: str, content: str | bytes = "", mode: int = 0o100644) -> Wheel:
        entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
        entry.external_attr = mode << 16
        self.entries.append((entry, content.encode() if isinstance(content, str) else content))
        return self

    def scripts(self, **what: str) -> Wheel:
        lines = "".join(f"{name} = {where}\n" for name, where in what.items())
        return self.add(f"{self.info}/entry_points.txt", f"[console_scripts]\n{lines}")

    def write(self, folder: pathlib.Path) -> pathlib.Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}-{self.version}-{self.tag}.whl"
        record = io.StringIO()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
            for entry, content in self.entries:
                z.writestr(entry, content, compress_type=zipfile.ZIP_DEFLATED)
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                record.write(f"{entry.filename},sha256={digest},{len(content)}\n")
            record.write(f"{self.info}/RECORD,,\n")
            z.writestr(f"{self.info}/RECORD", record.getvalue())
        path.chmod(0o644)
        return path


def source(folder: pathlib.Path, name: str, version: str, backend: str, requires: str = "") -> pathlib.Path:
    """A source archive that its own backend builds, without any other package unless one is named (PEP 517)."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}.tar.gz"
    files = {
        "pyproject.toml": f'[build-system]\nrequires = {[requires] if requires else []}\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": backend,
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    }
    with tarfile.open(path, "w:gz") as t:
        for inner, content in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{inner}")
            entry.size = len(content)
            t.addfile(entry, io.BytesIO(content.encode()))
    path.chmod(0o644)
    return path


class Index:
    """A PEP 503 index of a folder. With `real`, it relays that index for packages that the folder does not have."""

    def __init__(self, folder: pathlib.Path, server: http.server.ThreadingHTTPServer, real: str | None):
        self.folder, self.server, self.real = folder, server, real
        self.asked: list[str] = []
        self.pages: dict[str, str] = {}  # pages that a test wrote
        self.delay = threading.Event()  # if set, requests for files wait
        self.host = f"127.0.0.1:{server.server_port}"
        self.url = f"http://{self.host}/simple/"

    def page(self, name: str) -> tuple[str, bytes] | None:
        if name in self.pages:
            return "text/html", self.pages[name].encode()
        files = [p for p in sorted(self.folder.iterdir()) if plain(p.name.split("-")[0]) == name]
        if files:
            links = "".join(f'<a href="/files/{p.name}">{p.name}</a>\n' for p in files)
            return "text/html", f"<!DOCTYPE html><html><body>{links}</body></html>".encode()
        return self.real_page(name) if self.real else None

    def real_page(self, name: str) -> tuple[str, bytes]:
        request = urllib.request.Request(f"{self.real.rstrip('/')}/{name}/", headers={"Accept": "text/html"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            page, here = answer.read().decode(), answer.geturl()

        def relayed(found: re.Match) -> str:
            address, _, digest = urllib.parse.urljoin(here, html.unescape(found[1])).partition("#")
            inner = base64.urlsafe_b64encode(address.encode()).decode()
            return f'href="/real/{inner}/{address.rpartition("/")[2]}#{digest}"'

        # Without metadata, which would have to be fetched under another name
        page = re.sub(r' data-(dist-info|core)-metadata="[^"]*"', "", page)
        return "text/html", re.sub(r'href="([^"]*)"', relayed, page).encode()

    def answer(self, path: str) -> tuple[str, bytes] | None:
        parts = urllib.parse.unquote(path).strip("/").split("/")
        if parts[0] == "simple" and len(parts) == 2:
            return self.page(parts[1])
        if parts[0] == "files" and (self.folder / parts[1]).is_file():
            return "application/octet-stream", (self.folder / parts[1]).read_bytes()
        if parts[0] == "real" and self.real:
            with urllib.request.urlopen(base64.urlsafe_b64decode(parts[1]).decode(), timeout=120) as answer:
                return "application/octet-stream", answer.read()
        return None


@contextlib.contextmanager
def serve(folder: pathlib.Path, real: str | None = None):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            index.asked.append(self.path)
            if index.delay.is_set() and not self.path.startswith("/simple"):
                threading.Event().wait(3600)
            found = index.answer(self.path)
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", found[0] if found else "text/plain")
            self.send_header("Content-Length", str(len(found[1]) if found else 0))
            self.end_headers()
            if found:
                self.wfile.write(found[1])

        def log_message(self, *_):
            return

    folder.mkdir(parents=True, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    index = Index(folder, server, real)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()
