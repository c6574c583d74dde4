"""Warm starts: which run may have which child, and what happens when a process dies."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import threading
import time

import pytest
from conftest import PYTHON, make_remit, skip_or_fail, users
from leftovers import groups, memory_has, mounts, name_of, processes_with_argument, remaining
from shared_keeper import SharedKeeper, children, is_alive, kill
from waiting import until

SUBPROCESS = ("--subprocess", "--memory-fallback", "per_process", "--cpu-fallback", "per_process")
HASH = "print(hash('which zygote'))"


@pytest.fixture
def keeper(remit):
    keeper = SharedKeeper(remit)
    yield keeper
    keeper.close()


@pytest.fixture
def user_keeper(stage):
    """A keeper of an ordinary user, for plans that are warm only then."""
    keeper = SharedKeeper(make_remit("user", stage))
    yield keeper
    keeper.close()


def writable_bytes(pid: int) -> int:
    total = 0
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        addresses, mode = line.split()[:2]
        first, last = (int(n, 16) for n in addresses.split("-"))
        total += last - first if "w" in mode else 0
    return total


def pools(keeper) -> dict[str, dict]:
    return {pool["plan"]: pool for pool in keeper.status()["pools"]}


def in_background(keeper, code, *flags, stdin=subprocess.DEVNULL):
    return keeper.remit.popen(
        "run", "--json", *flags, "-c", code, env=keeper.env, stdin=stdin, stdout=subprocess.PIPE, text=True
    )  # fmt: skip


@contextlib.contextmanager
def running(keeper):
    """A warm run that lasts until it gets a line of input, or until the block ends."""
    flags = ("--timeout", "300")
    keeper.await_child(*flags)
    with in_background(keeper, "input(); print('untouched')", *flags, stdin=subprocess.PIPE) as run:
        try:
            keeper.until(lambda: keeper.status()["running"] == 1)
            yield run
        finally:
            run.kill()


def answer(process, given=None) -> dict:
    return json.loads(process.communicate(given, timeout=120)[0])


def is_untouched(run) -> bool:
    result = answer(run, "go on\n")
    return (result["status"], result["start"], result["stdout"]) == ("ok", "warm", "untouched\n")


# ---- which run gets which child ----


def test_building_jails_keeps_keeper_s_standard_descriptors(keeper):
    def standard() -> list[str]:
        return [os.readlink(f"/proc/{keeper.pid}/fd/{fd}") for fd in (0, 1, 2)]

    before = standard()
    keeper.warm("pass")
    assert keeper.json("pass", "--tier", "static")["start"] == "cold"
    assert standard() == before


def test_different_policies_never_share_child(keeper):
    code = "import os, resource; print(os.environ['WHO'], resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    policies = [("--env", f"WHO={who}", "--open-files", str(files)) for who in ("a", "b") for files in (60, 70)]
    before = len(pools(keeper))
    for flags in policies:
        keeper.await_child(*flags)
    assert len(pools(keeper)) == before + 4
    for _ in range(3):
        for flags in policies:
            result = keeper.json(code, *flags)
            assert result["stdout"] == f"{flags[1][4:]} {flags[3]}\n" and result["start"] == "warm", result


def test_identical_policies_share_pool_however_written(keeper):
    texts = (
        '{"memory_bytes": "256M", "env": {"A": "1"}, "timeout": 9}',
        '{\n  "timeout":"9s",\n  "env":{"A":"1"},\n  "memory_bytes":268435456\n}\n',
    )
    files = [keeper.remit.file(f"policy-{n}.json", text) for n, text in enumerate(texts)]
    keeper.await_child("--policy", files[0])
    before = len(pools(keeper))
    assert keeper.json("pass", "--policy", files[1])["start"] == "warm"
    assert len(pools(keeper)) == before


def test_venvs_do_not_share_modules(keeper):
    seen = {}
    for name in ("one", "two"):
        python = venv_with(keeper.remit, f"venv-{name}", "only_here", f"value = '{name}'\n")
        result = keeper.json("import only_here; print(only_here.value)", "--python", python, "--preload", "only_here")
        seen[name] = result["start"], result["stdout"]
    assert seen == {name: ("warm", f"{name}\n") for name in ("one", "two")}


def test_replaced_read_root_is_never_served_from_old_child(keeper):
    folder = keeper.remit.file("swapped/root/who", "0").parent
    keeper.remit.own(folder.parent)
    keeper.remit.own(folder)
    code = f"import os; print(open('{folder}/who').read(), len(os.listdir('{folder}')))"
    assert keeper.warm(code, "--read", folder)["stdout"] == "0 1\n"
    for number in range(1, 4):
        folder.rename(folder.with_name(f"old-{number}"))
        keeper.remit.file("swapped/root/who", str(number))
        keeper.remit.own(folder)
        assert keeper.json(code, "--read", folder)["stdout"] == f"{number} 1\n"
    keeper.await_child("--read", folder)
    shutil.rmtree(folder)
    result = keeper.json(code, "--read", folder)
    assert result["status"] == "refused", result
    shutil.rmtree(folder.parent)


def test_change_inside_read_root_is_visible_to_warm_child(keeper):
    file = keeper.remit.file("changing/who", "old")
    keeper.remit.own(file.parent)
    code = f"print(open('{file}').read())"
    assert keeper.warm(code, "--read", file.parent)["stdout"] == "old\n"
    keeper.remit.file("changing/who", "new")
    assert keeper.warm(code, "--read", file.parent)["stdout"] == "new\n"


# ---- effects of one run on others ----


def test_crash_replaces_zygote_and_spares_other_runs(keeper):
    keeper.await_child()
    before = keeper.zygote()["pid"]
    with running(keeper) as other:
        result = keeper.json("import ctypes; ctypes.string_at(0)")
        assert (result["start"], result["signal"]) == ("warm", signal.SIGSEGV)
        keeper.until(lambda: is_replaced(keeper, before))
        assert keeper.warm("print(1)")["stdout"] == "1\n"
        assert is_untouched(other)


def test_child_of_crashed_zygote_is_not_used(keeper):
    """A crash replaces only a zygote that is at least two seconds old."""
    for _ in range(3):
        old = keeper.warm(HASH)["stdout"]
        before = keeper.zygote()["pid"]
        assert keeper.json("import os; os.abort()")["signal"] == signal.SIGABRT
        keeper.until(lambda: is_replaced(keeper, before))
        assert keeper.warm(HASH)["stdout"] != old


def test_memory_exhaustion_spares_zygote_and_other_runs(keeper):
    keeper.await_child()
    before = keeper.zygote()["pid"]
    flags = ("--memory", "200M", "--disk", "8M", "--files", "256", "--open-files", "64")
    with running(keeper) as other:
        result = keeper.warm("x = []\nwhile True: x.append(bytearray(1 << 20))", *flags)
        assert result["status"] == ("memory_limit" if keeper.remit.by_root else "error"), result
        assert keeper.zygote()["pid"] == before
        assert is_untouched(other)
    assert keeper.warm("print(1)", *flags)["stdout"] == "1\n"


def test_usage_of_run_is_not_reported_for_next(keeper):
    """Cgroups are reused, and their counters restart at zero."""
    flags = ("--memory", "200M", "--disk", "8M", "--files", "256", "--open-files", "64")
    threads = "import threading, time; [threading.Thread(target=time.sleep, args=(0.1,)).start() for _ in range(7)]"
    heavy = {"x = bytes(range(256)) * (400 << 10)": "ok", threads: "ok", "x = bytearray(1 << 30)": "memory_limit"}
    for code, status in heavy.items():
        assert keeper.warm(code, *flags)["status"] in (status, "error")
        for _ in range(4):
            light = keeper.warm("print(1)", *flags)
            used = light["usage"]
            assert light["status"] == "ok" and used["processes_peak"] in (1, None), light
            assert (used["memory_peak_bytes"] or 0) < 30 << 20, light


def test_run_in_group_of_killed_run_survives(keeper):
    """The kernel may still kill a process that enters a cgroup whose processes were killed."""
    for _ in range(6):
        result = keeper.json("import os, time\nif os.fork() == 0: time.sleep(60)\nprint(1)", *SUBPROCESS)
        assert (result["status"], result["stdout"]) == ("ok", "1\n"), result


def test_signals_do_not_end_pid_1(keeper):
    """Not even the signals that the keeper handles: a terminal sends those to all processes."""

    def waiting():
        """All processes with pid 1, once each waits in a full pool."""
        found = [pid for pid in children(keeper.pid) if name_of(pid) == "remit-init"]
        return found if keeper.is_full() and len(found) == sum(p["waiting"] for p in pools(keeper).values()) else None

    inits = keeper.until(waiting)
    for pid in inits:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGPIPE):
            os.kill(pid, number)
    time.sleep(0.3)  # no process may end
    assert [name_of(pid) for pid in inits] == ["remit-init"] * len(inits)


def test_pid_1_has_nothing_of_keeper_s_memory(keeper):
    """Each pid 1 starts as a copy of the keeper, which at that moment has the input of another run."""
    needle = "".join(("input-of-", "another-tenant\n"))
    others = ("--processes", "7")

    def inits():
        return [pid for pid in children(keeper.pid) if name_of(pid) == "remit-init"]

    with in_background(keeper, "import time; time.sleep(300)", "--timeout", "300", stdin=subprocess.PIPE) as run:
        try:
            run.stdin.write(needle * 50000)  # more than the pipe into the jail can buffer
            run.stdin.flush()
            keeper.until(lambda: keeper.status()["running"] == 1)
            keeper.until(lambda: memory_has(keeper.pid, needle.encode()))
            before = set(inits())
            keeper.await_child(*others)
            made = keeper.until(lambda: set(inits()) - before)
            assert [pid for pid in made if memory_has(pid, needle.encode())] == []
            assert all(writable_bytes(pid) <= 64 << 10 for pid in made)
        finally:
            run.kill()


def test_fork_bomb_spares_zygote_and_other_runs(user_keeper):
    keeper = user_keeper
    keeper.await_child()
    before = keeper.zygote()["pid"]
    flags = (*SUBPROCESS, "--processes", "16", "--timeout", "5s")
    with running(keeper) as other:
        result = keeper.warm("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n", *flags)
        assert result["status"] == "timeout", result
        assert keeper.zygote()["pid"] == before
        assert is_untouched(other)
    assert keeper.warm("print(1)", *flags)["stdout"] == "1\n"


FORGED_END = """
import os, struct
claim = b"kind\\0ok\\0exit\\x000\\0"
os.write(3, struct.pack("<IB3x", len(claim), 16) + claim)
os._exit(0)
"""


def test_program_that_forges_its_end_spares_other_runs(keeper):
    """It claims to be done, gets an answer, and dies before it is killed."""
    flags = ("--preload", "decimal")
    results = []

    def ask(code):
        for _ in range(15):
            results.append((code, keeper.json(code, *flags)))

    threads = [threading.Thread(target=ask, args=(code,)) for code in (FORGED_END, "print(1)") * 3]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert {r["status"] for code, r in results if code != FORGED_END} == {"ok"}
    assert [pool["error"] for pool in pools(keeper).values()] == ["", ""]


# ---- the zygote dies ----


def is_replaced(keeper, before):
    now = keeper.zygote()
    return now["state"] == "ready" and now["pid"] != before


def test_zygote_killed_while_idle_is_replaced(keeper):
    keeper.await_child()
    before = keeper.zygote()["pid"]
    os.kill(before, signal.SIGKILL)
    assert [keeper.json("print(1)")["stdout"] for _ in range(5)] == ["1\n"] * 5
    keeper.until(lambda: is_replaced(keeper, before))
    assert keeper.warm("print(2)")["stdout"] == "2\n"
    assert not is_alive(before)


def test_zygote_killed_during_run_spares_run(keeper):
    with running(keeper) as run:
        before = keeper.zygote()["pid"]
        os.kill(before, signal.SIGKILL)
        keeper.until(lambda: is_replaced(keeper, before))
        assert is_untouched(run)


def test_hanging_zygote_is_replaced(keeper):
    """The zygote is stopped, which has the same effect as a deadlock in a fork."""
    keeper.await_child()
    before = keeper.zygote()["pid"]
    os.kill(before, signal.SIGSTOP)
    results = []
    keeper.until(lambda: results.append(keeper.json("pass")) or is_replaced(keeper, before))
    assert {r["status"] for r in results} == {"ok"}
    assert keeper.warm("print(1)")["stdout"] == "1\n"
    assert not is_alive(before)


def test_hanging_zygote_dies_with_its_keeper(remit):
    keeper = SharedKeeper(remit)
    keeper.await_child()
    zygote = keeper.zygote()["pid"]
    os.kill(zygote, signal.SIGSTOP)
    keeper.process.kill()
    keeper.process.wait()
    assert not remaining(lambda: is_alive(zygote))


def test_zygote_killed_repeatedly_under_load_fails_no_run(keeper):
    """Even while it starts and while it forks, every run gets its result."""
    keeper.await_child()
    rng, stop, results = random.Random(7), threading.Event(), []

    def ask():
        while not stop.is_set():
            results.append(keeper.json("print(1)"))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for t in threads:
        t.start()
    for _ in range(40):
        kill_zygotes(keeper)
        time.sleep(rng.uniform(0, 0.2))  # another moment in each round
    stop.set()
    for t in threads:
        t.join()
    assert {r["status"] for r in results} == {"ok"}, [r for r in results if r["status"] != "ok"][0]
    assert keeper.warm("print(2)")["stdout"] == "2\n"

    def no_extra_process_is_left() -> bool:
        waiting = sum(pool["waiting"] for pool in pools(keeper).values())
        return keeper.is_full() and len(keeper.family()) == 2 * waiting + 2  # one pid 1 and one child for each waiting jail, the zygote and the proxy launcher

    keeper.until(no_extra_process_is_left)


def kill_zygotes(keeper):
    for zygote in keeper.status()["zygotes"]:
        if zygote["pid"]:
            kill(zygote["pid"])


# ---- preloading ----


def venv_with(remit, name, module, text):
    """An interpreter that can import this module."""
    venv = remit.folder / name
    if not venv.exists():
        argv = [PYTHON, "-m", "venv", "--without-pip", venv]
        subprocess.run(argv, check=True, env=remit.env(), **remit.identity())
    site = next(venv.glob("lib/python3*/site-packages"))
    (site / f"{module}.py").write_text(text)
    return venv / "bin" / "python"


UNFIT = {
    "package.__main__": ("print('ran')", "is a program"),
    "arguments": ("import sys; assert sys.argv[1:] == []; raise ValueError('no arguments')", "no arguments"),
    "signals": ("import os\ntry: os.kill(os.getppid(), 0)\nexcept PermissionError: raise ValueError('no signals')", "no signals"),
    "forks": ("import os\ntry: os.fork()\nexcept OSError: raise ValueError('no processes')", "no processes"),
    "executes": ("import os, sys\ntry: os.execv(sys.executable, ['python'])\nexcept OSError: raise ValueError('no programs')", "no programs"),
    "grows": ("x = bytearray(3 << 30)", "MemoryError"),
    "raises": ("raise ValueError('broken inside')", "ValueError: broken inside"),
    "leaves": ("import sys; sys.exit('no')", "SystemExit"),
    "threads": ("import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()", "threads"),
    "vanishes": ("import os; os._exit(3)", "died while it imported"),
    "crashes": ("import ctypes; ctypes.string_at(0)", "died while it imported"),
    "imports_what_is_missing": ("import not_there_at_all", "not_there_at_all"),
}


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "private"])
@pytest.mark.parametrize("name", UNFIT)
def test_module_that_cannot_be_preloaded_is_refused_by_name(remit, name, shared):
    text, words = UNFIT[name]
    python = venv_with(remit, "venv-unfit", name, text)
    keeper = SharedKeeper(remit) if shared else remit
    for _ in range(2):
        result = keeper.json("print('ran')", "--python", python, "--preload", name)
        assert (result["status"], result["stdout"]) == ("refused", ""), result
        error = result["error"]
        assert error["where"] == "preload" and name in error["value"] and words in error["value"], error
    if shared:
        assert keeper.json("print('fine')", "--python", python)["stdout"] == "fine\n"
        keeper.close()


def test_missing_preload_module_is_refused_by_name(remit):
    result = remit.json("print('ran')", "--preload", "not_there_at_all")
    assert result["status"] == "refused" and "not_there_at_all" in result["error"]["value"], result


HANGS = ("hangs", "import time; time.sleep(600)")


def test_preload_module_that_hangs_twice_is_refused_by_name(holes):
    """The first time it may have been the machine's load."""
    python = venv_with(holes, "venv-hangs", *HANGS)
    keeper = SharedKeeper(holes, env={"REMIT_DEADLINES": "import=2000"})
    first = keeper.json("print('ran')", "--python", python, "--preload", "hangs")
    assert first["status"] == "busy" and 'within 2 s (deadline "import")' in first["error"]["value"], first
    again = keeper.until(lambda: (run := keeper.json("print('ran')", "--python", python, "--preload", "hangs"))["status"] != "busy" and run)
    assert again["error"]["where"] == "preload" and 'importing took longer than 2 s (deadline "import"): hangs' in again["error"]["value"], again
    keeper.close()


