"""remit.run() and its result."""

from __future__ import annotations

import gc
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
import remit
from waiting import DEFAULT_TIMEOUT_S, EVENT_TIMEOUT_S, SPINS, Begun, until


def test_program_runs():
    r = remit.run("print(sum(range(10)))", timeout=60)
    assert (r.status, r.ok, r.stdout, r.stderr, r.exit_code, r.error) == ("ok", True, "45\n", "", 0, None)
    assert r.tier == "local" and r.usage.wall_ms > 0 and r.usage.cpu_ms > 0


def test_last_expression_is_the_value():
    r = remit.run("x = 20\n{'a': [x, 1]}")
    assert r.value.json == {"a": [20, 1]} and r.value.text == "{'a': [20, 1]}" == str(r) and "value" in r.reported
    assert remit.run("x = 1").value is None and remit.run("print(1)").displays == []


def test_program_runs_in_the_interpreter_of_the_host():
    shown = remit.run("import sys; print(sys.version_info[:3])").stdout
    assert shown == f"{sys.version_info[:3]}\n"


def test_tier_wasm_is_not_given_the_interpreter_of_the_host():
    # A wheel has no remit-wasm, and that is the only reason to refuse the tier.
    for made in (lambda: remit.run("1", tier="wasm"), lambda: remit.run("1", policy={"tier": "wasm"}), lambda: remit.explain(tier="wasm")):
        with pytest.raises(remit.RemitError) as caught:
            made()
        assert caught.value.where == "tier" and "make wasm" in caught.value.remedy
    with pytest.raises(remit.RemitError) as caught:
        remit.run("1", policy={"tier": "wasm"}, tier="local", python="/no/such/python")
    assert caught.value.where == "python"


def test_failed_program_is_a_result():
    r = remit.run("print('before'); 1 / 0")
    assert (r.status, r.ok, r.stdout, r.exit_code) == ("error", False, "before\n", 1)
    assert r.error.name == "ZeroDivisionError" and "division by zero" in r.stderr and "error" in r.reported
    with pytest.raises(remit.Failed, match="ZeroDivisionError") as caught:
        r.check()
    assert caught.value.result is r
    assert remit.run("raise SystemExit(3)").exit_code == 3
    assert remit.run("raise SystemExit(0)").ok


def test_missing_module_has_a_remedy_for_people_and_programs():
    result = remit.run("import umap")
    remedy = 'umap is not installed. Try --package umap-learn, or add "umap-learn" to the policy\'s packages.'
    assert (result.error.package, result.error.remedy) == ("umap-learn", remedy)
    assert str(result).endswith(f"\n[{remedy}]") and result.advice == [f"[{remedy}]"]
    assert "Try --package umap-learn" in result._repr_html_()
    other = remit.run("1 / 0")
    assert other.error.remedy is other.error.package is None and other.advice == []


def test_exceeded_limits_are_results():
    begun = time.monotonic()
    r = remit.run("print('partial', flush=True)\nwhile True: pass", timeout=3)
    assert r.status == "timeout" and r.stdout == "partial\n" and time.monotonic() - begun < DEFAULT_TIMEOUT_S
    assert remit.run("while True: pass", cpu="300ms", timeout=120).status == "cpu_limit"
    # Without a cgroup the limit applies to address space, and Python can catch the MemoryError.
    r = remit.run("x = bytearray(1 << 30)", memory="300M", disk="16M")
    assert r.status == "memory_limit" or r.error.name == "MemoryError", r


def test_every_enforced_field_names_its_mechanisms():
    rows = {row.field: row for row in remit.run("pass").enforcement}
    assert rows["network_access"].value is False and "seccomp" in rows["network_access"].mechanisms
    assert rows["network_access"].strength == "enforced"


def test_denials_are_reported():
    r = remit.run("import socket\ntry: socket.socket()\nexcept OSError: print('refused')")
    (denial,) = r.denials
    assert r.stdout == "refused\n" and denial.field == "network_access" and denial.count == 1
    assert "network_access would allow it" in str(r)


def test_stdin_arguments_and_files_reach_the_program(tmp_path):
    assert remit.run("print(input())", stdin="Ada\n").stdout == "Ada\n"
    assert remit.run("import sys; print(sys.stdin.buffer.read())", stdin=b"\0\xff").stdout == "b'\\x00\\xff'\n"
    (tmp_path / "in").write_text("from a file")
    with open(tmp_path / "in") as f:
        assert remit.run("print(input())", stdin=f).stdout == "from a file\n"
    assert remit.run("import sys; print(sys.argv[1:])", args=["a b", "ä"]).stdout == "['a b', 'ä']\n"
    inputs = {"a.txt": "text", "b/c.bin": b"\0", "d": tmp_path / "in"}
    code = "print(open('a.txt').read(), open('b/c.bin', 'rb').read(), open('d').read())"
    assert remit.run(code, inputs=inputs).stdout == "text b'\\x00' from a file\n"
    assert 'File "mine.py", line 1' in remit.run("1/0", name="mine.py").stderr


