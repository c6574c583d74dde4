"""What docs/guide/deploy.md distributes: a systemd unit, a proxy's configuration and an image's recipe."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import re
import shutil
import socket
import ssl
import subprocess

import pytest
from conftest import ROOT, make_remit, skip_or_fail, users
from served import serve
from waiting import until

HOST = "remit.example"


def free_port() -> int:
    """A free port outside the range from which programs get temporary ports."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return port


@pytest.fixture(scope="module")
def proxied(stage):
    """A server behind nginx with the distributed configuration, except for ports and paths."""
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    if not nginx or not shutil.which("openssl"):
        skip_or_fail("nginx or openssl is not installed")
    folder = stage / "nginx"
    folder.mkdir()
    cert, key, port = folder / "cert.pem", folder / "cert.key", free_port()
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    subprocess.run([*argv, "-out", cert, "-keyout", key], check=True, capture_output=True)
    with serve(make_remit(users()[-1], stage), "--allow-host", HOST) as s:
        text = (ROOT / "share" / "nginx" / "remit.conf").read_text()
        for old, new in (
            ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"), ("127.0.0.1:8000", f"127.0.0.1:{s.port}"),
            ("/etc/ssl/certs/remit.pem", str(cert)), ("/etc/ssl/private/remit.key", str(key)),
        ):  # fmt: skip
            assert old in text
            text = text.replace(old, new)
        (folder / "nginx.conf").write_text(
            f"daemon off; pid {folder}/pid; worker_processes 1; error_log {folder}/error.log;\n"
            f"events {{}}\nhttp {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n"
            f"fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n{text}}}\n"
        )
        process = subprocess.Popen([nginx, "-p", folder, "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL)
        try:
            until(lambda: process.poll() is not None or socket.socket().connect_ex(("127.0.0.1", port)) == 0, (folder / "error.log").read_text)
            assert process.poll() is None, (folder / "error.log").read_text()
            s.tls_port, s.trusted = port, ssl.create_default_context(cafile=str(cert))
            yield s
        finally:
            process.terminate()
            process.wait()


def connect(s) -> ssl.SSLSocket:
    return s.trusted.wrap_socket(socket.create_connection(("127.0.0.1", s.tls_port), timeout=60), server_hostname=HOST)


def request(s, path: str, body: dict, **headers) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(f"{HOST}:{s.tls_port}")
    connection.sock = connect(s)
    given = {"Authorization": f"Bearer {s.token}", "Content-Type": "application/json", **headers}
    connection.request("POST", path, json.dumps(body), given)
    return connection.getresponse()


def test_run_works_through_tls_proxy(proxied):
    answer = request(proxied, "/v1/runs", {"code": "print(6 * 7)"}, Origin=f"https://{HOST}:{proxied.tls_port}")
    assert answer.status == 200 and json.load(answer)["stdout"] == "42\n"
    assert request(proxied, "/v1/runs", {"code": "1"}, Origin="https://elsewhere.example").status == 403
    assert request(proxied, "/v1/runs", {"code": "1"}, Authorization="Bearer no").status == 401


def test_output_is_streamed_through_proxy_and_leaving_ends_run(proxied):
    code = "import time\nprint('first', flush=True)\ntime.sleep(60)"
    answer = request(proxied, "/v1/runs", {"code": code, "stream": "ndjson"})
    seen = b""
    while b"first" not in seen:
        seen += answer.readline()
    answer.close()
    proxied.wait_for_no_hosted_sessions()


def test_systemd_units_are_valid():
    if not shutil.which("systemd-analyze"):
        skip_or_fail("systemd-analyze is not installed")
    for unit in sorted((ROOT / "share" / "systemd").glob("*.service")):
        text = unit.read_text()
        assert "ExecStart=remit " in text
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], text=True, capture_output=True)
        # The command is not installed here, which is not the unit's fault.
        wrong = [line for line in done.stderr.splitlines() if unit.name in line and "is not executable" not in line and "not found" not in line]
        assert not wrong, wrong


def test_image_recipe_names_existing_files_and_options(remit):
    recipe = (ROOT / "share" / "container" / "Containerfile").read_text()
    (command,) = re.findall(r"^CMD (\[.*\])$", recipe, re.M)
    flags = [word for word in json.loads(command) if word.startswith("--")]
    shown = remit("serve", "--help").stdout
    assert flags and all(flag in shown for flag in flags), shown
    assert re.findall(r"RUN (tools/\S+)", recipe) == ["tools/setup.sh"] and (ROOT / "tools" / "setup.sh").exists()
