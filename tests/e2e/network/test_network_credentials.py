"""credentials: a header that reaches its host, and that no process in the jail and no record of the run has."""

import json
import subprocess

import network_here
import pytest
from conftest import enforced
from leftovers import memory_has, name_of, processes, remaining
from network_here import TRY, connections, reported, requests
from shared_keeper import family

API, INNER = "api.example.com", "inner.example.com"
SECRET = "Bearer s3cr3t-of-the-caller"
# The needle is never whole in a program, so a match proves that the value was passed in.
LOOK = TRY + 'import os\nNEEDLE = b"s3cr3t" + b"-of-" + b"the-caller"\n'


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-credentials") as w:
        yield w


@pytest.fixture
def here(remit, world):
    return world.inside(remit)


def keys(seen):
    return [" ".join(line.split()[3:]) for line in requests(seen)]


def test_header_reaches_host_and_code_has_placeholder(here, world, covers):
    mark = world.mark()
    code = LOOK + f"""
def with_header(url, **headers): return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60).read().decode()
report(a=fetch("http://{INNER}/a"), own=with_header("http://{INNER}/own", **{{"x-KEY": os.environ["KEY"]}}), seen=os.environ["KEY"],
    all=[k for k in os.environ if NEEDLE.decode() in os.environ[k]], loop=fetch("http://127.0.0.1/c"))
"""
    flags = ("--credential", f"{INNER}:X-Key=env:KEY", "--credential", "127.0.0.1:X-Key=env:KEY2")
    result = here.allow(code, f"{INNER}:80:private", "127.0.0.1:80:plain", flags=flags, env={"KEY": SECRET, "KEY2": "other"})
    answers = reported(result)
    assert answers["seen"] == "kept-by-remit" and answers["all"] == [] and INNER in answers["a"]
    assert keys(world.seen(mark)) == [SECRET, SECRET, "other"]
    assert "s3cr3t" not in json.dumps(result)
    assert enforced(result, "credentials") == ["proxy"]
    (row,) = [r for r in result["enforcement"] if r["field"] == "credentials"]
    assert row["value"] == [f"{INNER}:X-Key=env:KEY", "127.0.0.1:X-Key=env:KEY2"]
    covers(here, "credentials", "proxy")


def test_header_is_sent_to_one_port_only(here, world):
    """Another port of a host is another server."""
    entries = f"{INNER}:80:private", f"{INNER}:8080:plain,private"
    code = LOOK + f"report(a=fetch('http://{INNER}/a'), b=fetch('http://{INNER}:8080/b'))"
    mark = world.mark()
    result = here.allow(code, *entries, flags=("--credential", f"{INNER}:X-Key=env:KEY"), env={"KEY": SECRET})
    assert result["status"] == "refused" and "names no port" in result["error"]["value"] and requests(world.seen(mark)) == []
    reported(here.allow(code, *entries, flags=("--credential", f"{INNER}:80:X-Key=env:KEY"), env={"KEY": SECRET}))
    assert keys(world.seen(mark)) == [SECRET, "-"]
    mark = world.mark()
    both = [{"host": INNER, "port": 80, "header": "X-Key", "from": "env:KEY"}, {"host": INNER, "port": 8080, "header": "X-Key", "from": "env:KEY2"}]
    policy = here.file("ports.json", json.dumps({"credentials": both}))
    reported(here.allow(code, *entries, flags=("--policy", policy), env={"KEY": SECRET, "KEY2": "other"}))
    assert keys(world.seen(mark)) == [SECRET, "other"]


def test_secret_file_is_read_by_keeper_and_not_by_code(here, world):
    mark = world.mark()
    path = here.file("key.txt", SECRET + "\n")
    path.chmod(0o600)
    code = LOOK + f"report(a=fetch('http://{INNER}/'), file=attempt(open, {str(path)!r}))"
    result = here.allow(code, f"{INNER}:80:private", flags=("--credential", f"{INNER}:X-Key=file:{path}"))
    path.unlink()
    assert reported(result)["file"] == "FileNotFoundError" and keys(world.seen(mark)) == [SECRET]


