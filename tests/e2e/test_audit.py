"""One line for each run that was audited, and the last runs of a shared keeper."""

import datetime
import hashlib
import json
import os
import stat
import subprocess

import pytest
from shared_keeper import SharedKeeper

CODE = "print('a word nobody must find')"


def lines(path) -> list[dict]:
    text = path.read_text()
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def file(remit):
    path = remit.folder / "audit.jsonl"
    path.unlink(missing_ok=True)
    yield path
    path.unlink(missing_ok=True)


def test_a_run_leaves_one_line(remit, file):
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


def test_lines_are_added_whatever_the_end(remit, file):
    ends = [("print(1)", "ok"), ("1/0", "error"), ("while True: pass", "timeout"), ("import os; os.abort()", "killed")]
    for code, status in ends:
        remit("run", f"--audit={file}", "--timeout", "500ms", "-c", code)
    remit("run", "--audit", file, "--memory", "16M", "--disk", "1G", "--files", "9999999", "--tier", "vm", "-c", "1")
    assert [line["status"] for line in lines(file)] == [status for _, status in ends] + ["refused"]


def test_the_same_policy_has_the_same_hash_however_it_is_written(remit, file):
    policy = remit.file("policy.json", '{"timeout": "5s", "memory_bytes": 268435456}')
    for flags in (("--timeout", "5s", "--memory", "256M"), ("--policy", policy), ("--timeout", "6s")):
        remit("run", "--audit", file, *flags, "-c", "pass")
    one, same, other = (line["policy_sha256"] for line in lines(file))
    assert one == same != other and len(one) == 64


def test_what_cannot_be_written_down_is_not_run(remit, file):
    for path in (remit.folder / "none" / "file", remit.folder, "/dev/null"):
        done = remit("run", "--audit", path, "-c", "print('ran')")
        assert done.returncode == 2 and done.stdout == "" and "--audit" in done.stderr, done
    assert remit("run", "--audit").returncode == 2


def test_a_batch_leaves_a_line_for_each_job(remit, file):
    jobs = "".join(json.dumps({"code": f"print({i})"}) + "\n" for i in range(30))
    done = remit("batch", "-j", "4", "--audit", file, input=jobs)
    assert done.returncode == 0, done
    ids = {json.loads(line)["run_id"] for line in done.stdout.splitlines()}
    assert len(ids) == 30 and {line["run_id"] for line in lines(file)} == ids
    assert {line["code_sha256"] for line in lines(file)} == {hashlib.sha256(f"print({i})".encode()).hexdigest() for i in range(30)}


def test_many_at_once_never_mix_their_lines(remit, file):
    running = [
        remit.popen("run", "--audit", file, "-c", "pass", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(12)
    ]
    for p in running:
        p.wait(timeout=60)
    assert len({line["run_id"] for line in lines(file)}) == 12


def test_a_shared_keeper_remembers_its_last_runs(remit):
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
