"""`remit serve --audit`: one line for each run, through whichever frontend it came, with the name of its key."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import struct
import subprocess

import pytest
from audit_file import file, lines, wait_for_lines  # noqa: F401
from conftest import skip_or_fail
from mcp_peer import ABILITIES, STATELESS, VERSION
from served import serve
from waiting import until

COMMANDS = ("--subprocess", "--memory-fallback", "per_process", "--cpu", "unlimited")
WORD = "a word nobody must find"


def sha(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()


def test_audit_has_every_run_whatever_it_prints(remit, file):
    """Even a run that prints NUL, or whose value is a number too large to parse, is written to the audit."""
    codes = ["print('a\\0b')", "'\\0'", "10 ** 30", "raise ValueError('\\0')", "class Deep:\n    def _repr_json_(self):\n        return b'[' * 2046 + b']' * 2046\nDeep()"]
    with serve(remit, "--audit", file) as s:
        for code in codes:
            s.request("POST", "/v1/runs", {"code": code})
    assert [line["code_sha256"] for line in lines(file)] == [sha(code) for code in codes]


# ---- the frontends: each runs one program and returns its run's id, if it has one ----


def by_run(s, code):
    return s.run(code)["run_id"]


def by_stream(s, code):
    return s.events("/v1/runs", {"code": code})[-1]["result"]["run_id"]


def by_cell(s, code):
    session = s.json("POST", "/v1/sessions", {}, status=201)["id"]
    found = s.json("POST", f"/v1/sessions/{session}/cells", {"code": code})["run_id"]
    s.request("DELETE", f"/v1/sessions/{session}?drop=1")
    return found


def by_branch(s, code):
    session = s.json("POST", "/v1/sessions", {"forkable": True, "policy": {"subprocess_execution": False}}, status=201)["id"]
    branch = s.json("POST", f"/v1/sessions/{session}/fork", {}, status=201)["id"]
    found = s.json("POST", f"/v1/sessions/{branch}/cells", {"code": code})["run_id"]
    for one in (branch, session):
        s.request("DELETE", f"/v1/sessions/{one}?drop=1")
    return found


def by_small_api(s, code):
    s.json("POST", "/", {"code": code})


def by_run_code(s, code):
    s.json("POST", "/run_code", {"code": code, "language": "python"})


def by_notebook(s, code):
    s.json("POST", "/run_jupyter", {"cells": [code]})


def by_piston(s, code):
    s.json("POST", "/api/v2/execute", {"language": "python", "version": "*", "files": [{"content": code}]})


def by_mcp(s, code):
    params = {"name": "run_python", "arguments": {"code": code}, "_meta": {VERSION: STATELESS, ABILITIES: {}}}
    sent = {"Mcp-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": "run_python", "Content-Type": "application/json"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert s.request("POST", "/mcp", body, sent)[0] == 200


def by_mcp_session(s, code):
    def post(method, number, headers, **params):
        body = {"jsonrpc": "2.0", "method": method, "params": params, **({"id": number} if number else {})}
        return s.request("POST", "/mcp", json.dumps(body), {"Content-Type": "application/json", **headers})

    begun = post("initialize", 1, {}, protocolVersion="2025-06-18", capabilities={})[1]
    mine = {"Mcp-Session-Id": begun["Mcp-Session-Id"]}
    post("notifications/initialized", None, mine)
    assert post("tools/call", 2, mine, name="run_python", arguments={"code": code, "session": "new"})[0] == 200
    s.request("DELETE", "/mcp", headers=mine)


def box(s):
    made = s.json("POST", "/sandboxes", {}, status=201)
    named = {"E2b-Sandbox-Id": made["sandboxID"], "X-Access-Token": made["envdAccessToken"]}
    return made["sandboxID"], named


def by_e2b(s, code):
    name, headers = box(s)
    assert s.request("POST", "/execute", {"code": code}, {**headers, "E2b-Sandbox-Port": "49999"}, token="")[0] == 200
    s.request("DELETE", f"/sandboxes/{name}")


def by_e2b_command(s, code):
    name, headers = box(s)
    message = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-l", "-c", "true"], "envs": {}}}).encode()
    headers |= {"E2b-Sandbox-Port": "49983", "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}
    status, _, text = s.request("POST", "/process.Process/Start", struct.pack(">BI", 0, len(message)) + message, headers, token="")
    assert status == 200, text
    s.request("DELETE", f"/sandboxes/{name}")


FRONTENDS = [by_run, by_stream, by_cell, by_branch, by_small_api, by_run_code, by_notebook, by_piston, by_mcp, by_mcp_session, by_e2b, by_e2b_command]
# The server wraps these clients' commands into cells of its own
WRAPPED = {by_e2b_command}


def test_every_frontend_writes_every_run_to_audit(remit, file):
    keys = remit.folder / "audit-keys.json"
    keys.unlink(missing_ok=True)
    secret = remit("serve", "--keys", keys, "--add-key", "alice").stdout.strip()
    with serve(remit, "--audit", file, "--keys", keys, *COMMANDS) as s:
        s.token = secret
        shape = None
        for frontend in FRONTENDS:
            before = len(lines(file))
            code = f"'{frontend.__name__}'  # {WORD}"
            run_id = frontend(s, code)
            added = wait_for_lines(file, before + 1)[before:]
            found = added if frontend in WRAPPED else [line for line in added if line["code_sha256"] == sha(code)]
            assert len(found) == 1, (frontend, added)
            (line,) = found
            assert line["key"] == "alice" and line["status"] == "ok", (frontend, line)
            assert run_id is None or line["run_id"] == run_id
            shape = shape or set(line)
            assert set(line) == shape, frontend
        # The same members as for a run of the command, and the key
        other = remit.folder / "other.jsonl"
        other.unlink(missing_ok=True)
        remit("run", "--audit", other, "-c", "pass")
        assert shape == set(lines(other)[0]) | {"key"}
        text = file.read_text()
        assert WORD not in text and secret not in text and sha(secret) not in text
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_audit_has_every_ending(remit, file):
    policy = {"timeout": "3s"}
    with serve(remit, "--audit", file) as s:
        ends = [("1/0", "error"), ("while True: pass", "timeout"), ("import os; os.abort()", "killed")]
        for code, _ in ends:
            s.run(code, policy=policy)
        assert [line["status"] for line in lines(file)] == [status for _, status in ends]
        assert {line["key"] for line in lines(file)} == {"local"}
        assert len({line["policy_sha256"] for line in lines(file)}) == 1
        # The run of a client that leaves is audited.
        with s.stream("/v1/runs", {"code": "import time; print(1, flush=True); time.sleep(60)"}) as events:
            next(e for e in events if e["type"] == "output")
        assert wait_for_lines(file, 4)[3]["status"] == "interrupted"
        # Closing a session writes a line with the exported files. A cell that is dropped with its session has no
        # result.
        session = s.json("POST", "/v1/sessions", {"policy": {"artifact_export_paths": ["*.txt"]}}, status=201)["id"]
        s.json("POST", f"/v1/sessions/{session}/cells", {"code": "open('a.txt', 'w').write('abc')"})
        s.json("DELETE", f"/v1/sessions/{session}")
        last = wait_for_lines(file, 6)[5]
        assert last["code_bytes"] == 0 and [(a["path"], a["size_bytes"]) for a in last["artifacts"]] == [("a.txt", 3)]
        session = s.json("POST", "/v1/sessions", {}, status=201)["id"]
        with s.stream(f"/v1/sessions/{session}/cells", {"code": "import time; print(1, flush=True); time.sleep(60)"}) as events:
            next(e for e in events if e["type"] == "output")
            s.request("DELETE", f"/v1/sessions/{session}?drop=1")
            list(events)
        cut = wait_for_lines(file, 7)[6]
        assert cut["error"] == "gone" and cut["code_bytes"] > 0 and "status" not in cut


def test_server_with_unwritable_audit_does_not_start(remit):
    for path in (remit.folder / "none" / "file", remit.folder, "/dev/null"):
        done = remit("serve", "--listen", "127.0.0.1:0", "--audit", path)
        assert done.returncode == 2 and "--audit" in done.stderr and done.stdout == "", done


def test_full_audit_disk_refuses_runs_until_space_is_free(remit):
    """No line is lost or cut: they wait for free space."""
    if os.geteuid() != 0:
        skip_or_fail("only root can mount a small disk")
    disk = remit.folder / "served-disk"
    disk.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=777", "tmpfs", disk], check=True)
    try:
        path, ballast = disk / "audit.jsonl", disk / "ballast"
        with serve(remit, "--audit", path) as s:
            first = s.run("pass")["run_id"]
            with open(ballast, "wb", buffering=0) as f, pytest.raises(OSError):
                while f.write(b"x" * 4096):
                    pass
            ids, refused = [first], 0
            for i in range(20):
                status, _, text = s.request("POST", "/v1/runs", {"code": "print('ran')"})
                if status == 200:
                    ids.append(json.loads(text)["run_id"])
                else:
                    assert b"No space left" in text and b"ran\\n" not in text, text
                    refused += 1
            assert refused > 1 and len(ids) + refused == 21
            ballast.unlink()
            ids.append(s.run("pass")["run_id"])
            written = [line["run_id"] for line in lines(path)]
            # These runs and the one that ended before its line failed to fit, and no others
            assert [w for w in written if w in ids] == ids and len(written) == len(ids) + 1
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_sighup_reopens_audit_and_log(remit, file):
    log = remit.folder / "served.log"
    for old in remit.folder.glob("served.*.1"):
        old.unlink()
    log.unlink(missing_ok=True)
    with serve(remit, "--audit", file, "--log", log) as s:
        first = s.run("pass")["run_id"]
        moved = [path.rename(f"{path}.1") for path in (file, log)]
        second = s.run("pass")["run_id"]  # still written to the old files
        s.process.send_signal(signal.SIGHUP)
        until(lambda: file.exists() and log.exists(), "the new files do not exist")
        third = s.run("pass")["run_id"]
        assert [line["run_id"] for line in lines(moved[0])] == [first, second]
        assert [line["run_id"] for line in lines(file)] == [third]
        assert len(lines(moved[1])) == 2
        wait_for_lines(log, 1)  # written when the reply is sent