def test_exported_files_leave_the_jail(tmp_path):
    r = remit.run("open('a.csv', 'w').write('1,2')", export=["*.csv"], artifacts=tmp_path / "out")
    (artifact,) = r.artifacts
    assert artifact.path == "a.csv" and artifact.content_type == "text/csv" and artifact.size_bytes == 3
    assert artifact.file == tmp_path / "out" / "a.csv" and artifact.file.read_text() == "1,2"
    again = remit.run("open('a.csv', 'w').write('3')", export=["*.csv"], artifacts=tmp_path / "out")
    assert again.artifacts == [] and again.artifacts_skipped[0].path == "a.csv"


def test_host_folders_can_be_read_and_mounted(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x").write_text("there")
    os.chdir(tmp_path)
    where = str(tmp_path / "data")
    assert remit.run("import sys; print(open(sys.argv[1] + '/x').read())", args=[where], read=["data"]).stdout == "there\n"
    r = remit.run("open('/d/y', 'w').write('new')", mount=[(pathlib.Path("data"), "/d", "rw")])
    assert r.committed is True and (tmp_path / "data" / "y").read_text() == "new"
    assert [(c.path, c.kind) for c in r.changes] == [("/d/y", "created")]


def test_paths_that_models_write_work_where_the_workspace_is(tmp_path):
    code = "import pandas_free as p; p.save('/mnt/data/report.csv', open('/home/user/in.csv').read())"
    inputs = {"/mnt/data/pandas_free.py": "def save(path, text): open(path, 'w').write(text)", "in.csv": "1,2"}
    r = remit.run(
        f"import sys; sys.path.insert(0, '.'); {code}", inputs=inputs, workspace=pathlib.Path("/mnt/data"), workspace_alias=["/home/user"],
        export=["/mnt/data/*.csv"], artifacts=tmp_path / "out",
    )  # fmt: skip
    assert r.ok and sorted(a.path for a in r.artifacts) == ["in.csv", "report.csv"], r
    assert (tmp_path / "out" / "report.csv").read_text() == "1,2"
    assert {row.field: row.value for row in r.enforcement}["workspace"] == "/mnt/data"


def test_invalid_utf_8_output_is_kept_as_bytes():
    r = remit.run("import sys; sys.stdout.buffer.write(b'a\\xffb')")
    assert r.stdout_bytes == b"a\xffb" and r.stdout == "a�b"
    r = remit.run("print('é' * 1000)", stdout_max=1025)
    assert r.stdout == "é" * 512 and r.stdout_truncated and len(r.stdout_bytes) == 1025


def test_output_comes_as_it_is_written():
    """The program waits for input that comes only after its output has arrived."""
    seen = []
    read, write = os.pipe()

    def answer(stream, text):
        seen.append((stream, text))
        os.write(write, b"\n" * text.count("\n"))

    code = "import sys\nfor i in range(3): print('ä', i, flush=True); input()\nprint('e', file=sys.stderr)"
    with open(read) as stdin:
        r = remit.run(code, stdin=stdin, on_output=answer)
    os.close(write)
    assert "".join(t for s, t in seen if s == "stdout") == r.stdout == "ä 0\nä 1\nä 2\n"
    assert "".join(t for s, t in seen if s == "stderr") == "e\n"


def test_raising_callback_ends_the_run():
    def fail(stream, text):
        raise KeyError("mine")

    begun = time.monotonic()
    with pytest.raises(KeyError, match="mine"):
        remit.run("while True: print(1)", on_output=fail, timeout=600)
    assert time.monotonic() - begun < EVENT_TIMEOUT_S


def test_ctrl_c_interrupts_the_run():
    started, begun = time.monotonic(), Begun()
    with pytest.raises(KeyboardInterrupt), begun.then_signal():
        remit.run(SPINS, timeout=600, on_output=begun)
    assert time.monotonic() - started < 2 * EVENT_TIMEOUT_S
    assert remit.run("print(1)").ok, "the next run works"


def test_signal_handler_without_exception_ends_nothing():
    """The signal is handled while the program runs: it waits for input from the handler."""
    begun = Begun()
    read, write = os.pipe()
    before = signal.signal(signal.SIGUSR1, lambda *_: os.write(write, b"whole\n"))
    try:
        with open(read) as stdin, begun.then_signal(signal.SIGUSR1):
            r = remit.run("print('begun', flush=True); print(input())", stdin=stdin, on_output=begun, timeout=EVENT_TIMEOUT_S)
        assert r.stdout == "begun\nwhole\n"
    finally:
        signal.signal(signal.SIGUSR1, before)
        os.close(write)


def test_results_have_readable_forms():
    r = remit.run("print('<b>'); import sys; print('e', file=sys.stderr)")
    assert str(r) == "<b>\ne" and "&lt;b&gt;" in r._repr_html_() and "<b>\n" not in r._repr_html_()
    assert repr(r).startswith("<remit.Result ok in ") and "4 bytes of stdout" in repr(r)
    assert str(remit.run("while True: pass", timeout=0.2)) == "[timeout]"


def test_results_and_policies_can_be_pickled():
    r = remit.run("print(1)")
    copy = pickle.loads(pickle.dumps(r))
    assert copy.document == r.document and copy.stdout_bytes == b"1\n" and copy.ok
    policy = remit.Policy(memory="1G")
    assert pickle.loads(pickle.dumps(policy)) == policy
    error = pickle.loads(pickle.dumps(remit.Busy("later", remedy="wait")))
    assert type(error) is remit.Busy and error.remedy == "wait"
    with remit.Connection(private=True) as c, pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(c)


def test_doctor_explain_and_matrix_report():
    assert remit.doctor() and "seccomp" in str(remit.doctor())
    plan = remit.explain(memory="300M", disk="16M")
    assert {e.field: e.value for e in plan.enforcement}["memory_bytes"] == 300 << 20 and "memory_bytes" in str(plan)
    assert "seccomp" in remit.matrix().mechanisms("network_access") and "<table>" in remit.matrix()._repr_html_()
    with pytest.raises(remit.Unenforceable) as caught:
        remit.explain(package_installation=True, offline=True)
    assert caught.value.where == "package_installation" and caught.value.remedy


# ---- processes and threads ----


def keepers() -> list[str]:
    shown = subprocess.run(["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True).stdout
    return [line for line in shown.splitlines() if line.startswith("remit keeper")]


def test_garbage_collected_connection_leaves_no_process():
    before = len(keepers())
    connection = remit.Connection(private=True)
    assert connection.run("print(1)").ok and len(keepers()) == before + 1
    del connection
    gc.collect()
    assert len(keepers()) == before


def test_closed_connection_raises():
    with remit.Connection(private=True) as connection:
        assert not connection.closed
    assert connection.closed
    with pytest.raises(ValueError, match="closed"):
        connection.run("print(1)")


def test_close_waits_for_running_programs():
    connection, seen, begun = remit.Connection(private=True), [], Begun()
    code = "print('begun', flush=True)\nimport time; time.sleep(0.5); print('whole')"
    thread = threading.Thread(target=lambda: seen.append(connection.run(code, on_output=begun)))
    thread.start()
    begun.wait_until_begun()
    connection.close()
    thread.join()
    assert seen[0].stdout == "begun\nwhole\n"


def test_many_threads_share_one_connection():
    seen: list[str] = []
    threads = [threading.Thread(target=lambda i=i: seen.append(remit.run(f"print({i})").stdout)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, seen)) == list(range(16))


def test_other_threads_run_while_one_waits():
    """The program waits for input that comes only after another thread has run."""
    read, write = os.pipe()

    def work():
        for _ in range(10):
            time.sleep(0.01)  # lets the thread run
        os.write(write, b"worked\n")

    thread = threading.Thread(target=work)
    with open(read) as stdin:
        r = remit.run("print('begun', flush=True); print(input())", stdin=stdin, on_output=lambda *_: thread.ident or thread.start(), timeout=EVENT_TIMEOUT_S)
    thread.join()
    os.close(write)
    assert r.stdout == "begun\nworked\n"


def test_parent_and_child_have_separate_keepers_after_a_fork():
    explicit = remit.Connection(private=True)
    assert remit.run("print(1)").ok
    child = os.fork()
    if child == 0:
        try:
            with pytest.raises(ValueError, match="after a fork"):
                explicit.run("print(1)")
            os._exit(0 if remit.run("print(2)").stdout == "2\n" else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert remit.run("print(3)").stdout == "3\n" and explicit.run("print(4)").stdout == "4\n"
    explicit.close()


def test_forked_child_does_not_keep_the_parents_keeper_alive():
    read, write = os.pipe()
    code = f"""
import os, remit, subprocess, time
remit.run("print(1)")
child = os.fork()
if child == 0:
    time.sleep(600)
    os._exit(0)
shown = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True).stdout
(keeper,) = [line.split()[0] for line in shown.splitlines() if line.split()[1:3] == ["remit", "keeper"]]
os.write({write}, f"{{keeper}} {{child}}".encode())
os._exit(0)
"""
    with subprocess.Popen([sys.executable, "-c", code], pass_fds=[write]):
        os.close(write)
        keeper, child = os.read(read, 100).decode().split()
    os.close(read)
    try:
        os.kill(int(child), 0)
        until(lambda: is_gone(int(keeper)))
    finally:
        os.kill(int(child), signal.SIGKILL)


def is_gone(pid: int) -> bool:
    """Whether a process has ended. A process that is not its parent cannot wait for it."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_unsafe_tier_has_a_separate_keeper():
    assert remit.run("print(1)").ok
    r = remit.run("import os; print(os.getppid() > 1)", tier="unsafe")
    assert r.stdout == "True\n" and r.tier == "unsafe" and remit.run("print(1)").tier == "local"


def test_killed_keeper_is_replaced():
    assert remit.run("print(1)").ok
    shown = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True).stdout
    pids = [int(line.split()[0]) for line in shown.splitlines() if "remit keeper" in line]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    until(lambda: all(map(is_gone, pids)))
    for tier in ("local", "unsafe"):
        with pytest.raises(remit.Gone):
            remit.run("print(1)", tier=tier)
        assert remit.run("print(2)", tier=tier).stdout == "2\n"
