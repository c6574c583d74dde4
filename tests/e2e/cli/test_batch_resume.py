"""`remit batch`: result files, how a batch is interrupted, and how it is resumed."""

import fcntl
import json
import os
import resource
import select
import signal
import subprocess
import sys
import termios
import time

import pytest
from batches import Gate, batch, interrupt, lines, numbers, results, slow, started, wait_for_exit
from fake_keeper import FakeKeeper
from leftovers import processes, remaining
from waiting import until

# ---- result files ----


def test_results_go_to_file(remit):
    out = remit.folder / "out.jsonl"
    out.unlink(missing_ok=True)
    done = remit("batch", "--output", out, input=lines(*numbers(3)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [r["stdout"] for r in results(out.read_text())] == ["0\n", "1\n", "2\n"]


def test_existing_file_is_overwritten_only_with_force(any_remit):
    out = any_remit.file("taken.jsonl", "precious\n")
    jobs = lines(*numbers(1))
    for flags in ([], ["--resume"]):
        done = any_remit("batch", f"--output={out}", *flags, input=jobs)
        assert done.returncode == 2 and done.stdout == "" and out.read_text() == "precious\n"
    assert "--resume" in any_remit("batch", "--output", out, input=jobs).stderr
    assert any_remit("batch", "--output", out, "--force", input=jobs).returncode == 0
    assert len(results(out.read_text())) == 1
    assert any_remit("batch", "--output", any_remit.file("empty.jsonl"), input=jobs).returncode == 0


@pytest.mark.parametrize("content", ["a note without a newline", '{"id": 1, "code": ""}\n', "[]\n", '{"id":'[:3] + "x"])
def test_resume_refuses_file_without_results(any_remit, content):
    out = any_remit.file("other", content)
    done = any_remit("batch", "--output", out, "--resume", input=lines(*numbers(1)))
    assert done.returncode == 2 and "is not a result" in done.stderr and out.read_text() == content


def test_results_do_not_overwrite_jobs(any_remit):
    path = any_remit.file("same.jsonl", lines(*numbers(2)))
    for flags in (["--force"], ["--resume"], []):
        done = any_remit("batch", "--output", path, *flags, path)
        assert done.returncode == 2 and path.read_text() == lines(*numbers(2))
    with open(path, "a") as f:
        p = any_remit.popen("batch", path, stdout=f, stderr=subprocess.PIPE)
        assert "the same file" in p.communicate(timeout=60)[1].decode() and p.returncode == 2


def test_two_batches_do_not_share_result_file(any_remit):
    out = any_remit.file("shared.jsonl")
    with any_remit.popen("batch", "--output", out, stdin=subprocess.PIPE) as p:
        until(lambda: len(os.listdir(f"/proc/{p.pid}/task")) > 1)  # it has begun
        done = any_remit("batch", "--output", out, input=lines(*numbers(1)))
        assert done.returncode == 125 and "another batch" in done.stderr
        p.stdin.close()
        assert wait_for_exit(p) == 0
    assert out.read_text() == ""


# ---- resuming ----


@pytest.mark.parametrize("flags", [(), ("--unordered",)], ids=["ordered", "unordered"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_batch_has_whole_lines_and_is_resumed(remit, flags, number):
    gate = Gate(remit)
    gate.let(*range(3))
    p, path, out = started(remit, map(gate.job, range(20)), "-j3", *gate.flags, *flags)
    until(lambda: gate.begun() == 6)
    p.send_signal(number)
    _, err = p.communicate(timeout=60)
    part = out.read_text()
    before = results(part)
    assert p.returncode == 130 and "interrupted: " in err and "--resume" in err
    assert len(before) == 3 and {r["status"] for r in before} == {"ok"}
    gate.let(*range(20))
    done = remit("batch", path, "--output", out, "-j3", *gate.flags, *flags, "--resume")
    assert done.returncode == 0 and done.stdout == ""
    assert out.read_text().startswith(part)
    ids = [r["id"] for r in results(out.read_text())]
    assert sorted(ids) == list(range(20))
    if not flags:
        assert ids == sorted(ids)
    # All jobs are done: none is run again.
    whole = out.read_text()
    assert remit("batch", path, "--output", out, "--resume").returncode == 0 and out.read_text() == whole


def test_batch_to_stdout_has_whole_lines_and_is_resumed(any_remit):
    gate = Gate(any_remit)
    gate.let(*range(2))
    path = any_remit.file("jobs.jsonl", lines(*map(gate.job, range(10))))
    out = any_remit.file("redirected.jsonl")
    with open(out, "w") as f:
        p = any_remit.popen("batch", path, *gate.flags, stdout=f, stderr=subprocess.PIPE, text=True)
        until(lambda: out.read_bytes().count(b"\n") >= 2)
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=60)
    assert p.returncode == 130 and "--resume --output FILE" in err
    assert len(results(out.read_text())) == 2
    gate.let(*range(10))
    assert any_remit("batch", path, "--output", out, "--resume", *gate.flags).returncode == 0
    assert [r["id"] for r in results(out.read_text())] == list(range(10))


def test_interrupted_run_is_repeated_whatever_it_printed(remit):
    gate = Gate(remit)
    woken = "import signal, sys\nsignal.signal(signal.SIGINT, lambda *_: (print('woken'), sys.exit(0)))"
    jobs = [{"id": "quick", "code": ""}, gate.job("slow", woken, "print('slept')")]
    p, path, out = started(remit, jobs, "-j2", *gate.flags, before=1)
    until(gate.begun)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=60)
    assert p.returncode == 130 and [r["id"] for r in results(out.read_text())] == ["quick"]
    gate.let("slow")
    remit("batch", path, "--output", out, "--resume", *gate.flags)
    assert [(r["id"], r["stdout"]) for r in results(out.read_text())] == [("quick", ""), ("slow", "slept\n")]


STUBBORN = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)"


def test_second_interrupt_ends_batch_at_once(remit):
    gate = Gate(remit)
    p, _, out = started(remit, [{"id": 1, "code": ""}, gate.job(2, STUBBORN)], "-j2", *gate.flags, before=1)
    until(gate.begun)
    keeper = keeper_of(p.pid)
    os.kill(keeper, signal.SIGSTOP)  # the stopped keeper cannot kill the program, and the first interrupt waits for that
    try:
        interrupt(p)
        time.sleep(0.2)  # the batch must still be waiting
        assert p.poll() is None
        interrupt(p)
        p.communicate(timeout=60)
    finally:
        os.kill(keeper, signal.SIGCONT)
    assert p.returncode == 130 and [r["id"] for r in results(out.read_text())] == [1]
    assert remaining(lambda: processes(remit.command)) == []


def test_first_interrupt_leaves_no_process(remit):
    gate = Gate(remit)
    jobs = [{"id": 1, "code": ""}, *(gate.job(n, STUBBORN) for n in (2, 3, 4))]
    p, _, out = started(remit, jobs, "-j4", *gate.flags, before=1)
    until(lambda: gate.begun() == 3)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=60)
    assert p.returncode == 130 and remaining(lambda: processes(remit.command)) == []


