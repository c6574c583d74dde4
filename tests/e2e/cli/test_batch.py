"""`remit batch`: jobs as lines, the sequence of their results, limits, and the progress bar."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pytest
from batches import Gate, batch, lines, numbers, results, slow, wait_for_exit
from test_run import RESULT_KEYS
from waiting import until


# ---- jobs and results ----


def test_results_have_sequence_of_jobs(remit):
    path = remit.file("jobs.jsonl", lines(*numbers(20)))
    done = remit("batch", "-j", 4, path)
    found = results(done.stdout)
    assert done.returncode == 0 and done.stderr == ""
    assert [r["id"] for r in found] == [f"job {n}" for n in range(20)]
    assert [r["stdout"] for r in found] == [f"{n}\n" for n in range(20)]
    assert {r["status"] for r in found} == {"ok"} and len({r["run_id"] for r in found}) == 20


def test_result_is_id_and_result_of_run(any_remit):
    (found,) = batch(any_remit, {"id": 7, "code": "print(1)"})
    assert list(found) == ["id", *any_remit.json("print(1)")]
    assert found["id"] == 7


def test_displays_of_batch_are_off_unless_asked_for(remit):
    job = {"code": "display(1)"}
    one, two = batch(remit, job, {**job, "policy": {"display_mode": "all"}})
    assert (one["displays"], len(two["displays"])) == ([], 1)
    assert len(batch(remit, job, flags=["--display-mode", "explicit"])[0]["displays"]) == 1
    policy = remit.file("policy.json", '{"display_mode": "all"}')
    assert len(batch(remit, job, flags=["--policy", policy])[0]["displays"]) == 1


def test_results_keep_sequence_if_first_job_ends_last(any_remit):
    jobs = [{"id": n, "code": "import time; time.sleep(1.5)" if n == 0 else "pass"} for n in range(8)]
    assert [r["id"] for r in batch(any_remit, *jobs, flags=["-j2"])] == list(range(8))


def test_unordered_results_arrive_as_jobs_end(any_remit):
    gate = Gate(any_remit)
    path = any_remit.file("jobs.jsonl", lines(gate.job(0), *({"id": n, "code": "pass"} for n in range(1, 8))))
    with any_remit.popen("batch", "-j2", "--unordered", *gate.flags, path, stdout=subprocess.PIPE, text=True) as p:
        ids = [json.loads(p.stdout.readline())["id"] for _ in range(7)]
        gate.let(0)
        assert sorted(ids) == list(range(1, 8)) and json.loads(p.stdout.readline())["id"] == 0
        assert wait_for_exit(p) == 0


def test_result_does_not_wait_for_more_jobs(any_remit):
    with any_remit.popen("batch", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        for n in range(2):
            p.stdin.write(lines({"id": n, "code": "pass"}))
            p.stdin.flush()
            assert json.loads(p.stdout.readline())["id"] == n
        p.stdin.close()
        assert wait_for_exit(p) == 0


def test_job_has_name_arguments_and_input(remit):
    code = "import sys; print(__file__, sys.argv[1:], repr(sys.stdin.read()))"
    (found,) = batch(remit, {"code": code, "name": "my.py", "argv": ["-x", "ä b", ""], "stdin": "a\n\0ü"})
    assert found["stdout"] == "my.py ['-x', 'ä b', ''] 'a\\n\\x00ü'\n"


def test_job_without_input_reads_nothing(any_remit):
    """In particular, it does not read the jobs that follow."""
    found = batch(any_remit, *[{"code": "import sys; print(repr(sys.stdin.read()))"}] * 3, flags=["-j1"])
    assert [r["stdout"] for r in found] == ["''\n"] * 3


def test_ids_are_returned_unchanged(any_remit):
    ids = ["a", "", 0, -5, 2**63 - 1, "0", "ä\n\"\\\x7f", "x" * 256]
    assert [r["id"] for r in batch(any_remit, *[{"id": i, "code": ""} for i in ids])] == ids


def test_job_without_id_has_number_of_its_line(any_remit):
    found = batch(any_remit, {"code": ""}, "", "  \t\r", {"id": "x", "code": ""}, {"code": ""})
    assert [r["id"] for r in found] == [1, "x", 5]


def test_last_line_needs_no_newline(any_remit):
    done = any_remit("batch", input='{"code": "print(1)"}\r\n{"code": "print(2)"}')
    assert [r["stdout"] for r in results(done.stdout)] == ["1\n", "2\n"]


def test_empty_batch_succeeds(any_remit):
    done = any_remit("batch", input="\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_failing_jobs_do_not_affect_others(remit):
    jobs = [
        {"code": "print(1)"},
        {"code": "1/0"},
        {"code": "import sys; sys.exit(3)"},
        {"code": "while True: pass", "policy": {"timeout": 0.3}},
        {"code": "import os; os.kill(os.getpid(), 9)"},
        {"code": "x = ("},
        {"code": "print(2)"},
    ]
    found = batch(remit, *jobs)
    assert [r["status"] for r in found] == ["ok", "error", "exit", "timeout", "killed", "error", "ok"]
    assert [r["remit_exit_code"] for r in found] == [0, 1, 3, 124, 137, 1, 0]


BAD = [
    ("nonsense", 1, "column 8: invalid token"),
    ("[]", 1, "a job must be a JSON object"),
    ('{"id": "a"', 1, "column 10: "),
    ({"id": "a"}, "a", "the code is missing"),
    ({"id": "a", "code": 5}, "a", "code: must be a string, not a number"),
    ({"id": "a", "code": "", "argv": ["x", 1]}, "a", "argv[1]: must be a string"),
    ({"id": "a", "code": "", "stdin": None}, "a", "stdin: must be a string, not null"),
    ({"id": "a", "kode": ""}, "a", 'unknown key "kode" (did you mean "code"?)'),
    ({"id": [], "code": ""}, 1, "id: must be a string or an integer"),
    ({"id": "x" * 257, "code": ""}, 1, "id: at most 256 bytes"),
    ({"id": "a", "code": "", "policy": {"memroy": 1}}, "a", 'unknown field "memroy"'),
    ({"id": "a", "code": "", "policy": "strict"}, "a", "policy: must be an object, not a string"),
]


@pytest.mark.parametrize("bad,own_id,words", BAD, ids=lambda v: str(v)[:30])
def test_malformed_line_gives_result_and_batch_continues(any_remit, bad, own_id, words):
    done = any_remit("batch", input=lines(bad, {"id": "b", "code": "print(1)"}))
    wrong, right = results(done.stdout)
    assert (wrong["id"], wrong["line"], wrong["status"]) == (own_id, 1, "refused")
    assert wrong["error"]["name"] == "input" and wrong["error"]["value"].startswith("line 1: ")
    assert words in wrong["error"]["value"]
    assert (right["id"], right["status"]) == ("b", "ok") and "line" not in right
    assert done.returncode == 125 and "2 jobs: 1 ok, 1 refused" in done.stderr
    # The result has the same members as any other.
    assert list(wrong) == ["id", "line", *list(right)[1:]] and list(wrong["usage"]) == list(right["usage"])
    assert [k for k in wrong if k in RESULT_KEYS] == RESULT_KEYS and wrong["remit_exit_code"] == 125


def test_line_above_limit_is_skipped(any_remit):
    done = any_remit("batch", input=lines("x" * (64 << 20) + "y", {"id": "b", "code": "print(1)"}))
    wrong, right = results(done.stdout)
    assert (wrong["id"], wrong["line"]) == (1, 1) and "longer than 64 MiB" in wrong["error"]["value"]
    assert (right["id"], right["stdout"]) == ("b", "1\n")


def test_duplicate_id_is_refused(any_remit):
    jobs = [{"id": "a", "code": "print(1)"}, {"id": "a", "code": "print(2)"}, {"id": 4, "code": ""}, {"code": ""}]
    done = any_remit("batch", input=lines(*jobs))
    one, other, four, line = results(done.stdout)
    assert (one["id"], one["stdout"]) == ("a", "1\n")
    assert (other["id"], other["line"], other["status"]) == ("a", 2, "refused")
    assert "same id" in other["error"]["value"]
    assert four["status"] == "ok" and line["status"] == "refused"  # line 4 has no id, and its number is an id already
    assert done.returncode == 125


def test_unenforceable_policy_refuses_only_its_job(any_remit):
    done = any_remit("batch", input=lines({"code": "", "policy": {"package_installation": True, "package_offline": True}}, {"code": "print(1)"}))
    wrong, right = results(done.stdout)
    assert (wrong["status"], wrong["error"]["where"]) == ("refused", "package_installation") and "line" not in wrong
    assert right["stdout"] == "1\n" and done.returncode == 125


def test_too_long_arguments_are_refused(any_remit):
    done = any_remit("batch", input=lines({"code": "", "argv": ["x" * 2000000]}, {"code": "print(1)"}))
    wrong, right = results(done.stdout)
    assert (wrong["status"], wrong["error"]["name"]) == ("refused", "input")
    assert right["stdout"] == "1\n" and done.returncode == 125


# ---- policies ----


def test_job_policy_changes_flags(remit):
    code = "import os; print(os.environ.get('A'))"
    policy = remit.file("policy.json", '{"env": {"A": "file"}, "open_files": 99}')
    flags = ["--policy", policy, "--timeout", "90s", "--memory", "300M"]
    jobs = [
        {"code": code},
        {"code": code, "policy": {"timeout": "30s"}},
        {"code": code, "policy": {"env": {"A": "job"}}},
        {"code": code, "policy": {"preset": "strict", "memory_bytes": "310M"}},
        {"code": code},
    ]
    found = batch(remit, *jobs, flags=flags)
    values = [{row["field"]: row["value"] for row in r["enforcement"]} for r in found]
    assert [r["stdout"] for r in found] == ["file\n", "file\n", "job\n", "file\n", "file\n"]
    assert [v["timeout"] for v in values] == [90, 30, 90, 10, 90]
    assert [v["memory_bytes"] >> 20 for v in values] == [300, 300, 300, 310, 300]
    assert [v["open_files"] for v in values] == [99, 99, 99, 64, 99]


def test_unsafe_tier_prints_warning(any_remit):
    done = any_remit("batch", "--tier", "unsafe", input="")
    assert "has no wall" in done.stderr and done.returncode == 0


# ---- many at once ----


def test_jobs_run_concurrently_with_j4(remit):
    gate = Gate(remit)
    path = remit.file("jobs.jsonl", lines(*map(gate.job, range(4))))
    with remit.popen("batch", "-j4", *gate.flags, path, stdout=subprocess.DEVNULL) as p:
        until(lambda: gate.begun() == 4)
        gate.let(*range(4))
        assert wait_for_exit(p) == 0


def test_jobs_run_one_by_one_with_j1(remit):
    """Jails use the host's clock."""
    code = "import time; a = time.monotonic(); time.sleep(0.1); print(a, time.monotonic())"
    found = batch(remit, *[{"code": code}] * 4, flags=["-j1"])
    spans = sorted(tuple(map(float, r["stdout"].split())) for r in found)
    assert all(end < begin for (_, end), (begin, _) in zip(spans, spans[1:]))


