"""Tools of the caller that the code calls: from the library, from the command line, and at their limits."""

import json
import os
import subprocess
import time

import pytest
from conftest import PYTHON, ROOT, enforced
from leftovers import remaining
from shared_keeper import SharedKeeper
from test_ask import Terminal
from test_library import compile_with, prefix  # noqa: F401

TIERS = ("local", "landlock", "unsafe")
WHERE = ("cold", "warm")


@pytest.fixture(scope="session")
def caller(prefix, stage):  # noqa: F811
    """The program tools.c, which has tools."""
    compile_with(prefix, ROOT / "tests" / "e2e" / "library" / "tools.c", stage / "tools")
    return stage / "tools"


class Runner:
    """Runs programs with tools, as one user, with a private or a shared keeper."""

    def __init__(self, remit, caller, env):
        self.remit = remit
        self.caller = caller
        self.env = env

    def __call__(self, code, answer="DENY", **policy):
        if policy.get("tier") == "landlock":
            policy = {"preset": "landlock", **policy}
        policy = {"python": PYTHON, **policy}
        done = subprocess.run(
            [self.caller, code, json.dumps(policy), answer], env=self.remit.env(self.env), cwd=self.remit.folder,
            capture_output=True, text=True, timeout=240, **self.remit.identity(),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        result["messages"] = done.stderr.splitlines()
        return result


@pytest.fixture(params=WHERE)
def runner(request, remit, caller):
    if request.param == "cold":
        yield Runner(remit, caller, {"REMIT_KEEPER": ""})
        return
    keeper = SharedKeeper(remit)
    try:
        runner = Runner(remit, caller, keeper.env)
        keeper.until(lambda: runner("pass")["start"] == "warm")
        yield runner
    finally:
        keeper.close()


@pytest.fixture
def once(remit, caller):
    """A runner for tests that are the same cold and warm."""
    return Runner(remit, caller, {"REMIT_KEEPER": ""})


def test_tool_is_function_with_name(runner):
    result = runner("print(add(1, 2), add(a=3, b=4), add(5, b=6), call_tool('add', a=7, b=8))")
    assert (result["status"], result["stdout"]) == ("ok", "3 7 11 15\n"), result
    assert result["usage"]["tool_calls"] == 4
    assert result["calls"][0] == {"tool": "add", "bytes": 16, "outcome": "ok", "arguments": {"a": 1, "b": 2}}


def test_event_loop_calls_run_concurrently(runner):
    code = """
import asyncio
async def main():
    print(await asyncio.gather(meets(3, 600), meets(n=3, id=601), call_tool("meets", n=3, id=602)))
    task = asyncio.create_task(meets(2, id=300))
    async with asyncio.timeout(60) if hasattr(asyncio, "timeout") else asyncio.Lock():
        print(await asyncio.wait_for(meets(2, 301), 60), await task, add(1, 1).result())
    print(add(2, 2))
asyncio.run(main())
"""
    result = runner(code)
    assert result["status"] == "ok", result
    assert result["stdout"].splitlines() == [
        "[600, 601, 602]", "301 300 2", "<a call of add: write `await` before it>",
    ]  # fmt: skip


def test_threads_call_concurrently(runner):
    code = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    print(list(pool.map(meets, [8] * 8, range(8))) == list(range(8)))
    print(list(pool.map(add, range(300), range(300))) == list(range(0, 600, 2)))
"""
    assert runner(code)["stdout"] == "True\nTrue\n"


def test_threads_and_event_loops_call_together(once):
    code = """
import asyncio, threading
done = []
def thread():
    for i in range(200): done.append(add(i, 1) == i + 1)
async def main():
    return [await asyncio.gather(*(add(i, j) for j in range(5))) for i in range(40)]
threads = [threading.Thread(target=thread) for _ in range(3)]
loops = [threading.Thread(target=lambda: done.append(asyncio.run(main()) == asyncio.run(main()))) for _ in range(2)]
for t in threads + loops: t.start()
print(asyncio.run(main())[3])
for t in threads + loops: t.join()
print(len(done), all(done))
"""
    result = once(code)
    assert result["stdout"] == "[3, 4, 5, 6, 7]\n602 True\n", result


ERRORS = [
    ("fails()", "fails: KeyError: 'x'"),
    ("bytes_ = call_tool('bytes')", "bytes: the result is not valid JSON"),
    ("call_tool('nothing', a=1)", "nothing: no tool has this name"),
    ("add(1)", 'add: arguments: "b" is missing'),
    ("add(1, '2')", "add: arguments.b: must be of type integer, not string"),
    ("add(1, 2, c=3)", 'add: arguments: unknown name "c"'),
    ("add(1, float('nan'))", "add: the arguments cannot be converted to JSON: Out of range"),
    ("add(1, float('inf'))", "add: the arguments cannot be converted to JSON: Out of range"),
    ("add(1, 2**70)", "add: the arguments are not valid JSON: too big integer"),
    ("add(1, object())", "add: the arguments cannot be converted to JSON: an argument has the type object"),
    ("x = []; x.append(x); echo(x=x)", "echo: the arguments cannot be converted to JSON: Circular reference"),
    ("x = []\nfor _ in range(10**6): x = [x]\necho(x=x)", "echo: the arguments cannot be converted to JSON"),
    ("x = []\nfor _ in range(3000): x = [x]\nimport sys; sys.setrecursionlimit(10**5); echo(x=x)", "echo: the arguments are not valid JSON"),
    ("echo(x='\\ud800')", "echo: the arguments are not valid JSON"),
    ("echo(x='x' * 2_000_000)", "echo: the arguments have 2000009 bytes, and tool_bytes allows 1048576"),
    ("echo(x='x' * 100_000_000)", "echo: the arguments have 100000009 bytes: 67108864 are the most"),
    ("large(3_000_000)", "large: the result has 3000000 bytes, and tool_bytes allows 1048576"),
    ("large(1 << 30)", "large: the result has 1073741824 bytes (limit 67108864)"),
    ("guarded(x=1)", "guarded: the call was not allowed"),
]  # fmt: skip


def test_tool_errors_can_be_caught_and_name_their_tool(once):
    """In one run: no error affects the next call."""
    code = f"cases = {[case for case, _ in ERRORS]!r}\n" + """
for case in cases:
    try: exec(case, globals())
    except ToolError as e: print(e.tool, str(e).replace("\\n", " "), sep="|")
    else: print("no error|", case)
    assert add(1, 1) == 2
"""
    result = once(code, memory_bytes="1G", open_files=64, disk_bytes="16M", timeout=200, cpu_seconds=200)
    lines = result["stdout"].splitlines()
    assert (result["status"], len(lines)) == ("ok", len(ERRORS)), result
    for line, (case, words) in zip(lines, ERRORS):
        assert line.split("|")[1].startswith(words) and line.startswith(words.split(":")[0]), (case, line)


def test_uncaught_tool_error_ends_program(runner):
    result = runner("add('x', 2)")
    assert (result["status"], result["error"]["name"], result["error"]["line"]) == ("error", "ToolError", 1), result
    assert result["error"]["value"] == "add: arguments.a: must be of type integer, not string"
    assert "tools.py" not in result["stderr"] and "File \"main.py\", line 1" in result["stderr"]


def test_tool_results_are_json(once):
    values = [None, True, 0, -1, 1.5, 2**200, "", "ä\u0000\U0001f600", [], [[1]], {}, {"name": {"self": 1}}]
    result = once(f"for v in {values!r}:\n    if v != 2**200: assert echo(name=v, self=1) == dict(name=v, self=1), v\nprint('all')")
    assert result["stdout"] == "all\n", result
    # An argument may have the name of a parameter of call_tool.
    assert once("print(call_tool('echo', name=1, tool=2, self=3))")["stdout"] == "{'name': 1, 'tool': 2, 'self': 3}\n"


def test_numpy_values_become_numbers_and_lists(once):
    pytest.importorskip("numpy")
    code = "import numpy as np\nprint(echo(a=np.int64(3), b=np.arange(3), c=np.float32(0.5)))"
    assert once(code)["stdout"] == "{'a': 3, 'b': [0, 1, 2], 'c': 0.5}\n"


def test_approval_is_requested_as_often_as_tool_wants(once):
    code = "guarded(x=1); guarded(x=2); careful(x=3); careful(x=4)"
    asked = [line for line in once(code, "ONCE")["messages"] if line.startswith("asked")]
    assert asked == ['asked tool guarded {"x": 1}', 'asked tool guarded {"x": 2}', 'asked tool careful {"x": 3}']
    asked = [line for line in once(code, "RUN")["messages"] if line.startswith("asked")]
    assert asked == ['asked tool guarded {"x": 1}', 'asked tool careful {"x": 3}']
    result = once("try: guarded(x=1)\nexcept ToolError as e: print(e.denied, e.message)")
    assert result["stdout"] == "True the call was not allowed\n"
    assert result["calls"][0]["outcome"] == "denied" and "called guarded" not in "\n".join(result["messages"])


def test_tool_calls_are_limited(remit, caller, covers):
    runner = Runner(remit, caller, {"REMIT_KEEPER": ""})
    for tier in TIERS:
        code = "n = 0\ntry:\n    while True: add(1, 1); n += 1\nexcept ToolError as e: print(n, e)"
        result = runner(code, tool_calls=7, tier=tier)
        assert result["stdout"] == "7 add: tool_calls allows 7 calls per run\n", (tier, result)
        assert result["usage"]["tool_calls"] == 7
        covers(remit, "tool_calls", *enforced(result, "tool_calls"), tier=tier)


def test_tool_bytes_are_limited(remit, caller, covers):
    runner = Runner(remit, caller, {"REMIT_KEEPER": ""})
    code = """
for f in lambda: echo(x="x" * 91), lambda: echo(x="x" * 92), lambda: large(bytes=100), lambda: large(bytes=101):
    try: f(); print("passed")
    except ToolError as e: print(e)
"""
    for tier in TIERS:
        result = runner(code, tool_bytes=100, tier=tier)
        assert result["stdout"].splitlines() == [
            "passed", "echo: the arguments have 101 bytes, and tool_bytes allows 100",
            "passed", "large: the result has 101 bytes, and tool_bytes allows 100",
        ], (tier, result)  # fmt: skip
        covers(remit, "tool_bytes", *enforced(result, "tool_bytes"), tier=tier)


# The program sends the frames itself, since the runner would wait for its turn.
AT_ONCE = """
for i in range(1, 8):
    head = b"id\\0%d\\0name\\0hangs\\0bytes\\x002\\0" % i
    os.write(3, frame(CALL, head) + frame(CALL_DATA, b"{}"))
got = b""
while got.count(b"concurrent calls") < 4: got += os.read(3, 65536)
print(got.count(b"tool_concurrency allows 3 concurrent calls"))
"""


def test_concurrent_tool_calls_are_limited_and_queued(remit, caller, covers):
    runner = Runner(remit, caller, {"REMIT_KEEPER": ""})
    waits = "import asyncio\nasync def main(): print(len(await asyncio.gather(*(later(100) for _ in range(9)))))\nasyncio.run(main())"
    for tier in TIERS:
        result = runner(waits, tool_concurrency=3, tier=tier)
        assert result["stdout"] == "9\n" and result["usage"]["wall_ms"] > 290, (tier, result)
        result = runner(with_frames(AT_ONCE), tool_concurrency=3, tier=tier, timeout=30, tool_wait=1)
        assert result["stdout"] == "4\n", (tier, result)
        covers(remit, "tool_concurrency", *enforced(result, "tool_concurrency"), tier=tier)


def with_frames(code):
    """A program that sends frames to the keeper without the runner."""
    names = "".join(f"{name} = {number}\n" for name, number in frames())
    return names + "import os, struct\ndef frame(kind, payload): return struct.pack('<IB3x', len(payload), kind) + payload\n" + code


def frames():
    import re

    header = (ROOT / "src/wire/frame.h").read_text()
    body = re.sub(r"/\*.*?\*/", "", re.search(r"enum frame_type \{(.*?)\};", header, re.S)[1], flags=re.S)
    return [(name, i) for i, name in enumerate(re.findall(r"\bFRAME_(\w+),", body))]


def test_wall_clock_pauses_during_tool_call(remit, caller, covers):
    runner = Runner(remit, caller, {"REMIT_KEEPER": ""})
    for tier in TIERS:
        result = runner("print(later(2500), later(ms=700))", timeout=3, tier=tier)
        assert (result["status"], result["stdout"]) == ("ok", "2500 700\n"), (tier, result)
        assert result["usage"]["tool_wait_ms"] >= 3150
        # The pauses together last at most tool_wait.
        result = runner("print(later(1500), later(ms=60000))", timeout=3, tool_wait=1.8, tier=tier)
        assert (result["status"], result["stdout"]) == ("timeout", ""), (tier, result)
        assert 4700 <= result["usage"]["wall_ms"] < 30_000
        covers(remit, "tool_wait", *enforced(result, "tool_wait"), tier=tier)


def test_cpu_clock_does_not_pause_during_tool_call(once):
    code = "import threading\nthreading.Thread(target=hangs, daemon=True).start()\nwhile True: pass"
    result = once(code, cpu_seconds=1, timeout=100)
    assert result["status"] == "cpu_limit", result


def test_hanging_tool_ends_with_run(once):
    result = once("hangs()", timeout=3, tool_wait=1)
    assert result["status"] == "timeout" and 3900 <= result["usage"]["wall_ms"] < 30_000, result
    assert result["calls"][0]["outcome"] == "none"


def test_static_tier_calls_no_tool(remit, caller, covers):
    result = Runner(remit, caller, {"REMIT_KEEPER": ""})("echo(x=1)", tier="static")
    assert (result["status"], result["usage"]["tool_calls"], result["calls"]) == ("ok", 0, [])
    assert not any("called" in line for line in result["messages"])
    for field in ("tool_calls", "tool_bytes", "tool_concurrency", "tool_wait"):
        covers(remit, field, *enforced(result, field), tier="static")


# The end and the call are one write, so the program cannot be killed between them.
AFTER_THE_END = """
def call(number, text): return frame(CALL, b"id\\0%d\\0name\\0echo\\0bytes\\0%d\\0" % (number, len(text))) + frame(CALL_DATA, text)
os.write(3, call(1, b'{"before": 1}'))
got = b""
while b"before" not in got: got += os.read(3, 65536)
os.write(3, frame(ENDED, b"kind\\0ok\\0exit\\x000\\0") + call(2, b'{"after": 1}'))
import time
time.sleep(600)
"""


def test_tool_calls_after_end_have_no_effect(once):
    result = once(with_frames(AFTER_THE_END))
    assert (result["status"], result["usage"]["tool_calls"], result["messages"]) == ("ok", 1, ['called echo {"before": 1}']), result


def test_child_process_cannot_call_tools(once):
    code = "import os\nif os.fork() == 0:\n    try: add(1, 1)\n    except ToolError as e: print(e, flush=True)\n    os._exit(0)\nos.wait(); print(add(1, 1))"
    result = once(code, subprocess_execution=True, cpu_fallback="per_process", memory_fallback="per_process")
    assert "only by the first process" in result["stdout"] and result["stdout"].endswith("2\n"), result


def test_run_without_tools_has_no_trace_of_them(remit):
    result = remit.json("print('call_tool' in globals(), 'ToolError' in globals())")
    assert (result["stdout"], result["calls"], result["calls_left_out"]) == ("False False\n", [], 0)


def test_builtin_is_not_replaced_by_tool(once):
    assert once("print(bytes(2))")["stdout"] == "b'\\x00\\x00'\n"


# ---- sessions


def test_session_cells_have_tools(runner):
    cells = [
        "x = add(1, 2)",
        "print(x, await add(x, 1), await later(20))",
        "import threading, time\nresults = []\ndef on():\n    while len(results) < 40:\n        try: results.append(str(later(ms=30)))\n"
        "        except ToolError as e: results.append(e.message); time.sleep(0.01)\n"
        "threading.Thread(target=on).start()\ntime.sleep(0.1)",
        "import time; time.sleep(0.3); print(add(2, 2))",
        "fails()",
        "import asyncio; print(await asyncio.gather(*(add(i, i) for i in range(20))) == list(range(0, 40, 2)))",
        "reset",
        "print('x' in globals(), add(4, 4), add.__doc__)",
        "hangs()",
        "print(add(5, 5))",
    ]
    policy = {"python": PYTHON, "timeout": 6, "tool_wait": 0.5, "tool_calls": 60}
    done = subprocess.run(
        [runner.caller, "--session", json.dumps(policy), *cells], env=runner.remit.env(runner.env), cwd=runner.remit.folder,
        capture_output=True, text=True, timeout=240, **runner.remit.identity(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["stdout"] for r in results] == [
        "", "3 4 20\n", "", "4\n", "", "True\n", "False 8 add(a, b)\n\nAdds two whole numbers.\n", "", "10\n",
    ], [r["stderr"] for r in results]  # fmt: skip
    assert [r["status"] for r in results] == ["ok"] * 4 + ["error"] + ["ok"] * 2 + ["timeout", "ok"]
    # Limits and usage are counted for each cell.
    assert results[1]["usage"]["tool_calls"] == 2 and results[0]["calls"][0]["arguments"] == {"a": 1, "b": 2}


# ---- the command


def test_command_is_tool(remit):
    done = remit(
        "run", "--tool", "up=tr a-z A-Z", "--tool", "args=cat", "--tool", "value=cat", "--tool-result", "value=json",
        "-c", "print(up(text='hello'), args(a=1, b='x'), value(a=[1])['a'][0] + 1)",
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ('HELLO {"a": 1, "b": "x"} 2\n', 0), done.stderr


def test_commands_run_concurrently_and_fail_like_tools(remit):
    code = """
import asyncio
async def main():
    print(await asyncio.gather(meets(text="a"), meets(text="b"), meets(text="c")))
asyncio.run(main())
for tool in bad, gone, binary, large:
    try: tool()
    except ToolError as e: print(e)
"""
    folder = remit.folder / f"meet-{time.monotonic_ns()}"
    folder.mkdir()
    remit.own(folder)
    meets = f"mktemp {folder}/XXXXXX >/dev/null; until [ $(ls {folder} | wc -l) = 3 ]; do sleep 0.05; done; cat"
    done = remit(
        "run", "--tool", f"meets={meets}", "--tool", "bad=echo why >&2; exit 3", "--tool", "gone=kill -9 $$",
        "--tool", "binary=printf '\\377'", "--tool", "large=head -c 70000000 /dev/zero", "-c", code,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "['a', 'b', 'c']", "bad: the command exited with code 3", "gone: the command was killed by signal 9",
        "binary: the command's output is not UTF-8", "large: the command wrote more than 64 MiB",
    ], done  # fmt: skip
    assert done.stderr == "why\n"


def test_command_dies_with_run(remit):
    mark = f"7{os.getpid()}"
    done = remit("run", "--timeout", "2s", "--tool-wait", "500ms", "--tool", f"hang=sleep {mark} & sleep {mark}", "-c", "hang()")
    assert done.returncode == 124, done
    assert not remaining(lambda: subprocess.run(["pgrep", "-fx", f"sleep {mark}"], capture_output=True).stdout)


def test_repl_cells_have_tools(remit):
    lines = "x = up(text='a')\nx * 2\n%reset\nup(text='b')\n"
    done = remit("repl", "--tool", "up=tr a-z A-Z", input=lines)
    assert (done.stdout, done.returncode) == ("'AA'\n'B'\n", 0), done


def test_command_tool_has_schema(remit):
    path = remit.file("schema.json", json.dumps({"properties": {"n": {"type": "integer"}}, "required": ["n"]}))
    flags = ("--tool", "t=cat", "--tool-schema", f"t={path}", "--tool-help", "t=Says it again.")
    done = remit("run", *flags, "-c", "print(t(5))\nprint(t.__doc__)\nt('x')")
    assert done.stdout == '{"n": 5}\nt(n)\n\nSays it again.\n' and "arguments.n: must be of type integer" in done.stderr, done
    bad = remit.file("bad.json", '{"pattern": "x"}')
    done = remit("run", "--tool", "t=cat", "--tool-schema", f"t={bad}", "-c", "1")
    assert done.returncode == 2 and 'tool "t": Remit does not check the keyword "pattern"' in done.stderr, done


@pytest.mark.parametrize(
    "flags,words",
    [
        (("--tool", "t"), "--tool: write NAME=COMMAND"),
        (("--tool", "t="), "--tool: write NAME=COMMAND"),
        (("--tool", "a-b=x"), "a name must be 1 to 64 letters"),
        (("--tool", "t=x", "--tool", "t=y"), "two tools have this name"),
        (("--tool-help", "t=x"), "no --tool t comes before it"),
        (("--tool", "t=x", "--tool-approval", "t=maybe"), '--tool-approval: "maybe" is not a choice'),
        (("--tool", "t=x", "--tool-result", "t=xml"), '--tool-result: "xml" is not a choice'),
        (("--tool", "t=x", "--tool-schema", "t=/nonexistent"), "/nonexistent"),
        (("--tool",), "--tool requires a value: NAME=COMMAND"),
    ],
)
def test_malformed_tool_flags_are_errors(any_remit, flags, words):
    done = any_remit("run", *flags, *(() if flags == ("--tool",) else ("-c", "1")))
    assert done.returncode == 2 and words in done.stderr, done


def test_approval_is_requested_at_terminal(remit):
    code = r"""
print("printed before")
for text in "a\x1b[2J\u202eb\nremit: fake", "b" * 5000, "c", "d":
    try: print(len(t(text=text)), flush=True)
    except ToolError as e: print(e, flush=True)
"""
    terminal = Terminal(remit, "--tool", "t=cat", "--tool-approval", "t=always", "-c", code)
    first = terminal.until("[n] ")
    assert first.index("printed before") < first.index("remit: the program")
    assert 'remit: the program calls the tool "t" with {"text": "a\\u001b[2J\\u202eb\\nremit: fake"}' in first, first
    assert "o: once, r: for this run, n: no" in first
    terminal.type("n\n")
    second = terminal.until("[n] ")
    assert "t: the call was not allowed" in second and len(second) < 1500, second
    terminal.type("what?\n")
    terminal.until("[n] ")
    terminal.type("o\n")
    assert "5000" in terminal.until("[n] ")
    terminal.type("r\n")
    _, rest = terminal.end()
    assert "1\n1\n" in rest and "[n]" not in rest, rest


def test_approval_without_terminal_is_denied(any_remit):
    done = any_remit("run", "--tool", "t=cat", "--tool-approval", "t=first", "-c", "t()", start_new_session=True)
    assert "remit: denied, since no terminal can show the question" in done.stderr and "ToolError" in done.stderr, done


def test_audit_has_tool_calls(any_remit):
    path = any_remit.folder / f"audit-{os.getpid()}"
    any_remit("run", "--audit", path, "--tool", "t=cat", "-c", "t(secret='x')")
    line = json.loads(path.read_text())
    assert line["calls"] == [{"tool": "t", "bytes": 15, "outcome": "ok", "arguments": {"secret": "x"}}]
