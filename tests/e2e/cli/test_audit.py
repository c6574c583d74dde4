"""The audit: one line for each run, and the last runs that a shared keeper remembers."""

import contextlib
import datetime
import hashlib
import json
import os
import pathlib
import signal
import stat
import subprocess
import threading
import time

import pytest
from audit_file import file, lines, wait_for_lines  # noqa: F401
from conftest import skip_or_fail
from leftovers import name_of, remaining
from shared_keeper import SharedKeeper, is_alive
from waiting import PATIENCE

CODE = "print('a word nobody must find')"


def test_run_writes_one_audit_line(remit, file):
    result = remit.json(CODE, "--audit", file)
    (line,) = lines(file)
    assert line["code_sha256"] == hashlib.sha256(CODE.encode()).hexdigest()
    assert line["code_bytes"] == len(CODE)
    for key in ("run_id", "status", "tier", "exit_code", "signal", "usage", "denials", "artifacts", "reported"):
        assert line[key] == result[key], key
    assert line["uid"] == os.stat(file).st_uid
    age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00"))
    assert abs(age.total_seconds()) < 60
    assert "nobody must find" not in file.read_text()
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_audit_line_is_written_for_every_ending(remit, file):
    ends = [("print(1)", "ok"), ("1/0", "error"), ("while True: pass", "timeout"), ("import os; os.abort()", "killed")]
    for code, status in ends:
        remit("run", f"--audit={file}", "--timeout", "500ms" if status == "timeout" else "30s", "-c", code)
    remit("run", "--audit", file, "--memory", "16M", "--disk", "1G", "--files", "9999999", "--tier", "vm", "-c", "1")
    assert [line["status"] for line in lines(file)] == [status for _, status in ends] + ["refused"]


def test_equal_policies_have_equal_hash(remit, file):
    policy = remit.file("policy.json", '{"timeout": "5s", "memory_bytes": 268435456}')
    for flags in (("--timeout", "5s", "--memory", "256M"), ("--policy", policy), ("--timeout", "6s")):
        remit("run", "--audit", file, *flags, "-c", "pass")
    one, same, other = (line["policy_sha256"] for line in lines(file))
    assert one == same != other and len(one) == 64


def test_run_is_refused_if_audit_file_cannot_be_written(remit, file):
    for path in (remit.folder / "none" / "file", remit.folder, "/dev/null"):
        done = remit("run", "--audit", path, "-c", "print('ran')")
        assert done.returncode == 2 and done.stdout == "" and "--audit" in done.stderr, done
    assert remit("run", "--audit").returncode == 2


def test_batch_writes_audit_line_for_each_job(remit, file):
    jobs = "".join(json.dumps({"code": f"print({i})"}) + "\n" for i in range(30))
    done = remit("batch", "-j", "4", "--audit", file, input=jobs)
    assert done.returncode == 0, done
    ids = {json.loads(line)["run_id"] for line in done.stdout.splitlines()}
    assert len(ids) == 30 and {line["run_id"] for line in lines(file)} == ids
    assert {line["code_sha256"] for line in lines(file)} == {hashlib.sha256(f"print({i})".encode()).hexdigest() for i in range(30)}


