"""credentials inside TLS: the proxy terminates the code's connection and opens its own to a host that it has
verified."""

import json
import subprocess

import network_here
import pytest
from conftest import enforced
from leftovers import processes, remaining
from network_here import TRY, connections, reported, requests
from test_network_credentials import API, INNER, LOOK, SECRET, keys, found_in_memory

KEY = ("--credential", f"{API}:X-Key=env:KEY")


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-credentials-tls") as w:
        yield w


@pytest.fixture
def here(remit, world):
    return world.inside(remit)


def test_header_reaches_host_inside_tls(here, world, covers):
    mark = world.mark()
    code = LOOK + f"""
report(a=fetch("https://{API}/a"), big=len(fetch("https://{API}/big/3000000")), seen=os.environ["KEY"],
    posted=fetch("https://{API}/post", data=b"p" * 200000), usual=open(os.environ["SSL_CERT_FILE"]).read().count("BEGIN CERT") > 50)
"""
    result = here.allow(code, f"{API}:443", flags=KEY, env={"KEY": SECRET})
    answers = reported(result)
    assert API in answers["a"] and answers["big"] == 3000000 and answers["posted"] == "200000"
    assert answers["seen"] == "kept-by-remit" and answers["usual"]
    assert keys(world.seen(mark)) == [SECRET] * 3 and "s3cr3t" not in json.dumps(result)
    assert enforced(result, "credentials") == ["proxy"]
    assert result["usage"]["network"]["hosts"][0]["connections"] == 3
    covers(here, "credentials", "proxy")


def fetch_with_credential(here, place):
    flags = ("--credential", place.split(":")[0] + ":X-Key=env:KEY")
    return here.allow(LOOK + f"report(a=attempt(fetch, 'https://{place}/'))", f"{place}:tls", flags=flags, env={"KEY": SECRET})


def test_tls_1_3_host_is_reached_if_library_supports_it(here, world):
    """Mbed TLS 3.6 supports it, 2.28 does not."""
    mark, place = world.mark(), f"{API}:8443"
    result = fetch_with_credential(here, place)
    if "TLS 1.2 and 1.3" in here("--version").stdout:
        assert API in reported(result)["a"] and keys(world.seen(mark)) == [SECRET] and result["denials"] == []
    else:
        assert "{" not in reported(result)["a"] and requests(world.seen(mark)) == [] and len(result["denials"]) == 1


@pytest.mark.parametrize("place", ["stranger.example.com:443", "misnamed.example.com:443", "expired.example.com:443"])
def test_host_without_valid_certificate_gets_nothing(here, world, place):
    mark = world.mark()
    result = fetch_with_credential(here, place)
    assert "{" not in reported(result)["a"] and requests(world.seen(mark)) == [] and len(connections(world.seen(mark))) == 1
    (row,) = result["denials"]
    assert row["what"] == f"connect to {place}, which did not prove its identity with a TLS certificate" and row["flag"] is None


