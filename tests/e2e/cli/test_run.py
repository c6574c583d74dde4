"""`remit run`: output, exit codes and results."""

import base64
import json
import signal
import subprocess

import pytest

RESULT_KEYS = [
    "status", "tier", "start", "exit_code", "signal", "stdout", "stderr", "stdout_truncated", "stderr_truncated",
    "error", "reported", "usage", "enforcement", "denials", "artifacts", "artifacts_skipped", "run_id", "remit_version",
]  # fmt: skip


def test_run_passes_output_and_exit_code(remit):
    done = remit("run", "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")


def test_run_passes_arguments_to_file(remit):
    path = remit.file("args.py", "import sys; print(sys.argv, __name__, __file__)")
    done = remit("run", path, "-x", "--memory", "zwei")
    assert done.stdout == "['args.py', '-x', '--memory', 'zwei'] __main__ args.py\n"


def test_run_reads_program_from_stdin(remit):
    assert remit("run", "-", input="print(6 * 7)").stdout == "42\n"


def test_run_streams_stdin(remit):
    """The program receives each line while it runs, before the end of the input."""
    code = "name = input(); print('hello', name, flush=True); print(len(input()))"
    with remit.popen("run", "-c", code, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        p.stdin.write("ada\n")
        p.stdin.flush()
        assert p.stdout.readline() == "hello ada\n"
        p.stdin.write("x" * 100000 + "\n")
        p.stdin.flush()
        assert p.stdout.readline() == "100000\n"
        assert p.wait(timeout=60) == 0  # although this end of the pipe is still open


def test_run_ends_if_program_ignores_stdin(remit):
    assert remit("run", "-c", "print(1)", input="x" * 1000000).stdout == "1\n"


def test_result_has_every_key_in_sequence(remit):
    result = remit.json("print(1)")
    assert [k for k in result if k in RESULT_KEYS] == RESULT_KEYS
    assert result["status"] == "ok" and result["tier"] == "local"
    assert result["exit_code"] == 0 and result["signal"] is None and result["error"] is None
    assert result["stdout"] == "1\n" and result["denials"] == [] and result["artifacts"] == []
    usage = result["usage"]
    assert 0 < usage["wall_ms"] < 60000 and 0 < usage["cpu_ms"] < 60000
    assert usage["memory_peak_bytes"] > 1 << 20
    assert usage["processes_peak"] == (1 if remit.by_root else None)


def test_run_ids_differ(remit):
    assert len({remit.json("pass")["run_id"] for _ in range(5)}) == 5


# (code, status, exit code of the program, signal, exit code of remit)
ENDINGS = [
    ("pass", "ok", 0, None, 0),
    ("", "ok", 0, None, 0),
    ("import sys; sys.exit(0)", "exit", 0, None, 0),
    ("import sys; sys.exit(3)", "exit", 3, None, 3),
    ("import sys; sys.exit('bye')", "exit", 1, None, 1),
    ("exit(4)", "exit", 4, None, 4),
    ("import os; os._exit(5)", "exit", 5, None, 5),
    ("import os; os._exit(0)", "exit", 0, None, 0),
    ("1 / 0", "error", 1, None, 1),
    ("raise KeyboardInterrupt", "error", 1, None, 1),
    ("x = (", "error", 1, None, 1),
    ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "killed", None, 15, 143),
    ("import os; os.abort()", "killed", None, 6, 134),
    ("import ctypes; ctypes.string_at(0)", "killed", None, 11, 139),
]


@pytest.mark.parametrize("code,status,exit_code,signal_number,own", ENDINGS)
def test_each_ending_has_its_status_and_exit_code(any_remit, code, status, exit_code, signal_number, own):
    done = any_remit("run", "--json", "-c", code)
    result = json.loads(done.stdout)
    assert (result["status"], result["exit_code"], result["signal"]) == (status, exit_code, signal_number)
    assert done.returncode == own


def test_exception_is_reported_with_user_s_lines_only(remit):
    path = remit.file("bad.py", "def f(x):\n    return 1 / x\n\n\nf(0)\n")
    done = remit("run", "--json", path)
    result = json.loads(done.stdout)
    error = result["error"]
    assert (error["name"], error["value"], error["line"]) == ("ZeroDivisionError", "division by zero", 2)
    assert 'File "bad.py", line 5, in <module>' in error["traceback"]
    assert "return 1 / x" in error["traceback"]
    assert "runner.py" not in error["traceback"] + result["stderr"]
    assert "boot.py" not in error["traceback"] + result["stderr"]
    assert set(result["reported"]) == {"status", "error", "exit_code"}
    assert error["traceback"] == result["stderr"]


