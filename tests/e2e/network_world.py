"""A small internet for tests: a machine ("here") and the rest of the world ("outside"), each a network namespace, with
real servers, a real resolver and TLS. Root starts it:

    unshare --net --mount network_world.py FOLDER

FOLDER gets `log` (one line per DNS question and per connection) and `ca.pem`. The program prints "ready" when
everything runs, and ends at the end of its standard input. Commands run on this machine through nsenter(1).
"""

import contextlib
import http.server
import json
import os
import pathlib
import signal
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import threading

RESOLVER = "93.184.216.53"
HERE = "93.184.216.1"
PUBLIC, EVIL, PRIVATE, METADATA = "93.184.216.34", "93.184.216.66", "10.9.9.9", "169.254.169.254"
PUBLIC6 = "2606:4700::34"
TRUSTED = "/etc/ssl/certs/ca-certificates.crt"  # read by this machine's clients
NAMES = {
    "api.example.com": [PUBLIC],
    "evil.example": [EVIL],
    "inner.example.com": [PRIVATE],
    "loop.example.com": ["127.0.0.1"],
    "zero.example.com": ["0.0.0.0"],
    "meta.example.com": [METADATA],
    "mixed.example.com": [PUBLIC, PRIVATE],
    "here.example.com": [HERE],
    "dead.example.com": ["93.184.216.99"],
    "six.example.com": [PUBLIC6],
    "mapped.example.com": ["::ffff:127.0.0.1"],
    "many.example.com": ["93.184.216.99", PUBLIC],
}
# Hosts whose certificate does not prove their name
STRANGERS = ("stranger", "misnamed", "expired")
NAMES |= {name + ".example.com": [PUBLIC] for name in STRANGERS}
# A name with another address at each query, and one that is an alias
REBIND, ALIAS = "rebind.example.com", "alias.example.com"


class Log:
    def __init__(self, folder):
        self.path = folder / "log"
        self.lock = threading.Lock()

    def __call__(self, *words):
        with self.lock, open(self.path, "a") as f:
            f.write(" ".join(map(str, words)) + "\n")


# ---- the resolver ----


def wire(name):
    return b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\0"


def records(name, kind, asked):
    """The answers' records in wire form, or None if the name does not exist."""
    addresses = NAMES.get(name)
    if addresses is None and name.endswith(".example.org"):
        addresses = [PUBLIC]
    if name == REBIND:
        addresses = [PUBLIC if asked == 0 else PRIVATE]
    out, owner = [], b"\xc0\x0c"
    if name == ALIAS:
        target = wire("inner.example.com")
        out.append(owner + struct.pack(">HHIH", 5, 1, 1, len(target)) + target)
        owner, addresses = target, [PRIVATE]
    if addresses is None:
        return None
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        if kind == (28 if family == socket.AF_INET6 else 1):
            data = socket.inet_pton(family, address)
            out.append(owner + struct.pack(">HHIH", kind, 1, 1, len(data)) + data)
    return out


def answer(data, counts, log):
    at, parts = 12, []
    while data[at]:
        parts.append(data[at + 1 : at + 1 + data[at]].decode())
        at += 1 + data[at]
    (kind,) = struct.unpack(">H", data[at + 1 : at + 3])
    name = ".".join(parts)
    log("question", name, kind)
    found = records(name, kind, counts.get(name, 0))
    counts[name] = counts.get(name, 0) + 1
    code = 3 if found is None else 0
    head = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(found or []), 0, 0)
    return head + data[12 : at + 5] + b"".join(found or [])


def serve_names(log):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((RESOLVER, 53))
    counts = {}
    while True:
        data, who = s.recvfrom(2048)
        s.sendto(answer(data, counts, log), who)


# ---- hosts ----


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def parse_request(self):
        fine = super().parse_request()
        self.server.log("request", self.command, self.path, self.headers.get("X-Key", "-") if fine else "bad")
        return fine

    def end_headers(self):
        """Announce the close as servers do (RFC 9112, 9.6)."""
        if self.close_connection:
            self.send_header("Connection", "close")
        super().end_headers()

    def do_GET(self):
        where = self.connection.getsockname()[0]
        if self.path == "/redirect":
            self.send_response(302)
            self.send_header("Location", "http://evil.example/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = json.dumps({"host": self.headers["Host"], "at": where}).encode()
        kept = self.server.log.path.parent / "www" / self.headers["Host"] / self.path.strip("/")
        if kept.is_file():
            body = kept.read_bytes()
        if self.path.startswith("/big/"):
            body = b"x" * int(self.path[5:])
        if self.path == "/slow":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b"y" * 1000)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def read_chunks(self):
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def do_POST(self):
        chunked = self.headers["Transfer-Encoding"] == "chunked"
        n = sum(map(len, self.read_chunks())) if chunked else len(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", str(len(str(n))))
        self.end_headers()
        self.wfile.write(str(n).encode())

    do_DELETE = do_GET

    def log_message(self, *args):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET6
    request_queue_size = 512

    def __init__(self, port, handler, log, context=None, host="::"):
        self.log, self.context = log, context
        super().__init__((host, port), handler)

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "world", self.server_address[1]

    def process_request(self, request, client_address):
        where = request.getsockname()
        self.log("connection", where[0].removeprefix("::ffff:"), where[1])
        super().process_request(request, client_address)

    def finish_request(self, request, client_address):
        if self.context:
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        pass


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data)