def test_preload_module_that_hangs_in_forks_is_refused_by_name(any_remit):
    """It hangs after the import and the warm-up, as with a lock that is never released."""
    text = "import gc, os, time\nos.register_at_fork(before=lambda: gc.get_freeze_count() and time.sleep(600))"
    python = venv_with(any_remit, "venv-never-forks", "never_forks", text)
    error = any_remit.json("print('ran')", "--python", python, "--preload", "never_forks")["error"]
    assert error["where"] == "preload" and 'deadline "fork") after importing never_forks' in error["value"], error


def test_preload_library_that_hangs_in_forks_leaves_no_process(remit):
    """The C library's fork calls the handler, in the process that forks for the zygote."""
    name = f"never_forks_by_{remit.label}"
    text = "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.__register_atfork(libc.pause, None, None, None)"
    python = venv_with(remit, "venv-never-forks-in-c", name, text)
    error = remit.json("print('ran')", "--python", python, "--preload", name)["error"]
    assert error["where"] == "preload" and f"deadline \"fork\") after importing {name}" in error["value"], error
    assert not remaining(lambda: processes_with_argument(name))


def test_hanging_preload_module_does_not_delay_other_runs(keeper):
    python = venv_with(keeper.remit, "venv-hangs", *HANGS)
    hanging = in_background(keeper, "print('ran')", "--python", python, "--preload", "hangs")
    keeper.until(lambda: [z for z in keeper.status()["zygotes"] if z["preload"]])
    assert keeper.json("print(1)")["stdout"] == "1\n"
    assert hanging.poll() is None
    hanging.kill()
    hanging.communicate()