def test_credential_may_be_object_of_policy(here, world):
    mark = world.mark()
    fields = {"network_allow": [f"{INNER}:80:private"], "credentials": [{"host": INNER, "header": "X-Key", "from": "env:KEY"}]}
    policy = here.file("credentials.json", json.dumps(fields))
    reported(here.allow(LOOK + f"report(a=fetch('http://{INNER}/'))", flags=("--policy", str(policy)), env={"KEY": SECRET}))
    assert keys(world.seen(mark)) == [SECRET]


def test_records_of_run_do_not_contain_secret(here, world):
    audit = here.folder / "audit-credentials.jsonl"
    flags = ("--allow-host", f"{INNER}:80:private", "--credential", f"{INNER}:X-Key=env:KEY", "--python", network_here.PYTHON, *network_here.PATIENT, *network_here.FALLBACK)
    program = TRY + f"fetch('http://{INNER}/'); raise SystemExit(3)"
    for command in (("run", "--audit", str(audit), "-c", program), ("explain", "--json"), ("policy",)):
        done = here(command[0], *flags, *command[1:], env={"KEY": SECRET})
        assert "s3cr3t" not in done.stdout + done.stderr, command
        assert done.returncode == (3 if command[0] == "run" else 0), (command, done.stderr)
    assert "s3cr3t" not in audit.read_text()
    audit.unlink()


def test_secret_is_sent_to_its_host_only(here, world):
    mark = world.mark()
    code = LOOK + f"""
def raw(path, host, more="", method="GET"): return f"{{method}} /{{path}} HTTP/1.1\\r\\n{{more}}Host: {{host}}\\r\\n\\r\\n".encode()
report(other=fetch("http://{API}/other"), port=fetch("http://{API}:8080/port"), redirect=attempt(fetch, "http://{INNER}/redirect"),
    host=attempt(dial, "{INNER}", 80, raw("host", "{API}")), second=attempt(dial, "{INNER}", 80, raw("first", "{INNER}") + raw("second", "{API}")),
    trace=attempt(dial, "{INNER}", 80, raw("trace", "{INNER}", method="TRACE")), back=attempt(dial, "{INNER}", 80, raw("back", "{INNER}", "Upgrade: x\\r\\n")))
"""
    result = here.allow(code, f"{INNER}:80:private", f"{API}:80", f"{API}:8080", flags=("--credential", f"{INNER}:X-Key=env:KEY"), env={"KEY": SECRET})
    answers = reported(result)
    assert "{" in answers["other"] and "{" in answers["port"]
    assert not [k for k in ("host", "second", "trace", "back", "redirect") if "{" in answers[k]], answers
    seen = {line.split()[2]: " ".join(line.split()[3:]) for line in requests(world.seen(mark))}
    assert seen == {"/other": "-", "/port": "-", "/redirect": SECRET}


def test_secret_is_not_sent_unencrypted_over_public_network(here, world):
    mark = world.mark()
    flags = ("--credential", f"{API}:X-Key=env:KEY")
    result = here.allow(LOOK + f"report(a=attempt(fetch, 'http://{API}/'))", f"{API}:80", flags=flags, env={"KEY": SECRET})
    assert "{" not in reported(result)["a"] and connections(world.seen(mark)) == []
    (row,) = result["denials"]
    assert row["what"] == f"connect to {API}:80, a public address, because its credential would be sent unencrypted" and row["flag"] is None


def test_secret_is_sent_through_http_proxy_too(here, world):
    mark = world.mark()
    code = LOOK + f"report(a=fetch('http://{INNER}/'), own=os.environ['http_proxy'])"
    reported(here.allow(code, f"{INNER}:80:private", flags=("--proxy", "--credential", f"{INNER}:X-Key=env:KEY"), env={"KEY": SECRET}))
    assert keys(world.seen(mark)) == [SECRET]