def test_syntax_error_has_its_line(remit):
    error = remit.json("x = 1\ny = = 2\n")["error"]
    assert (error["name"], error["line"]) == ("SyntaxError", 2)
    assert "runner" not in error["traceback"]


def test_chained_exceptions_stay_readable(any_remit):
    code = "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e\n"
    result = any_remit.json(code)
    assert "KeyError" in result["stderr"] and "ValueError: b" in result["stderr"]
    assert result["error"]["name"] == "ValueError"


def test_source_is_available_to_inspect_and_pickle(any_remit):
    code = "import inspect, pickle\nclass A:\n    x = 1\nprint(inspect.getsource(A)); print(pickle.loads(pickle.dumps(A())).x)"
    assert any_remit("run", "-c", code).stdout == "class A:\n    x = 1\n\n1\n"


def test_open_files_and_exit_handlers_are_finished(any_remit):
    code = (
        "import atexit, threading, time\n"
        "atexit.register(lambda: print(open('f').read()))\n"
        "f = open('f', 'w'); f.write('kept'); f.flush()\n"
        "threading.Thread(target=lambda: (time.sleep(.2), print('thread'))).start()\n"
    )
    assert any_remit("run", "-c", code).stdout == "thread\nkept\n"


@pytest.mark.parametrize(
    "code,status",
    [
        ("print('before', end=''); import time; time.sleep(60)", "timeout"),
        ("print('before', end=''); import os; os.kill(os.getpid(), 9)", "killed"),
        ("print('before', end=''); 1/0", "error"),
        ("print('before', end=''); x = bytearray(10**9)", "memory"),
    ],
)
def test_partial_output_is_kept_on_every_ending(remit, code, status):
    result = remit.json(code, "--timeout", "5s", "--memory", "300M", "--disk", "16M")
    assert result["stdout"] == "before"
    if status != "memory":
        assert result["status"] == status


def test_binary_output_is_preserved(any_remit):
    data = bytes(range(256))
    result = any_remit.json(f"import sys; sys.stdout.buffer.write({data!r})")
    assert base64.b64decode(result["stdout_base64"]) == data
    assert "\ufffd" in result["stdout"]
    plain = any_remit("run", "-c", f"import sys; sys.stdout.buffer.write({data!r})", text=False)
    assert plain.stdout == data
    assert "stdout_base64" not in any_remit.json("print('ä')")


def test_lone_surrogates_and_nul_bytes_are_handled(any_remit):
    assert any_remit.json("print('a\\x00b')")["stdout"] == "a\0b\n"
    result = any_remit.json("print('\\udc80')")
    assert base64.b64decode(result["stdout_base64"]) == b"\x80\n"
    result = any_remit.json("raise ValueError('\\ud800\\x00')")
    assert result["status"] == "error" and result["error"]["name"] == "ValueError"
    done = any_remit("run", "--json", "-", input=b"print(1)\x00\n", text=False)
    assert json.loads(done.stdout)["status"] == "error"
    done = any_remit("run", "--json", "-", input=b"x = '\xff\xfe'\n", text=False)
    assert json.loads(done.stdout)["error"]["name"] == "SyntaxError"


def test_terminal_receives_only_colours(any_remit):
    import os
    import pty

    code = r"print('\x1b[31mred\x1b[0m\t\x1b]0;title\x07\x1b[2Jend')"
    for flags, wanted in (
        ((), b"\x1b[31mred\x1b[0m\t\\x1b\\x5d0;title\\x07\\x1b\\x5b\\x322Jend"),
        (("--raw",), b"\x1b[31mred\x1b[0m\t\x1b]0;title\x07\x1b[2Jend"),
    ):
        master, slave = pty.openpty()
        with any_remit.popen("run", *flags, "-c", code, stdin=subprocess.DEVNULL, stdout=slave) as p:
            p.wait(timeout=60)
        os.close(slave)
        seen = b""
        try:
            while piece := os.read(master, 4096):
                seen += piece
        except OSError:
            pass
        os.close(master)
        if flags:
            assert wanted in seen, seen
        else:
            assert b"\x1b[31mred\x1b[0m\t" in seen and b"end" in seen
            assert b"\x1b]" not in seen and b"\x1b[2J" not in seen and b"\x07" not in seen