def test_malformed_requests_inside_tls_are_refused(here, world):
    mark = world.mark()
    code = LOOK + f"""
def raw(path, host="{API}", more="", method="GET"): return f"{{method}} /{{path}} HTTP/1.1\\r\\nHost: {{host}}\\r\\n{{more}}\\r\\n".encode()
def inside(data, name="{API}", then=b"", alpn=None, host="{API}"):
    context = ssl.create_default_context()
    context.check_hostname = name == "{API}"
    if alpn: context.set_alpn_protocols(alpn)
    with context.wrap_socket(socket.create_connection((host, 443), 60), server_hostname=name) as s:
        s.sendall(data)
        got = b""
        while more := s.recv(65536): got += more
        if then:
            s.sendall(then)
            got += s.recv(65536)
        if not got: raise EOFError
        return got.decode("latin-1")
chunks = "Transfer-Encoding: chunked\\r\\n"
report(fine=inside(raw("fine")), h1=inside(raw("h1"), alpn=["h2", "http/1.1"]),
    host=attempt(inside, raw("host", "{INNER}")), absolute=attempt(inside, b"GET http://{INNER}/abs HTTP/1.1\\r\\nHost: {API}\\r\\n\\r\\n"),
    name=attempt(inside, raw("name"), name="{INNER}"), two=attempt(inside, raw("two", more="Host: {INNER}\\r\\n")),
    second=attempt(inside, raw("first") + raw("second", "{INNER}")), later=attempt(inside, raw("early"), then=raw("later", "{INNER}")),
    lengths=attempt(inside, raw("lengths", more="Content-Length: 5\\r\\n" + chunks, method="POST") + b"0\\r\\n\\r\\n" + raw("smuggled")),
    beyond=attempt(inside, raw("beyond", more=chunks, method="POST") + b"0\\r\\n\\r\\n" + raw("smuggled")),
    trace=attempt(inside, raw("trace", method="TRACE")), upgrade=attempt(inside, raw("upgrade", more="Upgrade: h2c\\r\\nConnection: Upgrade\\r\\n")),
    method=attempt(inside, raw("method", method="DELETE")), prior=attempt(inside, b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n"), h2=attempt(inside, raw("h2"), alpn=["h2"]),
    clear=attempt(dial, "{API}", 443, raw("clear")), long=attempt(inside, raw("long", more="X: " + "y" * 17000)))
"""
    result = here.allow(code, f"{API}:443:methods=GET+POST+HEAD", flags=KEY, env={"KEY": SECRET})
    answers = reported(result)
    assert "{" in answers["fine"] and "{" in answers["h1"]
    # The first request of `later` is answered. Nothing is passed on after it.
    assert not [k for k in answers if k not in ("fine", "h1", "later") and "{" in answers[k]], answers
    seen = {line.split()[2]: " ".join(line.split()[3:]) for line in requests(world.seen(mark))}
    assert set(seen) <= {"/fine", "/h1", "/early"} and set(seen.values()) == {SECRET}, seen
    assert "s3cr3t" not in json.dumps(result)


def test_other_hosts_keep_their_tls(here, world):
    mark = world.mark()
    code = LOOK + f"""
seen = ssl.create_default_context()
def issuer(host):
    with seen.wrap_socket(socket.create_connection((host, 443), 60), server_hostname=host) as s: return dict(x[0] for x in s.getpeercert()["issuer"])["commonName"]
report(other=fetch("https://a.example.org/other"), redirect=attempt(fetch, "https://{API}/redirect"), ours=issuer("{API}"), theirs=issuer("a.example.org"),
    names=attempt(lambda: seen.wrap_socket(socket.create_connection(("{API}", 443), 60), server_hostname="b.example.org")))
"""
    result = here.allow(code, f"{API}:443", "*.example.org:443", "evil.example:80", flags=KEY, env={"KEY": SECRET})
    answers = reported(result)
    assert "{" in answers["other"] and answers["ours"].startswith("Remit") and answers["theirs"] == "test ca", answers
    seen = {line.split()[2]: " ".join(line.split()[3:]) for line in requests(world.seen(mark))}
    assert seen == {"/other": "-", "/redirect": SECRET, "/": "-"}


def test_clients_with_separate_authorities_trust_proxy_too(here, world):
    mark = world.mark()
    code = LOOK + f"""
import asyncio
from pip._vendor import requests
async def stream():
    reader, writer = await asyncio.open_connection("{API}", 443, ssl=True)
    writer.write(b"GET /asyncio HTTP/1.1\\r\\nHost: {API}\\r\\n\\r\\n")
    return (await reader.readline()).decode()
with requests.Session() as s: report(requests=[s.get("https://{API}/requests").status_code for _ in range(3)], stream=asyncio.run(stream()))
"""
    answers = reported(here.allow(code, f"{API}:443", flags=KEY, env={"KEY": SECRET}))
    assert answers["requests"] == [200] * 3 and " 200 " in answers["stream"] and keys(world.seen(mark)) == [SECRET] * 4


def test_secret_is_sent_through_https_proxy_too(here, world):
    mark = world.mark()
    reported(here.allow(LOOK + f"report(a=fetch('https://{API}/'), own=os.environ['https_proxy'])", f"{API}:443", flags=("--proxy", *KEY), env={"KEY": SECRET}))
    assert keys(world.seen(mark)) == [SECRET]


def test_entry_limits_apply_inside_tls(here, world):
    code = LOOK + f"report(a=len(fetch('https://{API}/big/100')), much=attempt(fetch, 'https://{API}/big/300000'), b=attempt(fetch, 'https://{API}/'))"
    result = here.allow(code, f"{API}:443:bytes=100K,connections=2", flags=KEY, env={"KEY": SECRET})
    answers = reported(result)
    assert answers["a"] == 100 and len(answers["much"]) < 100 and "{" not in answers["b"]
    assert len(result["denials"]) == 2, result["denials"]


def test_maximum_of_concurrent_tls_connections_works(here, world):
    mark = world.mark()
    code = LOOK + f"""
context = ssl.create_default_context()
slow = [socket.create_connection(("{API}", 443), 60) for _ in range(8)]
for s in slow: s.sendall(b"\\x16\\x03\\x01")
# Each answer is longer than the buffers on its way, so none ends before the last connection has begun.
def begin():
    s = context.wrap_socket(socket.create_connection(("{API}", 443), 60), server_hostname="{API}")
    s.sendall(b"GET /big/400000 HTTP/1.1\\r\\nHost: {API}\\r\\n\\r\\n")
    return s
all = [begin() for _ in range(116)]
def rest(s):
    n = 0
    while more := s.recv(65536): n += len(more)
    return n > 400000
report(whole=sum(map(rest, all)))
"""
    result = here.allow(code, f"{API}:443", flags=KEY, env={"KEY": SECRET})
    assert reported(result)["whole"] == 116 and keys(world.seen(mark)) == [SECRET] * 116


def test_header_and_private_key_are_not_in_jail(here, world):
    code = LOOK + f"""
fetch("https://{API}/")
found = []
for folder, _, names in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/usr")): continue
    for name in names:
        try:
            with open(os.path.join(folder, name), "rb") as f: text = f.read(1 << 20)
        except OSError: continue
        if NEEDLE in text or (b"PRIVATE" + b" KEY") in text and folder.startswith(("/etc/remit", "/tmp", "/workspace")): found.append(name)
report(found=found, write=attempt(open, os.environ["SSL_CERT_FILE"], "a"), more=attempt(open, "/etc/remit/x", "w"), files=os.listdir("/etc/remit"))
"""
    answers = reported(here.allow(code, f"{API}:443", flags=KEY, env={"KEY": SECRET}))
    assert answers["found"] == [] and answers["files"] == ["trust.pem"]
    assert {answers["write"], answers["more"]} <= {"OSError", "PermissionError"}, answers


def test_header_is_not_in_interpreter_s_memory(here, world):
    code = TRY + f"fetch('https://{API}/'); print('begun', flush=True)\nimport time; time.sleep(60)"
    flags = ("--allow-host", f"{API}:443", *KEY, "--python", network_here.PYTHON, *network_here.PATIENT, *network_here.FALLBACK)
    with here.popen("run", *flags, "-c", code, env={"KEY": SECRET}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "begun\n"
        found, seen = found_in_memory(p, SECRET), found_in_memory(p, "begun")
        p.kill()
        p.communicate(timeout=60)
    assert found == {"python": False, "remit-proxy": True} and seen["python"]
    assert remaining(lambda: processes(here.command)) == []


# Enough runs that a zygote is ready before the last one, even on a slow machine
RUNS = 40


def test_each_jail_has_separate_authority(here, world, covers):
    code = f"print(open('/etc/remit/trust.pem').read()[-400:]); fetch('https://{API}/')"
    jobs = here.file("jobs.jsonl", "".join(json.dumps({"id": str(i), "code": TRY + code}) + "\n" for i in range(RUNS)))
    mark = world.mark()
    flags = ("--allow-host", f"{API}:443", *KEY, "--python", network_here.PYTHON, *network_here.PATIENT, *network_here.FALLBACK)
    done = here("batch", *flags, str(jobs), env={"KEY": SECRET})
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["status"] for row in rows] == ["ok"] * RUNS, (done.stdout, done.stderr)
    assert len({row["stdout"] for row in rows}) == RUNS and keys(world.seen(mark)) == [SECRET] * RUNS
    assert "warm" in {row["start"] for row in rows}


@pytest.mark.parametrize(
    "entry, credential, words",
    [(f"{API}:8443", f"{API}:X-Key=env:KEY", "only to HTTP"), ("*.example.org:443", "a.example.org:X-Key=env:KEY", "no entry for")],
)
def test_unenforceable_tls_credential_is_refused(any_remit, entry, credential, words):
    result = any_remit.json("print('ran')", "--allow-host", entry, "--credential", credential, "--memory-fallback", "per_process", env={"KEY": SECRET})
    assert result["status"] == "refused" and words in result["error"]["value"] and result["error"]["remedy"], result["error"]