class Greeter(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"hello, I speak first\n")


def make_certificates(folder):
    def run(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    def sign(name, by, dates, *hosts):
        names = ",".join("DNS:" + host for host in hosts)
        (folder / "names.cnf").write_text(f"subjectAltName={names}\nauthorityKeyIdentifier=keyid\n")
        run("x509", "-req", "-in", "host.csr", "-CA", by + ".pem", "-CAkey", by + ".key", *dates, "-out", name + ".pem",
            "-extfile", "names.cnf")  # fmt: skip

    def past():
        """OpenSSL before 3.4 accepts negative days. Later versions accept dates instead."""
        version = subprocess.run(["openssl", "version"], check=True, capture_output=True, text=True).stdout.split()[1]
        if tuple(map(int, version.split(".")[:2])) < (3, 4):
            return "-days", "-1"
        return "-not_before", "20200101000000Z", "-not_after", "20200102000000Z"

    valid = "-days", "2"

    for by in ("ca", "other-ca"):
        run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-keyout", by + ".key", "-out", by + ".pem", "-subj", "/CN=test " + by,
            "-addext", "keyUsage=critical,keyCertSign")  # fmt: skip
    run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "host.key", "-out", "host.csr",
        "-subj", "/CN=world")  # fmt: skip
    sign("host", "ca", valid, "api.example.com", "*.example.org", "evil.example", "*.example.com")
    sign("stranger", "other-ca", valid, "*.example.com")
    sign("misnamed", "ca", valid, "evil.example")
    sign("expired", "ca", past(), "*.example.com")


def tls_contexts(folder):
    """The usual context, which switches to another certificate for names in STRANGERS, and one that speaks TLS 1.3
    only."""

    def make(name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / (name + ".pem"), folder / "host.key")
        return context

    others = {name: make(name) for name in STRANGERS}

    def choose(s, name, _):
        s.context = others.get((name or "").split(".")[0], usual)

    usual, modern = make("host"), make("host")
    usual.sni_callback = choose
    modern.minimum_version = ssl.TLSVersion.TLSv1_3
    return usual, modern


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def outside(folder):
    """The rest of the world, in a separate network namespace."""
    log = Log(folder)
    sys.stdin.readline()  # the link exists
    ip("link", "set", "lo", "up")
    for address in (PUBLIC, EVIL, PRIVATE, METADATA, RESOLVER):
        ip("addr", "add", address + "/32", "dev", "lo")
    ip("addr", "add", "93.184.216.254/24", "dev", "far")
    ip("-6", "addr", "add", PUBLIC6 + "/64", "dev", "far", "nodad")
    ip("link", "set", "far", "up")
    context, modern = tls_contexts(folder)
    servers = [
        Server(80, Web, log), Server(443, Web, log, context), Server(8080, Web, log), Server(25, Greeter, log),
        Server(7000, Echo, log), Server(7001, Greeter, log), Server(8443, Web, log, modern),
    ]  # fmt: skip
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    threading.Thread(target=serve_names, args=(log,), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


def here(folder):
    log = Log(folder)
    log.path.touch()
    make_certificates(folder)
    (folder / "resolv.conf").write_text(f"nameserver {RESOLVER}\n")
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n{PUBLIC} listed.example.com\n{PRIVATE} inner-listed.example.com\n")
    (folder / "trusted.pem").write_text(pathlib.Path(TRUSTED).read_text() + (folder / "ca.pem").read_text())
    for name, path in (("resolv.conf", "/etc/resolv.conf"), ("hosts", "/etc/hosts"), ("trusted.pem", TRUSTED)):
        subprocess.run(["mount", "--bind", folder / name, os.path.realpath(path)], check=True)
    far = subprocess.Popen(
        ["unshare", "--net", sys.executable, __file__, str(folder), "outside"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )  # fmt: skip
    ip("link", "set", "lo", "up")
    ip("link", "add", "near", "type", "veth", "peer", "name", "far")
    while os.readlink(f"/proc/{far.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
        pass
    ip("link", "set", "far", "netns", str(far.pid))
    ip("addr", "add", HERE + "/24", "dev", "near")
    ip("-6", "addr", "add", "2606:4700::1/64", "dev", "near", "nodad")
    ip("link", "set", "near", "up")
    far.stdin.write("go\n")
    far.stdin.flush()
    assert far.stdout.readline() == "ready\n"
    ip("route", "add", "default", "via", "93.184.216.254")
    for port in (80, 5432):
        server = Server(port, Web if port == 80 else Echo, log)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    far.stdin.close()
    far.wait()


if __name__ == "__main__":
    # Run at a higher priority: the programs under test have deadlines, and must not miss them because this process
    # waits for a processor.
    with contextlib.suppress(PermissionError):
        os.nice(-5)
    (outside if sys.argv[2:] else here)(pathlib.Path(sys.argv[1]))
