"""`remit serve` with a certificate: ordinary TLS clients and hostile ones."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

import pytest
from conftest import ROOT, make_remit, skip_or_fail, users
from served import Served, serve
from waiting import PATIENCE, until

sys.path.insert(0, str(ROOT / "tests" / "npm"))
sys.path.insert(0, str(ROOT / "tests" / "python"))
import packages  # noqa: E402
import venvs  # noqa: E402

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
RSA = ("-newkey", "rsa:2048")
# CPython 3.13 and newer require both extensions of an authority
AUTHORITY = ("basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign")


def openssl(*argv, input: bytes = b"", timeout: float = 120) -> subprocess.CompletedProcess:
    return subprocess.run(["openssl", *map(str, argv)], input=input, capture_output=True, timeout=timeout)


def sign(name: pathlib.Path, subject: str, kind, *extensions: str, by: pathlib.Path | None = None) -> None:
    """Make NAME.pem and NAME.key, signed by another certificate or self-signed."""
    config = name.with_suffix(".conf")
    config.write_text("[req]\ndistinguished_name=dn\n[dn]\n")
    authority = ("-CA", by.with_suffix(".pem"), "-CAkey", by.with_suffix(".key")) if by else ()
    argv = ["req", "-x509", "-config", config, *kind, "-nodes", "-subj", f"/CN={subject}", "-days", 2, *authority]
    argv += [word for e in extensions for word in ("-addext", e)]
    made = openssl(*argv, "-out", name.with_suffix(".pem"), "-keyout", name.with_suffix(".key"))
    assert made.returncode == 0, made.stderr


class Files:
    """A certificate with an intermediate one, its key, and the authority that clients trust."""

    def __init__(self, remit, name: str, kind=EC):
        if not shutil.which("openssl"):
            skip_or_fail("openssl is not installed")
        at = remit.folder / name
        self.remit, self.root, self.middle, self.chain, self.key = remit, at.with_name(f"{name}-root.pem"), at.with_name(f"{name}-middle"), at.with_suffix(".pem"), at.with_suffix(".key")
        sign(self.root, "root", EC, *AUTHORITY)
        sign(self.middle, "middle", EC, *AUTHORITY, by=self.root)
        self.make(kind)

    def make(self, kind=EC) -> None:
        sign(self.key, "localhost", kind, "subjectAltName=DNS:localhost,IP:127.0.0.1", "basicConstraints=critical,CA:FALSE", by=self.middle)
        with open(self.chain, "a") as f:
            f.write(self.middle.with_suffix(".pem").read_text())
        for path in (self.chain, self.key):
            self.remit.own(path)

    def flags(self) -> tuple:
        return ("--tls-certificate", self.chain, "--tls-key", self.key)

    def trust(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.root))
        context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF  # a connection cut without an alert is an error
        return context


@contextlib.contextmanager
def serve_tls(remit, *flags, kind=EC):
    files = Files(remit, "tls", kind)
    with serve(remit, *files.flags(), *flags) as s:
        s.remit, s.files, s.tls = remit, files, files.trust()
        yield s


@pytest.fixture(scope="module", params=users())
def served(request, stage):
    with serve_tls(make_remit(request.param, stage)) as s:
        yield s


@pytest.fixture(scope="module")
def one(stage):
    """A server for tests that do not depend on the user. It has an RSA certificate."""
    with serve_tls(make_remit(users()[-1], stage), kind=RSA) as s:
        yield s


def tcp(s: Served, timeout: float = 60) -> socket.socket:
    return socket.create_connection(("127.0.0.1", s.port), timeout=timeout)


def tls(s: Served, timeout: float = 60) -> ssl.SSLSocket:
    return s.tls.wrap_socket(tcp(s, timeout), server_hostname="localhost", suppress_ragged_eofs=False)


def read_all(s) -> bytes:
    got = b""
    while piece := s.recv(65536):
        got += piece
    return got


def descriptors(s: Served) -> int:
    return len(os.listdir(f"/proc/{s.process.pid}/fd"))


def idle_descriptors(s: Served) -> int:
    """The number of the server's descriptors without any connection."""
    connection = s.connect()

    def is_alone() -> bool:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {s.token}"})
        return b"\nremit_http_connections 1\n" in connection.getresponse().read()

    until(is_alone, "connections are left")
    count = descriptors(s) - 1
    connection.close()
    until(lambda: descriptors(s) <= count, "descriptors are left")
    return count


def resident_kib(s: Served) -> int:
    for line in pathlib.Path(f"/proc/{s.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


# ---- clients ----


def test_runs_sessions_and_files_work_over_tls(served):
    assert served.run("print(6 * 7)")["stdout"] == "42\n"
    session = served.json("POST", "/v1/sessions", {}, status=201)["id"]
    assert served.json("POST", f"/v1/sessions/{session}/cells", {"code": "20 + 1"})["value"]["json"] == 21
    sent = os.urandom(3_000_000)  # many records in both directions
    path = f"/v1/sessions/{session}/files?path=f"
    assert served.request("PUT", path, sent)[0] in (200, 201, 204)
    assert served.request("GET", path)[2] == sent
    served.request("DELETE", f"/v1/sessions/{session}")
    served.wait_for_no_hosted_sessions()


def test_events_are_streamed_over_tls(served):
    code = "import time\nprint('first', flush=True)\ntime.sleep(30)"
    with served.stream("/v1/runs", {"code": code}) as events:
        text = ""
        while text != "first\n":
            text += next(e for e in events if e["type"] == "output")["text"]
            assert "first\n".startswith(text)
    served.wait_for_no_hosted_sessions()  # leaving ends the run
    status, headers, text = served.request("POST", "/v1/runs", {"code": "print(1)", "stream": "sse"})
    assert status == 200 and headers["Content-Type"].startswith("text/event-stream") and b"event: result" in text


def test_slow_reader_gets_whole_stream_over_tls(served):
    code = "import sys\nfor i in range(400000): sys.stdout.write(f'{i:09}\\n')"
    body = json.dumps({"code": code, "stream": "ndjson", "policy": {"stdout_max_bytes": "8M"}})
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(60)
    s.connect(("127.0.0.1", served.port))
    with served.tls.wrap_socket(s, server_hostname="localhost") as s:
        head = f"POST /v1/runs HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {served.token}\r\nContent-Type: application/json\r\n"
        s.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        time.sleep(1.5)  # time in which all buffers on the way fill
        got = read_all(s)
    lines = [json.loads(line) for line in got.split(b"\r\n\r\n", 1)[1].splitlines()]
    text = "".join(e["text"] for e in lines if e["type"] == "output")
    assert text == "".join(f"{i:09}\n" for i in range(400000)) and lines[-1]["type"] == "result"


def test_curl_and_page_work_over_tls(served):
    curl = ["curl", "-sS", "--max-time", "120", "--cacert", str(served.files.root)]
    here = f"https://localhost:{served.port}"
    done = subprocess.run([*curl, "-H", f"Authorization: Bearer {served.token}", "--json", '{"code": "6 * 7"}', f"{here}/"], capture_output=True, text=True)
    assert json.loads(done.stdout) == {"result": 42, "stdout": "", "stderr": ""}, done
    page = subprocess.run([*curl, f"{here}/?token={served.token}"], capture_output=True, text=True)
    assert "<html" in page.stdout
    # curl waits for 100 Continue before a long body.
    body = served.remit.file("long.json", json.dumps({"code": "1", "stdin": "x" * 3_000_000}))
    done = subprocess.run([*curl, "-H", f"Authorization: Bearer {served.token}", "--json", f"@{body}", f"{here}/v1/runs"], capture_output=True, text=True)
    assert json.loads(done.stdout)["status"] == "ok", done
    untrusted = subprocess.run(["curl", "-sS", "--max-time", "120", f"{here}/healthz"], capture_output=True, text=True)
    assert untrusted.returncode == 60, untrusted


def test_keys_and_origins_are_checked_over_tls(served):
    assert served.request("POST", "/v1/runs", {"code": "1"}, token="no")[0] == 401
    for origin, status in ((f"https://127.0.0.1:{served.port}", 200), ("https://elsewhere.example", 403)):
        assert served.request("GET", "/v1/status", headers={"Origin": origin})[0] == status


def pypi_client(served) -> list:
    code = "from e2b_code_interpreter import Sandbox\nwith Sandbox.create() as s: print(s.run_code('6 * 7').text, flush=True)\nimport os; os._exit(0)"
    return [venvs.framework("e2b"), "-c", code]


def npm_client(served) -> list:
    try:
        made = packages.folder("e2b")
    except packages.Unavailable as e:
        skip_or_fail(str(e))
    code = "const s = await Sandbox.create(); console.log((await s.runCode('6 * 7')).text); await s.kill()"
    where = made / "node_modules" / "@e2b" / "code-interpreter" / "dist" / "index.mjs"
    return [packages.node(made), served.remit.file("tls.mjs", f"import {{ Sandbox }} from '{where}'\n{code}\n")]


@pytest.mark.parametrize(("client", "trusts"), [(pypi_client, "SSL_CERT_FILE"), (npm_client, "NODE_EXTRA_CA_CERTS")])
def test_e2b_clients_work_over_tls(served, client, trusts):
    here = f"https://localhost:{served.port}"
    env = {"E2B_API_KEY": f"e2b_{served.token}", "E2B_API_URL": here, "E2B_SANDBOX_URL": here, trusts: str(served.files.root)}
    argv = list(map(str, client(served)))
    done = subprocess.run(argv, env=served.remit.env(env), cwd=served.remit.folder, capture_output=True, text=True, timeout=300, **served.remit.identity())
    assert done.stdout == "42\n", done
    served.wait_for_no_hosted_sessions()


def test_tls_versions_and_ciphers_are_documented_ones(one):
    """TLS 1.2, and 1.3 if the library has it, with ephemeral keys and without renegotiation."""
    has_1_3 = "TLS 1.2 and 1.3" in one.remit("--version").stdout
    at = ("s_client", "-connect", f"127.0.0.1:{one.port}", "-CAfile", one.files.root, "-verify_return_error")
    shown = openssl(*at, "-ign_eof", "-alpn", "h2,http/1.1", input=HEALTH).stdout
    assert b"ALPN protocol: http/1.1" in shown and b'"status":"ok"' in shown and b"Verify return code: 0" in shown
    assert (b"New, TLSv1.3, Cipher is TLS_AES" if has_1_3 else b"New, TLSv1.2, Cipher is ECDHE-RSA-AES") in shown, shown
    shown = openssl(*at, "-ign_eof", "-tls1_2", input=HEALTH).stdout
    assert b"New, TLSv1.2, Cipher is ECDHE-RSA-AES" in shown and b'"status":"ok"' in shown
    forms = [("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"), ("-tls1_2", "-cipher", "AES128-SHA"), ("-alpn", "h2")]
    for refusal_of in forms if has_1_3 else [*forms, ("-tls1_3",)]:
        done = openssl(*at, "-ign_eof", *refusal_of, input=HEALTH)
        assert done.returncode != 0 and b'"status"' not in done.stdout, (refusal_of, done)
    asked = subprocess.Popen(["openssl", *map(str, at), "-tls1_2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with asked:
        asked.stdin.write(b"R\n")
        asked.stdin.flush()
        try:
            asked.wait(timeout=PATIENCE)  # the client gives up
        finally:
            asked.kill()
        text = asked.stdout.read()
    assert b"no renegotiation" in text and asked.returncode, text[-2000:]


# ---- the end of a connection ----


def test_tls_end_is_announced(one):
    with tls(one) as s:  # a reply that ends the connection; a cut would raise
        s.sendall(HEALTH)
        assert b'"status":"ok"' in read_all(s)
        s.unwrap()
    with tls(one) as s:  # an end that the client announces is answered
        s.unwrap()


def test_sigterm_ends_tls_connections_properly(stage):
    with serve_tls(make_remit(users()[-1], stage)) as s:
        idle, shaking, busy = tls(s), tcp(s), tls(s)
        body = b'{"code": "import time; time.sleep(1.5); print(\'late\')", "stream": "ndjson"}'
        head = f"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {s.token}\r\nContent-Type: application/json\r\n"
        busy.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert b" 200 " in busy.recv(1000)
        s.process.send_signal(signal.SIGTERM)
        assert idle.recv(10) == b""
        idle.unwrap()
        assert shaking.recv(10) == b""
        got = read_all(busy)
        assert b"late" in got and got.endswith(b"0\r\n\r\n")
        busy.unwrap()
        for c in (idle, shaking, busy):
            c.close()


def test_cut_reply_does_not_look_complete(stage):
    with serve_tls(make_remit(users()[-1], stage)) as s:
        c = tls(s)
        body = b'{"code": "import time; print(1, flush=True); time.sleep(60)", "stream": "ndjson"}'
        head = f"POST /v1/runs HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {s.token}\r\nContent-Type: application/json\r\n"
        c.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        while b"output" not in c.recv(1000):
            pass
        s.stop_listening()
        s.process.send_signal(signal.SIGTERM)  # the second signal ends the server at once
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            read_all(c)
        c.close()


# ---- hostile clients ----


def test_plain_http_client_gets_hint(one):
    with tcp(one) as s:
        s.sendall(HEALTH)
        got = read_all(s)
    assert got.startswith(b"HTTP/1.1 400 ") and b"https://" in got
    with tcp(one) as s:  # send and end at once
        s.sendall(b"GET / HTTP/1.1\r\n\r\n")
        s.shutdown(socket.SHUT_WR)
        assert read_all(s).startswith(b"HTTP/1.1 400 ")


def hello() -> bytes:
    """The first message of a TLS client."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(into, out, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return out.read()


GARBAGE = {
    "zeros": b"\0" * 5000,
    "noise": bytes(range(128, 256)) * 50,
    "a record beyond its size": b"\x16\x03\x01\xff\xff" + b"\0" * 70000,
    "an empty record": b"\x16\x03\x01\x00\x00" * 1000,
    "warnings without end": b"\x15\x03\x01\x00\x02\x01\x5a" * 1000,
    "bytes of an application first": b"\x17\x03\x03\x00\x10" + b"x" * 16,
    "a hello with a length that lies": b"\x16\x03\x01\x00\x2f\x01\xff\xff\xff" + b"\0" * 43,
    "a hello of SSL 2": b"\x80\x2e\x01\x00\x02" + b"\0" * 43,
    "the half of a hello, then noise": hello()[:100] + b"\xff" * 5000,
}


@pytest.mark.parametrize("name", GARBAGE)
def test_bytes_that_are_not_tls_are_cut_off(one, name):
    with tcp(one) as s, contextlib.suppress(OSError):
        s.sendall(GARBAGE[name])
        s.shutdown(socket.SHUT_WR)
        got = read_all(s)
        assert got == b"" or got[0] == 0x15 or b"\x15\x03" in got, got  # nothing, or an alert
    assert one.request("GET", "/healthz")[0] == 200


def send_slowly(s: Served, bytes_: bytes, seconds: list[float]) -> None:
    """Send one byte at a time, and measure how long the server accepts that. Append nothing if it never ends."""
    began = time.monotonic()
    with tcp(s) as c:
        c.settimeout(0.3)
        for i in range(200):
            try:
                c.sendall(bytes_[i : i + 1])
                if c.recv(10) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            return
        seconds.append(time.monotonic() - began)


def test_half_open_handshakes_leave_nothing(one):
    first, before = hello(), idle_descriptors(one)
    held = []
    for i in range(200):
        s = tcp(one)
        s.sendall(first[: (0, 3, 60, len(first))[i % 4]])
        held.append(s)
    trickle = threading.Thread(target=send_slowly, args=(one, first, seconds := []))
    trickle.start()
    until(lambda: descriptors(one) >= before + 200, "some connections were not accepted")
    assert one.request("GET", "/healthz")[0] == 200  # others are served meanwhile
    for i, s in enumerate(held[:150]):  # some leave, by an end or by a reset
        if i % 2:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    for s in held[150:]:  # the server closes the others after ten seconds
        with contextlib.suppress(ConnectionResetError):
            while s.recv(65536):
                pass
        s.close()
    trickle.join()
    assert seconds and 8 < seconds[0], seconds
    until(lambda: descriptors(one) <= before, "descriptors are left")


def test_handshake_cut_anywhere_leaks_no_memory(one):
    """The client's bytes end at one place after the other."""

    def cut_after(count: int) -> None:
        into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = one.tls.wrap_bio(into, out, server_hostname="localhost")
        with tcp(one) as s, contextlib.suppress(ConnectionError):
            left = count
            while left > 0:
                try:
                    client.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    pass
                piece = out.read()[:left]
                s.sendall(piece)
                left -= len(piece)
                if left > 0:
                    into.write(s.recv(65536))

    def cut_everywhere() -> int:
        """Return the server's memory when all connections are closed."""
        for count in range(1, 460, 12):
            cut_after(count)
        until(lambda: descriptors(one) <= before, "descriptors are left")
        return resident_kib(one)

    before = idle_descriptors(one)
    level = cut_everywhere()
    assert max(cut_everywhere() for _ in range(3)) < level + 2000


# ---- files ----


def private(remit, name: str, content: bytes) -> pathlib.Path:
    path = remit.file(name, content)
    path.chmod(0o600)
    return path


def refusal_of(remit, *flags) -> str:
    done = remit("serve", "--listen", "127.0.0.1:0", *flags)
    assert done.returncode in (2, 125) and done.stdout == "", done
    return done.stderr


def test_unusable_tls_files_are_refused(remit):
    good, other, rsa = Files(remit, "good"), Files(remit, "other"), Files(remit, "rsa", RSA)
    assert "--tls-key is missing" in refusal_of(remit, "--tls-certificate", good.chain)
    assert "--tls-certificate is missing" in refusal_of(remit, "--tls-key", good.key)
    for key in (other.key, rsa.key):
        assert "is not the key of" in refusal_of(remit, "--tls-certificate", good.chain, "--tls-key", key)
    assert "no readable PEM certificate" in refusal_of(remit, "--tls-certificate", good.key, "--tls-key", good.key)
    assert "no readable PEM key" in refusal_of(remit, "--tls-certificate", good.chain, "--tls-key", private(remit, "not.key", good.chain.read_bytes()))
    assert "No such file" in refusal_of(remit, "--tls-certificate", remit.folder / "none", "--tls-key", good.key)
    assert "No such file" in refusal_of(remit, "--tls-certificate", good.chain, "--tls-key", remit.folder / "none")
    half = remit.file("half.pem", good.chain.read_text() + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    assert "cannot be read" in refusal_of(remit, "--tls-certificate", half, "--tls-key", good.key)
    locked = openssl("pkey", "-in", good.key, "-aes128", "-passout", "pass:abcd").stdout
    assert "is encrypted" in refusal_of(remit, "--tls-certificate", good.chain, "--tls-key", private(remit, "locked.key", locked))
    assert "do not use TLS" in refusal_of(remit, "--open", "--e2b-debug", *good.flags())
    assert "requires keys" in refusal_of(remit, "--listen", "0.0.0.0:0", *good.flags())


def test_tls_key_readable_by_others_is_refused(remit):
    files = Files(remit, "shown")
    for mode in (0o604, 0o602, 0o660) + (() if remit.by_root else (0o640,)):
        files.key.chmod(mode)
        message = refusal_of(remit, *files.flags())
        assert f"(mode {mode:04o})" in message and "chmod 600" in message
    if remit.by_root:  # a machine may share its key with a group of servers
        files.key.chmod(0o640)
        with serve(remit, *files.flags()):
            pass


def test_expired_certificate_is_reported(any_remit):
    files = Files(any_remit, "expired")
    der = ssl.PEM_cert_to_DER_cert(files.chain.read_text().split("-----END")[0] + "-----END CERTIFICATE-----\n")
    until = der.index(b"\x17\x0d", der.index(b"\x17\x0d") + 15) + 2  # the second of its two times
    files.chain.write_text(ssl.DER_cert_to_PEM_cert(der[:until] + b"200101000000Z" + der[until + 13 :]))
    process = any_remit.popen("serve", "--listen", "127.0.0.1:0", *files.flags(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert "https://" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert "has expired" in process.communicate(timeout=120)[1]
    finally:
        process.kill()
        process.wait()


def trusted_certificate(s) -> bytes | None:
    """Return the server's certificate, or None if it is not trusted yet."""
    with contextlib.suppress(ssl.SSLCertVerificationError), tls(s) as new:
        return new.getpeercert(binary_form=True)


def test_sighup_loads_new_certificate(stage):
    with serve_tls(make_remit(users()[-1], stage)) as s:
        old = tls(s)
        was = old.getpeercert(binary_form=True)
        s.files.make()
        s.tls = s.files.trust()
        s.process.send_signal(signal.SIGHUP)
        now = until(lambda: trusted_certificate(s))
        assert now != was
        old.sendall(HEALTH)
        assert b'"status":"ok"' in read_all(old)
        old.close()
        s.files.key.write_text("broken")  # an unreadable file changes nothing
        s.process.send_signal(signal.SIGHUP)
        assert str(s.files.key) in s.process.stderr.readline()
        with tls(s) as new:
            assert new.getpeercert(binary_form=True) == now


def test_unix_socket_stays_plain(any_remit):
    files, path = Files(any_remit, "local"), any_remit.folder / "tls.sock"
    with serve(any_remit, *files.flags(), "--listen", f"unix:{path}"):
        c = http.client.HTTPConnection("localhost")
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.connect(str(path))
        c.request("GET", "/healthz")
        assert c.getresponse().status == 200
        c.close()