def test_warm_up_leaves_threads_unchanged(remit):
    """Functions registered for the end of all threads are not called early."""
    code = (
        "import threading, time\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "print(ThreadPoolExecutor().submit(abs, -1).result(), threading.main_thread().is_alive())\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), print('the last'))).start()\n"
    )
    result = remit.json(code, "--preload", "concurrent.futures.thread")
    assert (result["start"], result["stdout"], result["stderr"]) == ("warm", "1 True\nthe last\n", "")


@pytest.mark.parametrize("name", ["with-dash", "class"])
def test_preload_accepts_names_that_are_not_identifiers(remit, name):
    python = venv_with(remit, f"venv-{name}", name, "value = 7\n")
    result = remit.json(f"print(__import__({name!r}).value)", "--python", python, "--preload", name)
    assert (result["status"], result["start"], result["stdout"]) == ("ok", "warm", "7\n"), result


def test_output_of_preloaded_module_is_in_no_result(remit):
    python = venv_with(remit, "venv-prints", "prints", "import sys; print('out'); print('err', file=sys.stderr); sys.stdout.write('x')")
    result = remit.json("import prints; print('mine')", "--python", python, "--preload", "prints")
    assert (result["start"], result["stdout"], result["stderr"]) == ("warm", "mine\n", "")