def test_ignored_hangup_stays_ignored(any_remit):
    """As with nohup(1)."""
    p, _, out = started(any_remit, slow(10), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    p.send_signal(signal.SIGHUP)
    p.communicate(timeout=60)
    assert p.returncode == 0 and len(results(out.read_text())) == 10


def test_killed_batch_is_resumed(remit):
    p, path, out = started(remit, slow(20))
    p.kill()
    p.communicate(timeout=60)
    assert remit("batch", path, "--output", out, "--resume").returncode == 0
    assert [r["id"] for r in results(out.read_text())] == list(range(20))


def test_torn_last_line_is_removed_and_run_again(any_remit):
    path = any_remit.file("jobs.jsonl", lines(*numbers(3)))
    whole = any_remit("batch", path).stdout
    first = whole.index("\n") + 1
    second = whole.index("\n", first) + 1
    for cut in (0, 1, 5, first - 1, first + 1, first + 7, second - 20, second - 1):
        out = any_remit.file("torn.jsonl", whole[:cut])
        kept = whole[: 0 if cut < first else first]
        assert any_remit("batch", path, "--output", out, "--resume").returncode == 0, cut
        assert out.read_text().startswith(kept)
        assert [r["stdout"] for r in results(out.read_text())] == ["0\n", "1\n", "2\n"], cut
        if kept:
            again = results(out.read_text())[1]["run_id"]
            assert again != results(whole)[1]["run_id"]


def test_malformed_lines_are_repeated_only_if_corrected(any_remit):
    jobs = ["nonsense", {"id": "a", "code": ""}, {"id": "a", "code": ""}, {"id": "c", "kode": ""}]
    path = any_remit.file("jobs.jsonl", lines(*jobs))
    out = any_remit.file("out.jsonl")
    assert any_remit("batch", path, "--output", out).returncode == 125
    before = out.read_text()
    assert any_remit("batch", path, "--output", out, "--resume").returncode == 0 and out.read_text() == before
    jobs[0] = {"code": "print(1)"}
    jobs[3] = {"id": "c", "code": "print(3)"}
    path.write_text(lines(*jobs, {"id": "new", "code": "print(5)"}))
    assert any_remit("batch", path, "--output", out, "--resume").returncode == 0
    added = results(out.read_text()[len(before) :])
    assert [(r["id"], r["stdout"]) for r in added] == [(1, "1\n"), ("c", "3\n"), ("new", "5\n")]


# ---- failures outside the batch ----


def test_closed_reader_ends_batch(remit):
    path = remit.file("jobs.jsonl", lines(*numbers(200)))
    with remit.popen("batch", path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        assert json.loads(p.stdout.readline())["id"] == "job 0"
        p.stdout.close()
        assert wait_for_exit(p) == 141 and p.stderr.read() == ""


def test_slow_reader_is_waited_for(any_remit):
    """Even if the pipe is non-blocking."""
    jobs = [{"id": n, "code": "print('x' * 50000)"} for n in range(12)]
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    p = any_remit.popen("batch", any_remit.file("jobs.jsonl", lines(*jobs)), stdout=writer, stderr=subprocess.PIPE)
    until(lambda: not select.select([], [writer], [], 0)[1])  # the pipe is full
    os.close(writer)
    text = b""
    while piece := os.read(reader, 10000):
        text += piece
    os.close(reader)
    p.communicate(timeout=60)
    assert p.returncode == 0 and [r["id"] for r in results(text.decode())] == list(range(12))


def unread_bytes(pipe) -> int:
    count = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return int.from_bytes(count, sys.byteorder)


def test_interrupt_reaches_batch_that_waits_for_reader(any_remit):
    jobs = [{"id": n, "code": "print('x' * 50000)"} for n in range(12)]
    path = any_remit.file("jobs.jsonl", lines(*jobs))
    with any_remit.popen("batch", path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        until(lambda: unread_bytes(p.stdout) > 60000)  # and another line does not fit
        interrupt(p)
        interrupt(p)
        assert wait_for_exit(p) == 130


def test_full_disk_is_error(any_remit):
    done = any_remit("batch", "--output", "/dev/full", input=lines(*numbers(3)))
    assert done.returncode == 125 and "write to /dev/full: No space left" in done.stderr and "--resume" in done.stderr


def test_file_at_size_limit_ends_in_whole_line(any_remit):
    path = any_remit.file("jobs.jsonl", lines(*numbers(9)))
    size = len(any_remit("batch", path).stdout)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, resource.RLIM_INFINITY))

    out = any_remit.file("limited.jsonl")
    with any_remit.popen("batch", path, "--output", out, stderr=subprocess.PIPE, text=True, preexec_fn=limit) as p:
        _, err = p.communicate(timeout=60)
    assert p.returncode == 125 and "File too large" in err
    assert 1 <= len(results(out.read_text())) < 9
    assert any_remit("batch", path, "--output", out, "--resume").returncode == 0
    assert len(results(out.read_text())) == 9


def keeper_of(pid: int) -> int:
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return int(f.read().split()[0])


def test_dead_keeper_is_replaced(remit):
    gate = Gate(remit)
    gate.let(*range(3))
    p, _, out = started(remit, map(gate.job, range(12)), "-j3", *gate.flags)
    until(lambda: gate.begun() == 6)
    os.kill(keeper_of(p.pid), signal.SIGKILL)
    gate.let(*range(12))
    _, err = p.communicate(timeout=60)
    assert (p.returncode, err) == (0, "")
    found = results(out.read_text())
    assert [r["id"] for r in found] == list(range(12)) and {r["status"] for r in found} == {"ok"}


def test_unreachable_keeper_ends_batch(any_remit):
    """Jobs that could not be run are not marked as done."""
    done = any_remit("batch", input=lines(*numbers(5)), env={"REMIT_KEEPER": "/nowhere/keeper"})
    assert done.returncode == 125 and done.stdout == "" and "connect to the keeper /nowhere/keeper" in done.stderr


def test_busy_keeper_is_tried_again(any_remit):
    answers = {"one": ["busy", "busy", "ok"], "two": ["ok"]}
    keeper = FakeKeeper(any_remit, lambda code: answers[code].pop(0))
    jobs = [{"id": code, "code": code} for code in answers]
    found = batch(any_remit, *jobs, env=keeper.env())
    keeper.listener.close()
    assert [(r["id"], r["status"]) for r in found] == [("one", "ok"), ("two", "ok")]
    assert answers == {"one": [], "two": []}


def test_interrupt_ends_wait_for_busy_keeper(any_remit):
    asked = []
    keeper = FakeKeeper(any_remit, lambda code: asked.append(code) or "busy")
    with any_remit.popen("batch", stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=keeper.env()) as p:
        p.stdin.write(lines(*numbers(1)).encode())
        p.stdin.flush()
        until(lambda: len(asked) > 2)
        p.send_signal(signal.SIGINT)
        assert wait_for_exit(p) == 130 and p.stdout.read() == b""
    keeper.listener.close()


def test_job_that_kills_keeper_twice_is_internal_error(any_remit):
    """The other jobs are not affected, and a job whose keeper died once is run again."""
    asked = []

    def answer(code):
        asked.append(code)
        return None if code == "poison" or (code == "once" and asked.count("once") == 1) else "ok"

    keeper = FakeKeeper(any_remit, answer)
    jobs = [{"id": code, "code": code} for code in ("good", "once", "poison", "fine")]
    done = any_remit("batch", "-j1", input=lines(*jobs), env=keeper.env())
    keeper.listener.close()
    found = {r["id"]: r for r in results(done.stdout)}
    assert {i: r["status"] for i, r in found.items()} == {"good": "ok", "once": "ok", "poison": "internal", "fine": "ok"}
    assert found["poison"]["error"]["name"] == "gone" and done.returncode == 125
    assert asked.count("once") == 2 and asked.count("poison") == 2