def test_truncated_output_is_marked(any_remit):
    done = any_remit("run", "--stdout-max", "1k", "-c", "print('x' * 5000)")
    assert done.stdout == "x" * 1024 and "stdout was cut at 1 KiB" in done.stderr and done.returncode == 0
    # The notice appears whatever the program printed.
    done = any_remit("run", "--stdout-max", "1k", "-c", "print('\\0' * 5000)")
    assert done.stdout == "\0" * 1024 and "stdout was cut at 1 KiB" in done.stderr


def test_forged_claim_is_not_printed_in_remit_s_name(any_remit):
    """A program that forges its ending and then dies gets no message for the forged one."""
    payload = b"kind\0error\0name\0E\0value\0\x1b]0;owned\x07\nremit: use --tier unsafe\0"
    frame = len(payload).to_bytes(4, "little") + bytes((16, 0, 0, 0)) + payload
    done = any_remit("run", "-c", f"import os, time; os.write(3, {frame!r}); time.sleep(.3); os.kill(os.getpid(), 9)")
    assert done.returncode == 137 and done.stderr == "remit: killed: a signal ended it (signal 9)\n"


def interrupted(remit, code):
    """Send Ctrl-C when the program is ready. Return the exit code, the status and the output."""
    audit = remit.file("interrupted.audit")
    with remit.popen("run", "--audit", audit, "-c", code, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "ready\n"
        p.send_signal(signal.SIGINT)
        out, _ = p.communicate(timeout=60)
    return p.returncode, json.loads(audit.read_text())["status"], out


def test_ctrl_c_interrupts_program(remit):
    code = "import time\ntry:\n    print('ready', flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('caught')\n    raise"
    assert interrupted(remit, code) == (130, "interrupted", "caught\n")


def test_program_that_ignores_ctrl_c_is_killed(any_remit):
    code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(60)"
    assert interrupted(any_remit, code) == (130, "interrupted", "")


def test_closed_pipe_ends_run(any_remit):
    p = subprocess.run(
        ["sh", "-c", '"$@" | head -c 10', "sh", *any_remit.argv("run", "-c", "while True: print('y' * 100)")],
        env=any_remit.env(), cwd=any_remit.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
        **any_remit.identity(),
    )  # fmt: skip
    assert p.stdout == b"y" * 10


@pytest.mark.parametrize(
    "args,code,words",
    [
        ((), 2, "no program is given"),
        (("-c",), 2, "-c requires a value, such as 'print(6 * 7)'"),
        (("nowhere.py",), 2, "nowhere.py: No such file"),
        (("/",), 2, "is a folder"),
        (("--memroy", "1M", "x.py"), 2, "unknown option --memroy; did you mean --memory?"),
        (("--memory", "0", "-c", ""), 2, "memory"),
        (("--memory", "-5", "-c", ""), 2, "memory"),
        (("--timeout", "0s", "-c", ""), 2, "timeout"),
        (("--tier", "wall", "-c", ""), 2, "tier"),
        (("--python", "/nonexistent", "-c", ""), 125, "python"),
    ],
)
def test_wrong_arguments_are_clear_errors(any_remit, args, code, words):
    done = any_remit("run", *args)
    assert done.returncode == code, done
    assert words in done.stderr and "remit: " in done.stderr
    assert done.stdout == ""


def test_help_version_and_completion_work(any_remit):
    for command in ("run", "batch", "policy", "explain", "matrix", "doctor", "bench", "keeper", "status", "completion"):
        done = any_remit(command, "--help")
        assert done.returncode == 0 and f"remit {command}" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80
    assert "--memory" in any_remit("run", "--help").stdout
    assert any_remit("--version").stdout.startswith("remit ")
    assert "doctor" in any_remit("--help").stdout and any_remit().returncode == 0
    done = any_remit("matrx")
    assert done.returncode == 2 and 'did you mean "matrix"' in done.stderr
    script = any_remit("completion").stdout + "\nCOMP_WORDS=(remit run --mem); COMP_CWORD=2; _remit; echo ${COMPREPLY[@]}"
    assert "--memory" in subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout
