"""remit.Sandbox: cells, and tools that run on the host."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import subprocess
import threading
from typing import Dict, List, Literal, Optional

import pytest
import remit
from waiting import EVENT_TIMEOUT_S, SLEEPS, SPINS, Begun


def add(a: int, b: int = 1) -> int:
    """The sum."""
    return a + b


def test_cells_share_variables_and_files():
    with remit.Sandbox(timeout=60) as sandbox:
        assert sandbox.run("x = 20; open('f', 'w').write('kept')").ok
        r = sandbox.run("x + 1")
        assert r.value.json == 21 and sandbox.run("open('f').read()").value.json == "kept"
        assert sandbox.run("1 / 0").error.name == "ZeroDivisionError"
        assert sandbox.run("x").value.json == 20, "an error ends the cell, not the sandbox"
        sandbox.reset()
        assert sandbox.run("x").error.name == "NameError"
    assert sandbox.closed
    with pytest.raises(ValueError, match="closed"):
        sandbox.run("1")
    assert sandbox.close() is None


def test_workspace_is_where_the_policy_wants_it():
    with remit.Sandbox(timeout=60, workspace="/home/user", workspace_alias=["/workspace"]) as sandbox:
        assert sandbox.run("open('/home/user/f', 'w').write('kept')").ok
        assert sandbox.run("import os; [os.getcwd(), open('/workspace/f').read()]").value.json == ["/home/user", "kept"]


def test_artifacts_are_exported_on_close(tmp_path):
    sandbox = remit.Sandbox(export=["*.txt"], artifacts=tmp_path / "out")
    sandbox.run("open('a.txt', 'w').write('1')")
    result = sandbox.close()
    assert [a.file.read_text() for a in result.artifacts] == ["1"]


def test_sandbox_left_by_an_exception_writes_nothing(tmp_path):
    with pytest.raises(KeyError), remit.Sandbox(write=[tmp_path]) as sandbox:
        assert sandbox.run(f"open({str(tmp_path / 'x')!r}, 'w').write('1')").ok
        raise KeyError
    assert sandbox.closed and list(tmp_path.iterdir()) == []
    with remit.Sandbox(write=[tmp_path]) as sandbox:
        sandbox.run(f"open({str(tmp_path / 'x')!r}, 'w').write('1')")
    assert (tmp_path / "x").read_text() == "1"


def test_changes_can_be_committed_before_the_end(tmp_path):
    with pytest.raises(KeyError), remit.Sandbox(write=[tmp_path]) as sandbox:
        sandbox.run(f"open({str(tmp_path / 'x')!r}, 'w').write('1')")
        result = sandbox.commit()
        assert result.committed and [(c.kind, c.path) for c in result.changes] == [("created", str(tmp_path / "x"))]
        sandbox.run(f"open({str(tmp_path / 'y')!r}, 'w').write('2')")
        assert asyncio.run(sandbox.commit_async()).committed
        sandbox.run(f"open({str(tmp_path / 'z')!r}, 'w').write('3')")
        raise KeyError
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x", "y"]
    with pytest.raises(ValueError, match="closed"):
        sandbox.commit()


def test_wrong_or_unenforceable_policy_raises(tmp_path):
    with pytest.raises(remit.PolicyError, match="memory_bytes: 1 KiB is too small"):
        remit.Sandbox(memory="1K")
    with pytest.raises(remit.Unenforceable) as caught:
        remit.Sandbox(tier="vm")
    assert caught.value.where == "tier" and caught.value.remedy
    with pytest.raises(TypeError, match="memroy"):
        remit.Sandbox(memroy="1G")
    with pytest.raises(remit.InstallFailed, match="no-such-package") as caught:
        remit.Sandbox(package=["no-such-package"], offline=True, find_links=[tmp_path])
    assert caught.value.code == "install_failed"


def test_second_concurrent_cell_is_refused():
    begun = Begun()
    with remit.Sandbox(timeout=600) as sandbox:
        thread = threading.Thread(target=lambda: sandbox.run(SLEEPS, on_output=begun))
        thread.start()
        begun.wait_until_begun()
        with pytest.raises(remit.Busy, match="already running a cell"):
            sandbox.run("1")
        with pytest.raises(remit.Busy):
            sandbox.close()
        sandbox.interrupt()
        thread.join()
        assert sandbox.run("1").value.json == 1


def test_ctrl_c_interrupts_the_cell_and_the_sandbox_lives_on():
    begun = Begun()
    with remit.Sandbox(timeout=600) as sandbox:
        sandbox.run("x = 5")
        with pytest.raises(KeyboardInterrupt), begun.then_signal():
            sandbox.run(SPINS, on_output=begun)
        assert sandbox.run("x").value.json == 5


def test_sandboxes_work_in_asyncio():
    async def main():
        with remit.Sandbox() as one, remit.Sandbox() as two:
            await asyncio.gather(one.run_async("x = 1"), two.run_async("x = 2"))
            return [(await s.run_async("x")).value.json for s in (one, two)]

    assert asyncio.run(main()) == [1, 2]


def test_two_event_loops_take_turns():
    """A sandbox is not bound to an event loop. It refuses only a second cell at the same time."""
    begun = Begun()
    with remit.Sandbox(timeout=600) as sandbox:
        for n in range(2):
            assert asyncio.run(sandbox.run_async(f"{n}")).value.json == n
        thread = threading.Thread(target=lambda: asyncio.run(sandbox.run_async(SLEEPS, on_output=begun)))
        thread.start()
        begun.wait_until_begun()
        with pytest.raises(remit.Busy, match="already running a cell"):
            asyncio.run(sandbox.run_async("1"))
        sandbox.interrupt()
        thread.join()
        assert asyncio.run(sandbox.run_async("2")).value.json == 2


def test_garbage_collected_and_forked_sandboxes_leave_nothing():
    sandbox = remit.Sandbox(connection=remit.Connection(private=True))
    shown = subprocess.run(["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True).stdout
    before = shown.count("remit keeper")
    child = os.fork()
    if child == 0:
        try:
            with pytest.raises(ValueError, match="after a fork|closed"):
                sandbox.run("1")
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sandbox.run("7").value.json == 7
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(sandbox)
    del sandbox
    gc.collect()
    shown = subprocess.run(["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True).stdout
    assert shown.count("remit keeper") == before - 1


# ---- tools ----


def test_code_calls_functions_of_the_host():
    seen = []

    def look_up(key: str, limit: Optional[int] = None) -> Dict[str, object]:
        seen.append((key, limit, os.getpid()))
        return {"key": key, "limit": limit}

    with remit.Sandbox(tools=[look_up, add]) as sandbox:
        assert sandbox.run("look_up(key='k')").value.json == {"key": "k", "limit": None}
        assert sandbox.run("add(a=20, b=add(a=1))").value.json == 22
    assert seen == [("k", None, os.getpid())], "the tool runs in this process"
    r = remit.run("add(a=1)", tools=[add])
    assert r.value.json == 2 and r.usage.tool_calls == 1


def test_concurrent_calls_do_not_wait_for_each_other():
    together = threading.Barrier(4)

    def wait(n: int) -> int:
        together.wait(EVENT_TIMEOUT_S)
        return n

    async def wait_async(n: int) -> int:
        await asyncio.sleep(0.01)  # suspends the coroutine once
        return n

    r = remit.run("import concurrent.futures as f\nwith f.ThreadPoolExecutor(4) as p: x = list(p.map(lambda n: wait(n=n), range(4)))\nx", tools=[wait])
    assert r.value is not None and r.value.json == [0, 1, 2, 3], r
    assert remit.run("wait_async(n=3)", tools=[wait_async]).value.json == 3


def test_tool_failures_reach_the_code():
    def fail(how: str) -> object:
        if how == "raise":
            raise KeyError("mine")
        return object()

    for how, words in (("raise", "KeyError: 'mine'"), ("object", "not JSON serializable")):
        r = remit.run(f"try: fail(how={how!r})\nexcept Exception as e: print(type(e).__name__, e)", tools=[fail])
        assert "ToolError" in r.stdout and words in r.stdout, r
    # Wrong arguments must not reach the host.
    r = remit.run("try: add(a='x')\nexcept Exception as e: print('refused')", tools=[add])
    assert r.stdout == "refused\n" and r.denials is not None


def test_calls_can_need_approval():
    questions = []

    def answer(question):
        questions.append((question.kind, question.subject, question.detail))
        return question.detail == '{"a":1}' or '"a": 1' in (question.detail or "")

    tool = remit.Tool(add, approval="always")
    code = "for a in (1, 2):\n    try: print(add(a=a))\n    except Exception as e: print('denied')"
    r = remit.run(code, tools=[tool], on_question=answer)
    assert r.stdout == "2\ndenied\n" and [(k, s) for k, s, _ in questions] == [("tool", "add")] * 2, (r, questions)
    assert remit.run(code, tools=[tool]).stdout == "denied\ndenied\n", "without on_question every call is denied"
    assert remit.run(code, tools=[remit.Tool(add, approval="first")], on_question=lambda q: "run").stdout == "2\n3\n"

    def fail(question):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        remit.run(code, tools=[tool], on_question=fail)


def test_tool_schema_comes_from_the_type_hints():
    def tool(a: str, b: List[int], c: Literal["x", "y"] = "x", d: Optional[Dict[str, float]] = None) -> None: ...

    assert remit.Tool(tool).schema == {
        "type": "object", "required": ["a", "b"], "additionalProperties": False,
        "properties": {
            "a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}, "c": {"enum": ["x", "y"]},
            "d": {"anyOf": [{"type": "object", "additionalProperties": {"type": "number"}}, {"type": "null"}]},
        },
    }  # fmt: skip


def test_unusable_tool_is_named_with_a_reason():
    def bare(x): ...
    def odd(x: set) -> None: ...
    def more(*x: int) -> None: ...

    for tool, words in (
        (bare, "tool bare: argument 'x': it needs a type hint"),
        (odd, "tool odd: argument 'x': the type <class 'set'> is not supported"),
        (more, "tool more: argument 'x': it must be possible to pass it by name"),
        (3, "a tool must be a function, not int"),
    ):  # fmt: skip
        with pytest.raises(TypeError) as caught:
            remit.Sandbox(tools=[tool])
        assert words in str(caught.value)
    with pytest.raises(ValueError, match="two tools have the name 'add'"):
        remit.run("1", tools=[add, add])
    with pytest.raises(ValueError, match="cannot be the name of a tool"):
        remit.Tool(lambda: 1)
    with pytest.raises(ValueError, match="approval='sometimes': it must be one of 'never', 'always', 'first'"):
        remit.Tool(add, approval="sometimes")
    with pytest.raises(TypeError, match="on_question must be callable"):
        remit.run("1", on_question=3)