def test_concurrent_audit_lines_are_not_mixed(remit, file):
    running = [
        remit.popen("run", "--audit", file, "-c", "pass", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(12)
    ]
    for p in running:
        p.wait(timeout=120)
    assert len({line["run_id"] for line in lines(file)}) == 12


def test_shared_keeper_logs_its_last_runs(remit):
    keeper = SharedKeeper(remit)
    try:
        results = [keeper.json(code) for code in (CODE, "1/0", "pass")]
        shown = remit("logs", "--json", env=keeper.env)
        assert shown.returncode == 0 and "nobody must find" not in shown.stdout
        runs = [json.loads(line) for line in shown.stdout.splitlines()]
        for key in ("run_id", "status", "tier", "start"):
            assert [r[key] for r in runs] == [r[key] for r in results]
        assert runs[0]["code_bytes"] == len(CODE) and all(r["wall_ms"] > 0 for r in runs)
        one = remit("logs", results[1]["run_id"], env=keeper.env).stdout.splitlines()
        assert len(one) == 2 and results[1]["run_id"] in one[1] and "error" in one[1]
        assert len(remit("logs", env=keeper.env).stdout.splitlines()) == 4
        missing = remit("logs", "0000", env=keeper.env)
        assert missing.returncode == 2 and "0000" in missing.stderr
    finally:
        keeper.close()


# ---- the audit of a shared keeper ----


@pytest.fixture
def audited(remit, file):
    keeper = SharedKeeper(remit, "--audit", file)
    yield keeper
    keeper.close()


def test_keeper_writes_same_audit_line_as_run(remit, audited, file):
    other = remit.folder / "other.jsonl"
    other.unlink(missing_ok=True)
    for code in ("print('nobody must find')", "import socket\nsocket.socket()", "import os; os.abort()"):
        file.write_text("")
        other.unlink(missing_ok=True)
        result = audited.json(code, "--audit", other)
        (line,), (same,) = wait_for_lines(file, 1), lines(other)
        assert {**line, "time": 0} == {**same, "time": 0} and line["run_id"] == result["run_id"]
        assert "nobody must find" not in file.read_text()
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600 and os.stat(file).st_uid == line["uid"]


def test_keeper_audits_cold_warm_and_refused_runs(audited, file):
    starts = [audited.json("pass")["start"], audited.warm("pass")["start"]]
    assert starts[1] == "warm"
    refused = audited.json("pass", "--code-max", "1", "--tier", "local")
    assert refused["status"] == "refused"
    bad = audited.json("pass", "--read", "/no/such/folder")
    assert bad["status"] == "refused"
    audited.until(lambda: {refused["run_id"], bad["run_id"]} <= {line["run_id"] for line in lines(file)})
    ids = {line["run_id"]: line for line in lines(file)}
    for result in (refused, bad):
        assert ids[result["run_id"]]["status"] == "refused"
    assert ids[bad["run_id"]]["code_sha256"] == hashlib.sha256(b"pass").hexdigest()


def test_keeper_audits_artifacts(remit, audited, file):
    result = audited.json("open('a.txt', 'w').write('abc')", "--export", "*.txt", "--artifacts", remit.folder / "audited-out")
    assert [a["path"] for a in result["artifacts"]] == ["a.txt"]
    assert wait_for_lines(file, 1)[0]["artifacts"] == [{"path": "a.txt", "size_bytes": 3}]
    (remit.folder / "audited-out" / "a.txt").unlink()


def test_run_of_killed_client_is_audited(remit, audited, file):
    running = remit.popen("run", "-c", "print('on', flush=True)\nimport time; time.sleep(60)", env=audited.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert running.stdout.readline() == b"on\n"
    running.kill()
    running.communicate()
    (line,) = wait_for_lines(file, 1)
    assert line["status"] == "killed"


def test_concurrent_clients_have_one_audit_line_each(audited, file):
    found = []
    threads = [threading.Thread(target=lambda: found.extend(audited.json("pass")["run_id"] for _ in range(10))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert {line["run_id"] for line in wait_for_lines(file, 80)} == set(found) and len(found) == 80


def test_sighup_makes_keeper_reopen_audit_file(remit, audited, file):
    first = audited.json("pass")["run_id"]
    wait_for_lines(file, 1)
    old = file.rename(file.with_suffix(".1"))
    second = audited.json("pass")["run_id"]  # the keeper still writes to the old file
    wait_for_lines(old, 2)
    os.kill(audited.pid, signal.SIGHUP)
    third = audited.json("pass")["run_id"]
    assert [line["run_id"] for line in wait_for_lines(file, 1)] == [third]
    assert [line["run_id"] for line in lines(old)] == [first, second]
    old.unlink()


def test_audit_lines_survive_killed_keeper(remit, file):
    """The line of an answered run is written even if the keeper is killed immediately afterwards."""
    keeper = SharedKeeper(remit, "--audit", file)
    ids = [keeper.json("pass")["run_id"] for _ in range(3)]
    os.kill(keeper.pid, signal.SIGKILL)
    keeper.process.wait()
    assert [line["run_id"] for line in wait_for_lines(file, 3)] == ids


def test_audit_is_complete_when_keeper_has_ended(remit, file):
    keeper = SharedKeeper(remit, "--audit", file)
    family = keeper.family()
    ids = [keeper.json("pass")["run_id"] for _ in range(5)]
    keeper.close()
    assert [line["run_id"] for line in lines(file)] == ids
    assert remaining(lambda: [pid for pid in family if is_alive(pid)]) == []


def test_keeper_with_unwritable_audit_does_not_start(remit):
    for path in (remit.folder / "none" / "file", remit.folder, "/dev/null"):
        done = remit("keeper", "--listen", remit.folder / "never.sock", "--audit", path)
        assert done.returncode == 2 and "--audit" in done.stderr, done
        assert not (remit.folder / "never.sock").exists()


def audit_writer_of(keeper) -> int:
    (pid,) = keeper.until(lambda: [p for p in keeper.family() if name_of(p) == "remit-audit"])  # the process sets this name itself
    return pid


def test_audit_writer_is_filtered_and_has_five_descriptors(audited, file):
    audited.json("pass")
    wait_for_lines(file, 1)  # the audit writer is running
    audit_writer = audit_writer_of(audited)
    with open(f"/proc/{audit_writer}/status") as f:
        status = f.read()
    assert "NoNewPrivs:\t1\n" in status and "Seccomp:\t2\n" in status
    assert sorted(map(int, os.listdir(f"/proc/{audit_writer}/fd"))) == [0, 1, 2, 3, 4]


def test_runs_are_refused_without_audit_writer(audited, file):
    assert audited.json("pass")["status"] == "ok"
    wait_for_lines(file, 1)
    os.kill(audit_writer_of(audited), signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while (result := audited.json("print('ran')"))["status"] == "ok":
        assert time.monotonic() < end
    assert result["status"] == "internal" and result["stdout"] == "" and "--audit" in result["error"]["value"]


def test_full_audit_disk_refuses_runs_until_space_is_free(remit):
    """No line is lost or cut: they wait for free space."""
    if os.geteuid() != 0:
        skip_or_fail("only root can mount a small disk")
    disk = remit.folder / "disk"
    disk.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=777", "tmpfs", disk], check=True)
    try:
        ballast = disk / "ballast"
        keeper = SharedKeeper(remit, "--audit", disk / "audit.jsonl")
        ok = [keeper.json("pass")["run_id"]]
        wait_for_lines(disk / "audit.jsonl", 1)
        with open(ballast, "wb", buffering=0) as f, pytest.raises(OSError):
            while f.write(b"x" * 4096):
                pass
        end = time.monotonic() + PATIENCE
        while (result := keeper.json("print('ran')"))["status"] == "ok":
            ok.append(result["run_id"])
            assert time.monotonic() < end
        assert result["status"] == "internal" and "No space left" in result["error"]["value"] and result["stdout"] == ""
        ballast.unlink()
        keeper.until(lambda: keeper.json("pass")["status"] == "ok")
        keeper.close()
        written = lines(disk / "audit.jsonl")
        assert [line["run_id"] for line in written if line["status"] == "ok"][: len(ok)] == ok
        assert result["run_id"] in [line["run_id"] for line in written]
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_slow_audit_disk_does_not_delay_runs(audited, file):
    """Runs are answered even while the audit writer is stopped."""
    audited.await_child()
    audit_writer, last = audit_writer_of(audited), audited.json("pass")["run_id"]
    runs = audited.until(lambda: [line["run_id"] for line in lines(file)][-1:] == [last] and len(lines(file)))

    @contextlib.contextmanager
    def standstill():
        os.kill(audit_writer, signal.SIGSTOP)
        try:
            audited.until(lambda: "State:\tT" in pathlib.Path(f"/proc/{audit_writer}/status").read_text())
            before = len(lines(file))
            yield
            assert len(lines(file)) == before
        finally:
            os.kill(audit_writer, signal.SIGCONT)

    assert not audited.is_slowed_by(standstill)
    wait_for_lines(file, runs + 30)
