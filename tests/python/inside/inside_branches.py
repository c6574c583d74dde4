"""Branches: sandbox.fork()."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import subprocess
import threading

import pytest
import remit
from waiting import SLEEPS, SPINS, Begun, until


def lookup(word: str) -> str:
    """Converts to capital letters."""
    return word.upper()


def keepers() -> int:
    shown = subprocess.run(["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True).stdout
    return shown.count("remit keeper")


def test_package_docstring_example_works(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "n.txt").write_text("20")
    code = f"n = int(open({str(tmp_path / 'data' / 'n.txt')!r}).read())\nprint(lookup(word='a'))\nn + 1"
    with remit.Sandbox(remit.Policy(memory="1G", read=[f"{tmp_path}/data/"]), tools=[lookup]) as sb:
        r = sb.run(code)
        assert (r.value.json, r.stdout, r.denials, r.artifacts) == (21, "A\n", [], []) and r.enforcement
        branch = sb.fork()
        assert branch.run("n += 1; n").value.json == 21 and sb.run("n").value.json == 20
        assert branch.run("lookup(word='b')").value.json == "B", "a branch has the same tools"
        branch.close()
    assert sb.closed and branch.closed


def test_branch_is_a_separate_sandbox(tmp_path):
    with remit.Sandbox(export=["*.txt"], artifacts=tmp_path / "session") as sandbox:
        sandbox.run("x = [1]; open('both.txt', 'w').write('both')")
        with sandbox.fork(artifacts=tmp_path / "branch") as branch:
            assert isinstance(branch, remit.Sandbox) and not branch.closed
            first = branch.run("x.append(2); open('mine.txt', 'w').write('mine'); x")
            assert first.value.json == [1, 2] and first.start == "branch"
            assert first.document["session"]["branch_of"] == sandbox.run("1").document["session"]["id"]
            with branch.fork() as leaf:
                assert leaf.run("x.append(3); x").value.json == [1, 2, 3]
            assert branch.run("1 / 0").status == "error" and branch.run("x").value.json == [1, 2]
        assert sandbox.run("import os; x, os.path.exists('mine.txt')").value.json == [[1], False]
        with sandbox.fork() as last:
            sandbox.close()
            assert last.run("x").value.json == [1], "a branch outlives its session"
    assert sorted(p.name for p in (tmp_path / "branch").iterdir()) == ["both.txt", "mine.txt"]
    assert sorted(p.name for p in (tmp_path / "session").iterdir()) == ["both.txt"]


def test_uncopyable_state_is_refused_and_the_sandbox_survives():
    with remit.Sandbox(branches=3) as sandbox:
        sandbox.run("import threading; stop = threading.Event(); t = threading.Thread(target=stop.wait); t.start()")
        with pytest.raises(remit.Unenforceable, match="other threads") as caught:
            sandbox.fork()
        assert caught.value.remedy == "Join the threads first."
        sandbox.run("stop.set(); t.join(); f = open('f', 'w')")
        with pytest.raises(remit.Unenforceable, match="open|file"):
            sandbox.fork()
        assert sandbox.run("f.close(); 5").value.json == 5
        with sandbox.fork() as branch:
            assert branch.run("6").value.json == 6
        with pytest.raises(remit.Unenforceable, match="the maximum"):
            sandbox.fork()


def test_forkable_is_checked_when_the_sandbox_opens(tmp_path):
    fields = dict(net=True), dict(subprocess=True, memory="unlimited"), dict(write=[tmp_path]), dict(tier="landlock")
    for one in fields:
        with pytest.raises(remit.Unenforceable, match="branch"):
            remit.Sandbox(forkable=True, **one)
    with remit.Sandbox(write=[tmp_path]) as sandbox:
        assert sandbox.run("7").value.json == 7, "the sandbox works without branches"
        with pytest.raises(remit.Unenforceable, match="this sandbox cannot have branches: a branch would write") as caught:
            sandbox.fork()
        assert caught.value.where == "filesystem_write_roots"
    with remit.Sandbox(forkable=False) as sandbox, pytest.raises(remit.Unenforceable, match="opened without"):
        sandbox.fork()
    with pytest.raises(TypeError, match="forkable must be True, False or None, not 'yes'"):
        remit.Sandbox(forkable="yes")
    with pytest.raises(remit.PolicyError, match="too small"):
        remit.Sandbox(memory="1K")


def test_fork_is_refused_while_busy_closed_or_in_a_child_process():
    sandbox, begun = remit.Sandbox(timeout=600), Begun()
    with pytest.raises(TypeError, match="artifacts must be a path, not int"):
        sandbox.fork(artifacts=3)
    thread = threading.Thread(target=lambda: sandbox.run(SLEEPS, on_output=begun))
    thread.start()
    begun.wait_until_begun()
    with pytest.raises(remit.Busy):
        sandbox.fork()
    sandbox.interrupt()
    thread.join()
    branch = sandbox.fork()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(branch)
    child = os.fork()
    if child == 0:
        refused = 0
        for one in (sandbox, branch):
            try:
                one.fork()
            except ValueError:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert branch.run("8").value.json == 8
    for one in (branch, sandbox):
        one.close()
        with pytest.raises(ValueError, match="closed"):
            one.fork()


def test_branches_work_in_asyncio():
    async def main():
        async with await remit.Sandbox.open_async(timeout=60) as sandbox:
            await sandbox.run_async("x = 10")
            branches = [await sandbox.fork_async() for _ in range(3)]
            try:
                results = await asyncio.gather(*(b.run_async(f"x += {n}; x") for n, b in enumerate(branches)))
            finally:
                for branch in branches:
                    await branch.close_async()
            mine = await sandbox.run_async("x")
            await sandbox.reset_async()
            fresh = await sandbox.run_async("x")
        return [r.value.json for r in results], mine.value.json, fresh.error.name, sandbox.closed

    assert asyncio.run(main()) == ([10, 11, 12], 10, "NameError", True)
    with pytest.raises(KeyError):
        asyncio.run(left_by_an_exception())


async def left_by_an_exception():
    async with remit.Sandbox():
        raise KeyError


def test_garbage_collected_branches_leave_nothing():
    before = keepers()
    connection = remit.Connection(private=True)
    sandbox = remit.Sandbox(connection=connection)
    branch = sandbox.fork()
    connection.close()
    assert branch.run("1").ok, "a branch keeps its connection open"
    del sandbox
    gc.collect()
    assert branch.run("2").ok and keepers() == before + 1
    del branch
    gc.collect()
    until(lambda: keepers() == before)


def test_ctrl_c_interrupts_a_branch_alone():
    begun = Begun()
    with remit.Sandbox(timeout=600) as sandbox:
        sandbox.run("x = 1")
        with sandbox.fork() as branch:
            with pytest.raises(KeyboardInterrupt), begun.then_signal():
                branch.run(SPINS, on_output=begun)
            assert branch.run("x").value.json == sandbox.run("x").value.json == 1