def test_secret_is_not_found_in_jail(here, world):
    code = LOOK + f"""
fetch("http://{INNER}/")
found = []
for folder, _, names in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/usr")): continue
    for name in names:
        try:
            with open(os.path.join(folder, name), "rb") as f:
                if NEEDLE in f.read(1 << 20): found.append(os.path.join(folder, name))
        except OSError: pass
report(found=found)
"""
    result = here.allow(code, f"{INNER}:80:private", flags=("--credential", f"{INNER}:X-Key=env:KEY"), env={"KEY": SECRET})
    assert reported(result)["found"] == []


def found_in_memory(run, word):
    """For each kind of process, whether one of them has the word in its memory."""
    found = {}
    for pid in family(run.pid):
        for kind in ("python", "remit-proxy"):
            if name_of(pid).startswith(kind):
                found[kind] = found.get(kind, False) or memory_has(pid, word.encode())
    return found


def test_secret_is_in_proxy_s_memory_but_not_in_interpreter_s(here, world):
    code = TRY + f"fetch('http://{INNER}/'); print('begun', flush=True)\nimport time; time.sleep(60)"
    flags = ("--allow-host", f"{INNER}:80:private", "--credential", f"{INNER}:X-Key=env:KEY", "--python", network_here.PYTHON, *network_here.PATIENT, *network_here.FALLBACK)
    with here.popen("run", *flags, "-c", code, env={"KEY": SECRET}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "begun\n"
        found, seen = found_in_memory(p, SECRET), found_in_memory(p, "begun")
        p.kill()
        p.communicate(timeout=60)
    assert found == {"python": False, "remit-proxy": True} and seen["python"]
    assert remaining(lambda: processes(here.command)) == []


@pytest.mark.parametrize(
    "value, words",
    [(None, "is not set"), ("", "is empty"), ("qz\r\nX: y", "a header may not have"), ("qz" * 2048, "longer than 4095")],
)
def test_invalid_secret_is_refused(here, world, value, words):
    mark = world.mark()
    env = {} if value is None else {"KEY": value}
    result = here.allow("print('ran')", f"{INNER}:80:private", flags=("--credential", f"{INNER}:X-Key=env:KEY"), env=env)
    assert result["status"] == "refused" and result["error"]["where"] == "credentials", result
    assert words in result["error"]["value"] and result["error"]["remedy"] and result["stdout"] == ""
    assert "qz" not in json.dumps(result)
    assert world.seen(mark) == []


@pytest.mark.parametrize("path", ["/dev/zero", "/", "/nowhere/at/all"])
def test_unreadable_secret_file_is_refused(here, path):
    result = here.allow("print('ran')", f"{INNER}:80:private", flags=("--credential", f"{INNER}:X-Key=file:{path}"))
    assert result["status"] == "refused" and "cannot be read" in result["error"]["value"], result


@pytest.mark.parametrize(
    "entry, credential, words",
    [
        (f"{API}:5432", f"{API}:X-Key=env:KEY", "only to HTTP"),
        (f"{API}:80", "other.example.com:X-Key=env:KEY", "no entry for"),
        ("*.example.org:80", "a.example.org:X-Key=env:KEY", "no entry for"),
        ("93.184.216.34:80:plain", "93.184.216.34:X-Key=env:KEY", "public address"),
        (f"{API}:80", f"{API}:Content-Length=env:KEY", "does not name a header"),
        (f"{API}:80", f"{API}:X-Key=KEY", "does not end in a source"),
    ],
)
def test_unenforceable_credential_is_refused(any_remit, entry, credential, words):
    flags = ("--allow-host", entry, "--credential", credential, "--memory-fallback", "per_process")
    result = any_remit.json("print('ran')", *flags, env={"KEY": SECRET})
    assert result["status"] == "refused" and result["error"]["where"] == "credentials" and words in result["error"]["value"], result["error"]