def test_preloaded_module_cannot_leave_descriptors(remit):
    text = "import os, tempfile\nkept = open(os.devnull); more = [os.dup(kept.fileno()) for _ in range(30)]\n"
    python = venv_with(remit, "venv-opens", "opens", text)
    code = "import os\ndef is_open(fd):\n    try: os.fstat(fd); return True\n    except OSError: return False\nprint([fd for fd in range(256) if is_open(fd)])"
    result = remit.json(code, "--python", python, "--preload", "opens")
    assert (result["start"], result["stdout"]) == ("warm", "[0, 1, 2, 3]\n")


def test_preloaded_module_may_use_temporary_folder(remit):
    """matplotlib does. Its files are not in the jail."""
    text = "import tempfile\nwith tempfile.NamedTemporaryFile('w+') as f: place = f.name\n"
    python = venv_with(remit, "venv-uses", "uses_tmp", text)
    code = "import os, uses_tmp; print(os.path.dirname(uses_tmp.place), os.path.exists(uses_tmp.place))"
    result = remit.json(code, "--python", python, "--preload", "uses_tmp")
    assert (result["status"], result["stdout"]) == ("ok", "/tmp False\n"), result


def test_first_run_with_preload_is_warm(remit):
    result = remit.json("import sys; print('decimal' in sys.modules)", "--preload", "decimal")
    assert (result["start"], result["stdout"]) == ("warm", "True\n")


