"""The network of E2B's clients, unmodified: allowed hosts, and headers that reach those hosts and nothing else."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys

import network_here
import pytest
from conftest import ROOT
from leftovers import memory_has, name_of, processes
from network_here import requests
from served import serve

sys.path.insert(0, str(ROOT / "tests" / "npm"))
sys.path.insert(0, str(ROOT / "tests" / "python"))
import packages  # noqa: E402
import venvs  # noqa: E402

API, INNER = "api.example.com", "inner.example.com"
NEEDLE = "s3cr3t-of-the-client"
SECRET = f"Bearer {NEEDLE}"
# A policy that no client can ask for, since it names a private address
OWN = {"network_allow": [f"{INNER}:80:private"]}
LOOK = f"""
import os, urllib.request
def fetch(url):
    try: return urllib.request.urlopen(url, timeout=20).status
    except Exception as e: return type(e).__name__
needle = "s3cr3t" + "-of-the-client"
[fetch("https://{API}/a"), fetch("http://{INNER}/b"), fetch("https://evil.example/c"), needle in str(dict(os.environ))]
"""
PYTHON = """
import json, os, sys, urllib.request
from e2b_code_interpreter import Sandbox
api, inner, secret, look = sys.argv[1:]
def ask(path, body=None):
    head = {"X-API-Key": os.environ["E2B_API_KEY"], "E2b-Sandbox-Id": box.sandbox_id, "Content-Type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(os.environ["E2B_API_URL"] + path, body, head)).read().decode()
def failed(**network):
    try: Sandbox.create(network=network).kill()
    except Exception as e: return [type(e).__name__, str(e)]
def header(value): return [{"transform": {"headers": {"X-Key": value}}}]
rules = {api: header(secret), inner: header(secret)}
box = Sandbox.create(network={"rules": rules, "allow_out": lambda ctx: list(ctx.rules), "deny_out": lambda ctx: [ctx.all_traffic]})
raw = [ask("/execute", json.dumps({"code": "1"}).encode())]
text = box.run_code(look).text
raw += [ask("/sandboxes"), ask("/sandboxes/" + box.sandbox_id), ask("/metrics"), repr(box.get_info())]
box.restart_code_context("main")
again = box.run_code(look).text
allowed = {"allow_out": [api]}
refused = [failed(rules=rules), failed(rules={api: header("bad\\nvalue " + secret)}, **allowed), failed(rules={api: header(secret + "x" * 4096)}, **allowed),
           failed(rules={"*.example.com": header(secret)}, allow_out=["*.example.com"]), failed(rules={api: [{"transform": {"headers": {"Content-Length": secret}}}]}, **allowed),
           failed(egress_proxy={"address": "proxy.example.com:1080"}), failed(mask_request_host="a"), failed(allow_out=["10.0.0.0/8"]), failed(https_ports=[3000])]
box.kill()
print(json.dumps({"text": text, "again": again, "raw": raw, "refused": refused}))
"""
JS = """
import { createRequire } from 'node:module';
const [made, api, inner, secret, look] = process.argv.slice(2);
const { Sandbox } = createRequire(`${made}/`)('@e2b/code-interpreter');
const header = [{ transform: { headers: { 'X-Key': secret } } }];
const box = await Sandbox.create({ network: { rules: { [api]: header, [inner]: header }, allowOut: ({ rules }) => [...rules.keys()], denyOut: ({ allTraffic }) => [allTraffic] } });
const text = (await box.runCode(look)).text;
const info = JSON.stringify(await box.getInfo());
const late = await box.updateNetwork({ allowOut: [api] }).then(() => 'no error', (e) => e.message);
await box.kill();
console.log(JSON.stringify({ text, info, late }));
"""


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-e2b") as w:
        yield w


@contextlib.contextmanager
def clients(world, remit, *flags):
    """Start a server on the test's machine, and yield a function that runs a client program there."""
    here = world.inside(remit)
    log = remit.folder / "e2b-network.log"
    with serve(here, "--log", log, *network_here.FALLBACK, *flags) as served:
        at = f"http://127.0.0.1:{served.port}"
        env = remit.env({"E2B_API_KEY": f"e2b_{served.token}", "E2B_API_URL": at, "E2B_SANDBOX_URL": at})

        def start(*argv) -> subprocess.Popen:
            return subprocess.Popen([*here.argv()[:-1], *map(str, argv)], env=env, cwd=remit.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def run_client(*argv) -> dict:
            done = subprocess.run([*here.argv()[:-1], *map(str, argv)], env=env, cwd=remit.folder, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
            return json.loads(done.stdout.splitlines()[-1])

        run_client.start = start
        yield run_client
    written = log.read_text()
    log.unlink()
    assert "/sandboxes" in written and "s3cr3t" not in written


def keys(seen):
    return {line.split()[2]: " ".join(line.split()[3:]) for line in requests(seen)}


def test_pypi_client_s_headers_reach_only_the_host(remit, world):
    mark = world.mark()
    with clients(world, remit, "--policy", remit.file("e2b-policy.json", json.dumps(OWN))) as run_client:
        seen = run_client(venvs.framework("e2b"), "-c", PYTHON, API, INNER, SECRET, LOOK)
    assert seen["text"] == seen["again"] == "[200, 200, 'URLError', False]", seen
    assert keys(world.seen(mark)) == {"/a": SECRET, "/b": SECRET}
    assert len(requests(world.seen(mark))) == 4, "a fresh jail must send them too"
    assert "s3cr3t" not in "".join(seen["raw"]) and f"{API}:443:X-Key=given:RULE_1" in seen["raw"][0]
    assert "s3cr3t" not in json.dumps(seen["refused"])
    words = ["allowOut", "a header may not have", "longer than 4095", "single hosts", "does not name a header", "another proxy", "get the Host header", "ranges", "have no TLS"]
    for (name, message), word in zip(seen["refused"], words, strict=True):
        assert name == "SandboxException" and word in message, (word, message)


def test_npm_client_s_headers_reach_only_the_host(remit, world):
    mark = world.mark()
    made = packages.folder("e2b")
    with clients(world, remit, "--policy", remit.file("e2b-policy.json", json.dumps(OWN))) as run_client:
        seen = run_client(packages.node(made), remit.file("rules.mjs", JS), made, API, INNER, SECRET, LOOK)
    assert seen["text"] == "[200, 200, 'URLError', False]" and keys(world.seen(mark)) == {"/a": SECRET, "/b": SECRET}
    assert "s3cr3t" not in seen["info"] and "its proxy has credentials" in seen["late"]


def test_header_is_in_no_jail_process_s_memory(remit, world):
    """Not even in the jail's first process, which starts as a copy of the keeper."""
    code = PYTHON.split("raw = ")[0] + "box.run_code(look); print('begun', flush=True); input(); box.kill(); os._exit(0)"
    with clients(world, remit, "--policy", remit.file("e2b-policy.json", json.dumps(OWN))) as run_client:
        with run_client.start(venvs.framework("e2b"), "-c", code, API, INNER, SECRET, LOOK) as client:
            assert client.stdout.readline() == "begun\n"
            found, read = {}, set()
            for pid in processes(remit.command):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the process has ended
                    found.setdefault(name_of(pid), set()).add(memory_has(pid, SECRET.encode()))
                    read |= {name_of(pid)} if memory_has(pid, NEEDLE.encode()) else set()
            client.communicate("\n", timeout=120)
    # The server and its keeper received the header, and the proxy sends it.
    assert {name for name, has in found.items() if True in has} == {"remit", "exe", "remit-proxy"}, found
    # Control: the search does find what the other processes have.
    assert any(name.startswith("python") for name in read), read


def test_key_policy_limits_headers(remit, world):
    """A key without network does not get any by naming a header."""
    path = remit.folder / "e2b-network-keys.json"
    path.unlink(missing_ok=True)
    key = remit("serve", "--keys", path, "--add-key", "a").stdout.strip()
    document = json.loads(path.read_text())
    document["keys"][0] |= {"policy": OWN, "free": []}
    path.write_text(json.dumps(document))
    code = PYTHON.split("box = Sandbox")[0] + "print(json.dumps([failed(rules={h: header(secret)}, allow_out=[h]) for h in (api, inner)]))"
    with clients(world, remit, "--keys", path) as run_client:
        (name, message), fine = run_client("env", f"E2B_API_KEY=e2b_{key}", venvs.framework("e2b"), "-c", code, API, INNER, SECRET, LOOK)
    assert name == "SandboxException" and "network_allow" in message and "s3cr3t" not in message and fine is None


# ---- changes of a live sandbox ----

OTHER = "evil.example"
ALL = "0.0.0.0/0"
CHANGE = """
import json, os, sys, urllib.request
from e2b_code_interpreter import Sandbox
api, other, look = sys.argv[1:]
def ask(method, path, body=None, sandbox=None):
    head = {"X-API-Key": os.environ["E2B_API_KEY"], "E2b-Sandbox-Id": sandbox or box.sandbox_id, "Content-Type": "application/json"}
    sent = urllib.request.Request(os.environ["E2B_API_URL"] + path, None if body is None else json.dumps(body).encode(), head, method=method)
    try:
        with urllib.request.urlopen(sent) as answer: return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e: return e.code, e.read().decode()
def failed(f, *a, **k):
    try: f(*a, **k)
    except Exception as e: return [type(e).__name__, str(e)]
def only(*hosts): return {"allow_out": list(hosts), "deny_out": lambda ctx: [ctx.all_traffic]}
def reached(): return json.loads(box.run_code(look).text.lower())
def put(body): return ask("PUT", "/sandboxes/" + box.sandbox_id + "/network", body)
def report(): print(json.dumps(seen))
seen = {}
"""
LOOK_TWICE = f"""
import urllib.request
def fetch(url):
    try: return urllib.request.urlopen(url, timeout=20).status == 200
    except OSError: return False
[fetch("https://{API}/a"), fetch("https://{OTHER}/b")]
"""
PYTHON_CHANGE = CHANGE + """
box = Sandbox.create(network=only(api))
seen["reached"] = [reached()]
for hosts in ([other], [api, other], [], [api]):
    box.update_network(only(*hosts))
    seen["reached"].append(reached())
Sandbox.update_network(box.sandbox_id, only(other))
seen["info"] = json.loads(ask("GET", "/sandboxes/" + box.sandbox_id)[1])
seen["enforcement"] = ask("POST", "/execute", {"code": "1"})[1]
seen["by_id"] = reached()
box.update_network(only(api))
seen["enforcement_again"] = ask("POST", "/execute", {"code": "1"})[1]
box.update_network({"allow_internet_access": False})
seen["denied"] = [reached(), json.loads(ask("GET", "/sandboxes/" + box.sandbox_id)[1])["allowInternetAccess"]]
box.update_network(only(other))
box.restart_code_context("main")
seen["restarted"] = reached()
header = [{"transform": {"headers": {"X-Key": "s3cr3t"}}}]
seen["refused"] = [
    failed(box.update_network, {"rules": {api: header}, **only(api)}), failed(box.update_network, only("10.0.0.0/8")),
    failed(box.update_network, only(*["h%d.example.com" % i for i in range(100)])), failed(box.update_network, only("*.com")),
    failed(box.update_network, only("not a host")), failed(box.update_network, {"egress_proxy": {"address": "proxy.example.com:1080"}}),
]
seen["raw"] = [put(b) for b in ({"allowOut": "x"}, {"allowOut": [1]}, {"denyOut": {}}, {"allow_internet_access": "no"}, {"strange": [1]}, {"allowOut": ["a" * 70000]})]
seen["unchanged"] = reached()
seen["ask"] = failed(Sandbox.update_network, "no_such_sandbox", only(api))
bare = Sandbox.create(network={"deny_out": lambda ctx: [ctx.all_traffic]})
seen["bare"] = failed(bare.update_network, only(api))
bare.kill(); box.kill()
report()
"""
PAUSED = CHANGE + """
box = Sandbox.create(network=only(api))
box.update_network(only(other))
seen["pause"] = ask("POST", "/sandboxes/" + box.sandbox_id + "/pause", {"memory": False})[0]
seen["while_paused"] = put({"allowOut": [api]})
box = Sandbox.connect(box.sandbox_id)
seen["resumed"] = reached()
seen["info"] = json.loads(ask("GET", "/sandboxes/" + box.sandbox_id)[1])["network"]
box.kill()
report()
"""


def test_pypi_client_changes_network_of_live_sandbox(remit, world):
    with clients(world, remit) as run_client:
        seen = run_client(venvs.framework("e2b"), "-c", PYTHON_CHANGE, API, OTHER, LOOK_TWICE)
    assert seen["reached"] == [[True, False], [False, True], [True, True], [False, False], [True, False]], seen
    assert seen["by_id"] == seen["restarted"] == seen["unchanged"] == [False, True]
    assert seen["info"]["network"] == {"allowOut": [OTHER], "denyOut": [ALL]} and seen["info"]["allowInternetAccess"] is True
    assert f'"{OTHER}:443"' in seen["enforcement"] and f'"{API}:443"' not in seen["enforcement"]
    assert f'"{API}:443"' in seen["enforcement_again"] and f'"{OTHER}:443"' not in seen["enforcement_again"]
    assert seen["denied"] == [[False, False], False]
    words = ["headers cannot be added", "ranges", "64", "top-level", "network", "another proxy"]
    for (name, message), word in zip(seen["refused"], words, strict=True):
        assert name == "SandboxException" and word in message and "s3cr3t" not in message, (word, message)
    assert [status for status, _ in seen["raw"]] == [400] * 6, seen["raw"]
    assert "NotFound" in seen["ask"][0] and "no network that a proxy controls" in seen["bare"][1], seen


def test_npm_client_changes_network_of_live_sandbox(remit, world):
    code = JS.split("const header")[0] + """
const only = (...hosts) => ({ allowOut: hosts, denyOut: ({ allTraffic }) => [allTraffic] });
const box = await Sandbox.create({ network: only(api) });
const reached = async () => JSON.parse((await box.runCode(look)).text.toLowerCase());
const seen = [await reached()];
for (const hosts of [[secret], [api, secret]]) { await box.updateNetwork(only(...hosts)); seen.push(await reached()); }
await box.kill();
console.log(JSON.stringify(seen));
"""
    made = packages.folder("e2b")
    with clients(world, remit) as run_client:
        seen = run_client(packages.node(made), remit.file("change.mjs", code), made, API, INNER, OTHER, LOOK_TWICE)
    assert seen == [[True, False], [False, True], [True, True]]


def test_paused_sandbox_keeps_changed_network(remit, world):
    with clients(world, remit, "--state", remit.folder / "e2b-network-state", "--pause-files-only") as run_client:
        seen = run_client(venvs.framework("e2b"), "-c", PAUSED, API, OTHER, LOOK_TWICE)
    assert seen["pause"] == 204 and seen["while_paused"][0] == 409 and "connect to it" in seen["while_paused"][1], seen
    assert seen["resumed"] == [False, True] and seen["info"]["allowOut"] == [OTHER]


def test_change_is_limited_by_key_and_reaches_no_sandbox_of_another(remit, world):
    path = remit.folder / "e2b-change-keys.json"
    path.unlink(missing_ok=True)
    key, stranger = (remit("serve", "--keys", path, "--add-key", name).stdout.strip() for name in ("a", "b"))
    document = json.loads(path.read_text())
    document["keys"][0] |= {"policy": {"network_allow": [f"{API}:443", f"{API}:80"], "memory_fallback": "per_process"}, "free": []}
    path.write_text(json.dumps(document))
    code = CHANGE + f"""
box = Sandbox.create(network=only(api))
seen["beyond"] = [failed(box.update_network, only(api, other)), failed(box.update_network, only(other))]
seen["unchanged"] = reached()
os.environ["E2B_API_KEY"] = "e2b_{stranger}"
seen["stranger"] = put({{"allowOut": [api]}})
os.environ["E2B_API_KEY"] = "e2b_{key}"
box.update_network(only())
seen["none"] = reached()
box.update_network(only(api))
seen["again"] = reached()
report()
"""
    with clients(world, remit, "--keys", path) as run_client:
        seen = run_client("env", f"E2B_API_KEY=e2b_{key}", venvs.framework("e2b"), "-c", code, API, OTHER, LOOK_TWICE)
    assert all(name == "SandboxException" and "network_allow" in message for name, message in seen["beyond"]), seen
    assert seen["unchanged"] == seen["again"] == [True, False] and seen["none"] == [False, False]
    assert seen["stranger"][0] == 404


def test_whole_network_is_narrowed_and_widened_again(remit, world):
    code = CHANGE + """
box = Sandbox.create()
seen = [reached()]
for network in (only(api), {}, {"allow_internet_access": False}, {"allow_internet_access": True}):
    box.update_network(network)
    seen.append(reached())
report()
"""
    with clients(world, remit, "--net") as run_client:
        seen = run_client(venvs.framework("e2b"), "-c", code, API, OTHER, LOOK_TWICE)
    assert seen == [[True, True], [True, False], [True, True], [False, False], [True, True]]