def threads_of(p) -> int:
    return len(os.listdir(f"/proc/{p.pid}/task")) - 1


def test_default_concurrency_is_number_of_processors(any_remit):
    for allowed in ({min(os.sched_getaffinity(0))}, os.sched_getaffinity(0)):
        wanted = min(64, len(allowed))
        with any_remit.popen(
            "batch", stdin=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, allowed)
        ) as p:
            until(lambda: threads_of(p) >= wanted)
            time.sleep(0.2)  # time in which another thread could start
            assert threads_of(p) == wanted
            p.stdin.close()
            assert wait_for_exit(p) == 0


def high_water_kib(pid: int) -> int:
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


def test_large_file_needs_little_memory(any_remit):
    """20000 lines and 200 MB, most of them invalid jobs. The file is never in memory as a whole."""
    count, size = 20000, 10000
    path = any_remit.file("large.jsonl", lines({"id": "up", "code": "pass"}))
    with open(path, "a") as f:
        for n in range(count):
            f.write(json.dumps({"id": f"job {n}", "kode": "x" * size}) + "\n")
    out = any_remit.folder / "large.results"
    out.unlink(missing_ok=True)
    with any_remit.popen("batch", "--output", out, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        with open(path) as f:
            for line in f:
                p.stdin.write(line.encode())
        p.stdin.flush()
        until(lambda: out.read_bytes().count(b"\n") == count + 1)
        assert high_water_kib(p.pid) < 30 * 1024
        p.stdin.close()
        assert wait_for_exit(p) == 125
    assert len(results(out.read_text())) == count + 1


def accepted_bytes(p, text: bytes, least: int, idle_seconds: float) -> int:
    """How many bytes of input a batch reads before it stops reading. It has enough time for the least that it must
    read."""
    os.set_blocking(p.stdin.fileno(), False)
    taken = 0
    while taken < len(text) and select.select([], [p.stdin], [], 60 if taken < least else idle_seconds)[1]:
        taken += os.write(p.stdin.fileno(), text[taken:])
    return taken


def test_few_jobs_are_started_ahead_of_first(any_remit):
    """Their results would have to be kept in memory. With `--unordered` none are kept."""
    size, count = 200000, 40
    jobs = [{"id": n, "code": f"pass  # {'x' * size}"} for n in range(count)]
    jobs[0]["code"] = "import time; time.sleep(1000)"
    text = lines(*jobs).encode()
    for flags, least, most in (([], 6, 10), (["--unordered"], count - 1, count)):
        with any_remit.popen("batch", "-j2", "--timeout", "1000s", *flags, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as p:
            taken = accepted_bytes(p, text, least * size, 2)
            p.kill()
        assert least <= taken / size <= most, (flags, taken / size)


# ---- the terminal ----


def on_terminal(remit, *args, columns=100, term="xterm", output=subprocess.DEVNULL, watch=lambda seen: None, **more) -> tuple[int, str]:
    """Return the exit code and what a terminal at stderr receives. Results go there too if `output` is None."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    p = remit.popen("batch", *args, stdout=slave if output is None else output, stderr=slave, env={"TERM": term}, **more)
    os.close(slave)
    seen = b""
    try:
        while select.select([master], [], [], 60)[0] and (piece := os.read(master, 65536)):
            seen += piece
            watch(seen.decode())
    except OSError:
        pass  # the other side is closed
    os.close(master)
    return wait_for_exit(p), seen.decode()


def test_progress_bar_shows_jobs_done(remit):
    gate = Gate(remit)
    path = remit.file("jobs.jsonl", lines(*map(gate.job, range(6)), {"id": "bad", "code": "1/0"}))

    def go_on(seen):
        """Let each job continue when the bar shows that all before it are done."""
        gate.let(*re.findall(r"\] (\d+)/7", seen))

    begun = time.monotonic()
    code, seen = on_terminal(remit, path, "-j2", *gate.flags, watch=go_on)
    seconds = time.monotonic() - begun
    *bars, last = seen.removesuffix("\r\n").split("\r\x1b[K")
    assert code == 0 and bars[0] == ""
    shape = re.compile(r"\[=*>? *\] (\d+)/7  [\d.]+/s  \d+ ok, [01] failed(  \d+:\d\d left)?")
    steps = [int(shape.fullmatch(bar)[1]) for bar in bars[1:]]
    assert steps == sorted(steps) and set(steps) >= set(range(6))
    assert 7 <= len(bars) <= 10 * seconds + 1
    assert re.fullmatch(r"remit: 7 jobs: 6 ok, 1 error in \d+\.\d s, [\d.]+/s", last), last


def test_progress_bar_of_pipe_shows_no_total(any_remit):
    reader, writer = os.pipe()
    os.write(writer, lines(*numbers(5)).encode())
    bar = re.compile(r"\x1b\[K5  [\d.]+/s  5 ok, 0 failed\r")
    ends = [writer]

    def end(seen):
        """End the input when the bar shows that all jobs are done."""
        if ends and bar.search(seen):
            os.close(ends.pop())

    code, seen = on_terminal(any_remit, "-j1", stdin=reader, watch=end)
    os.close(reader)
    assert code == 0 and not ends, seen
    assert "left" not in seen


@pytest.mark.parametrize(
    "flags,term,output,wanted",
    [
        (["--quiet"], "xterm", subprocess.DEVNULL, r""),
        ([], "dumb", subprocess.DEVNULL, r"remit: 5 jobs: 5 ok in .*\r\n"),
        ([], "xterm", None, r"(\{[^\r]*\}\r\n){5}remit: 5 jobs: 5 ok in .*\r\n"),
    ],
    ids=["quiet", "dumb", "results"],
)
def test_progress_bar_is_absent_where_unwanted(any_remit, flags, term, output, wanted):
    path = any_remit.file("jobs.jsonl", lines(*slow(5)))
    code, seen = on_terminal(any_remit, path, *flags, term=term, output=output)
    assert code == 0 and re.fullmatch(wanted, seen), seen


# ---- arguments ----


@pytest.mark.parametrize(
    "args,words",
    [
        (("nowhere.jsonl",), "open nowhere.jsonl: No such file"),
        (("/",), "is a folder"),
        (("-j",), "-j requires a value, such as 4"),
        (("-j0",), "a number from 1 to 64"),
        (("-j", "65"), "a number from 1 to 64"),
        (("-j", "many"), "a number from 1 to 64"),
        (("--output",), "--output requires a value, such as results.jsonl"),
        (("--output", "/nowhere/x"), "open /nowhere/x: No such file"),
        (("--resume",), "--resume needs --output"),
        (("--force",), "--force needs --output"),
        (("--resume", "--force", "--output", "x"), "exclude each other"),
        (("--memroy", "1M"), "did you mean --memory?"),
        (("--timeout", "0s"), "timeout"),
        (("one", "two"), 'unexpected argument "two": remit batch takes one FILE'),
    ],
)
def test_wrong_arguments_are_clear_errors(any_remit, args, words):
    done = any_remit("batch", *args)
    assert done.returncode == 2 and words in done.stderr and done.stdout == "", done


def test_file_may_be_named_like_option(any_remit):
    any_remit.file("--odd", lines(*numbers(1)))
    assert len(results(any_remit("batch", "--", "--odd").stdout)) == 1
    assert len(results(any_remit("batch", "-", input=lines(*numbers(1))).stdout)) == 1


def test_options_are_completed(any_remit):
    for words, wanted in (("remit ba", "batch"), ("remit batch --unor", "--unordered"), ("remit batch --res", "--resume")):
        script = f"{any_remit('completion').stdout}\nCOMP_WORDS=({words}); COMP_CWORD={words.count(' ')}; _remit; echo ${{COMPREPLY[@]}}"
        assert subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout.split() == [wanted]