# ---- the interpreter changes ----


def other_python() -> str:
    """An interpreter other than Debian's, or an empty string."""
    import glob

    found = sorted(glob.glob("/root/.pyenv/versions/3.1[0-9].*/bin/python3.1[0-9]"))
    found = [p for p in found if not p.startswith("/root/.pyenv/versions/3.11")]
    return found[-1] if found else ""


def test_replaced_interpreter_is_not_used_again(stage):
    """`python` is a link that leads to another program after an upgrade."""
    if "root" not in users() or not other_python():
        skip_or_fail("needs two interpreters, which belong to root")
    keeper = SharedKeeper(make_remit("root", stage))
    link = keeper.remit.folder / "python-link"
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    link.symlink_to(PYTHON)
    assert keeper.warm(code, "--python", link)["stdout"] == version_of(PYTHON)
    link.unlink()
    link.symlink_to(other_python())
    assert keeper.json(code, "--python", link)["stdout"] == version_of(other_python())
    assert keeper.warm(code, "--python", link)["stdout"] == version_of(other_python())
    keeper.close()


def version_of(python) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout


def test_replaced_interpreter_file_gets_new_zygote(keeper):
    """The same program in a new file, as after an upgrade."""
    venv = keeper.remit.folder / "venv-upgraded"
    argv = [PYTHON, "-m", "venv", "--without-pip", "--copies", venv]
    subprocess.run(argv, check=True, env=keeper.remit.env(), **keeper.remit.identity())
    python = venv / "bin" / "python3"
    old = keeper.warm(HASH, "--python", python)["stdout"]
    assert keeper.warm(HASH, "--python", python)["stdout"] == old
    for name in ("python", "python3"):
        path = (venv / "bin" / name).resolve()
        shutil.copy2(path, path.with_name("new"))
        keeper.remit.own(path.with_name("new"))
        os.utime(path.with_name("new"))
        path.with_name("new").rename(path)
    assert keeper.json(HASH, "--python", python)["stdout"] != old
    assert keeper.warm(HASH, "--python", python)["stdout"] != old


# ---- more runs than children ----


def test_clients_without_child_get_results_too(keeper):
    keeper.await_child()
    begun = []
    for number in range(12):
        begun.append(in_background(keeper, f"import time; time.sleep(0.5); print({number})"))
    results = [answer(p) for p in begun]
    assert [r["stdout"] for r in results] == [f"{n}\n" for n in range(12)]
    assert {r["status"] for r in results} == {"ok"}
    assert "warm" in {r["start"] for r in results}


# ---- the keeper dies ----


def test_killed_keeper_takes_all_its_processes_with_it(remit):
    keeper = SharedKeeper(remit)
    keeper.await_child()
    with running(keeper) as run:
        keeper.until(keeper.is_full)
        family = keeper.family()
        assert len(family) >= 5  # a zygote, and at least twice a pid 1 and a child
        keeper.process.kill()
        keeper.process.wait()
        assert remaining(lambda: [pid for pid in family if is_alive(pid)]) == []
        out, _ = run.communicate(timeout=60)
        assert run.returncode == 125 and out == ""
    assert mounts() == []
    remit("doctor", "--clean")
    assert remaining(groups) == []


def test_cgroup_of_dead_keeper_in_other_group_is_found(stage):
    memory = [line.strip().split(":")[2] for line in open("/proc/self/cgroup") if ":memory:" in line]
    if os.geteuid() != 0 or not memory:
        skip_or_fail("needs root and a memory cgroup of version 1")
    remit = make_remit("root", stage)
    other = pathlib.Path(f"/sys/fs/cgroup/memory{memory[0]}/elsewhere-{os.getpid()}")
    other.mkdir()
    try:
        keeper = SharedKeeper(remit, preexec_fn=lambda: (other / "cgroup.procs").write_text("0"))
        keeper.await_child()
        assert list(other.glob("remit-*"))  # later the cleanup of another test may have removed it
        keeper.process.kill()
        keeper.process.wait()
        assert remaining(lambda: (other / "cgroup.procs").read_text()) == ""
        remit("doctor", "--clean")
        assert remaining(groups) == []
        assert not list(other.glob("remit-*"))
    finally:
        other.rmdir()


def test_waiting_run_takes_space_of_other_pools(any_remit):
    """Pools that fill the keeper give way at once, and not only when they are idle."""
    keeper = SharedKeeper(any_remit)
    jobs = any_remit.file("jobs.jsonl", "".join(f'{{"id": {i}, "code": "print(1)"}}\n' for i in range(64)))
    others = [("--processes", str(n)) for n in range(10, 15)]
    mine = ("--processes", "20")

    def batch(flags) -> None:
        done = any_remit("batch", "-j", 32, *flags, jobs, env=keeper.env)
        assert [json.loads(line)["status"] for line in done.stdout.splitlines()] == ["ok"] * 64

    def is_without_child() -> bool:
        keeper.json("pass", *mine)
        time.sleep(0.05)  # time for the pools to fill again
        pools = keeper.status()["pools"]
        return pools[-1]["waiting"] == 0 and sum(p["waiting"] for p in pools) == 128

    def pools_give_way_before_idle() -> bool:
        for flags in others:
            batch(flags)
        used = time.monotonic()
        for flags in others:
            keeper.json("pass", *flags)
        while not is_without_child():
            if time.monotonic() - used > 10:
                return False  # idle pools shrink after this time, so the attempt shows nothing
        batch(mine)
        return time.monotonic() - used < 10

    with contextlib.closing(keeper):
        keeper.await_child(*mine)
        # On a busy machine this may take longer. Try until an attempt is fast enough.
        until(pools_give_way_before_idle, "no attempt was fast enough to show it", seconds=400)


def test_keeper_ends_at_once_while_building_jails(remit):
    """Send SIGTERM while jails are built and joined. A process that the keeper does not know yet must not delay its
    end."""
    rng = random.Random(3)
    for _ in range(15):
        keeper = SharedKeeper(remit)
        keeper.await_child()
        clients = [in_background(keeper, "pass") for _ in range(4)]
        time.sleep(rng.uniform(0, 0.1))  # another moment in each round
        family = keeper.family()
        keeper.process.send_signal(signal.SIGTERM)
        assert keeper.process.wait(timeout=25) == 0  # a jail may take 30 s to start
        for client in clients:
            client.communicate(timeout=60)
        assert remaining(lambda: [pid for pid in family if is_alive(pid)]) == []  # noqa: B023
