"""remit.compat.smolagents with the real smolagents: the executor alone, and in a CodeAgent."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import gc
import os
import pathlib
import time
import weakref

import pytest
import remit
from remit.compat import _typed
from remit.compat.smolagents import RemitPythonExecutor
from smolagents import ChatMessage, CodeAgent, FinalAnswerTool, Model, Tool, tool
from smolagents.local_python_executor import (
    CodeOutput,
    ExecutionTimeoutError,
    InterpreterError,
    LocalPythonExecutor,
    check_import_authorized,
    fix_final_answer_code,
)


@pytest.fixture
def executor():
    one = RemitPythonExecutor(["numpy"], timeout_seconds=60)
    one.send_tools({"final_answer": FinalAnswerTool()})
    yield one
    one.cleanup()


# ---- state, output and logs ----


def test_state_persists_from_step_to_step(executor):
    assert executor("import numpy as np; a = 2") == CodeOutput(2, "", False)
    assert executor("def double(x): return x * 2\nprint('hello')\ndouble(a)") == CodeOutput(4, "hello\n", False)
    assert executor("np.int64(a) + 1") == CodeOutput(3, "", False)


@pytest.mark.parametrize(
    "expression, output",
    [
        ("'text'", "text"), ("[1, {'a': None}]", [1, {"a": None}]), ("(1, [2])", (1, [2])), ("{3}", {3}), ("None", None),
        ("1.5", 1.5), ("object.__name__", "object"), ("type('C', (), {'__repr__': lambda s: 'mine'})()", "mine"),
        ("{1: b'x', (2,): 1j}", {1: b"x", (2,): 1j}), ("[object]", "[<class 'object'>]"),
        ("{'__type__': 'tuple', 'data': [1]}", {"__type__": "tuple", "data": [1]}), ("", None), ("pass", None),
    ],
)  # fmt: skip
def test_last_expression_is_the_output(executor, expression, output):
    found = executor(expression).output
    assert (found, type(found)) == (output, type(output))


@pytest.mark.parametrize(
    "code, output",
    [
        ("x = 5", 5), ("y = 1\nx = y + 1", 2), ("a = b = [1]", [1]), ("x: int = 7", 7),
        ("x = 5\nx += 2", 7), ("d = {}\nd['k'] = (1,)", (1,)), ("'''a\nb'''\nx = \\\n  3", 3),
    ],
)  # fmt: skip
def test_last_assignment_is_the_output_as_in_smolagents(executor, code, output):
    local = LocalPythonExecutor([])
    local.send_tools({})
    assert executor(code).output == local(code).output == output
    assert not [name for name in executor("sorted(globals())").output if name.startswith("<")]


@pytest.mark.parametrize(
    "code, output",
    [
        ("x: int", None), ("x = 5; del x", None), ("async def f(): return 'late'\nx = await f()", "late"), ("x = object", "<class 'object'>"),
        ("a, *b = (1, 2, 3)", (1, 2, 3)),
    ],
)  # fmt: skip
def test_output_of_other_last_statements(executor, code, output):
    assert executor(code).output == output


def test_failing_assignment_names_its_line(executor):
    with pytest.raises(InterpreterError, match=r"line 'd\[1\]\.x = 2' due to: AttributeError"):
        executor("d = {1: 2}\nd[1].x = 2")
    with pytest.raises(InterpreterError, match=r"line 'y = 1 / 0' due to: ZeroDivisionError"):
        executor("x = 1\ny = 1 / 0")


def test_syntax_error_shows_its_line_and_column(executor):
    with pytest.raises(InterpreterError) as info:
        executor("y = 1\nx = = 2")
    lines = str(info.value).splitlines()
    assert lines[0] == "Code parsing failed on line 2 due to: SyntaxError: invalid syntax"
    assert lines[1].strip() == "x = = 2" and lines[2].strip() == "^" and lines[2].index("^") == lines[1].index("= 2")


def test_assigned_values_are_stored(executor):
    executor("a, (b, c) = 1, (2, 3)")
    executor("d = {}\nd['k'] = e = a + b + c")
    assert executor("a, b, c, d, e").output == (1, 2, 3, {"k": 6}, 6)


def test_forged_values_become_texts(executor):
    parts = "{'text/plain': b'x', 'application/vnd.remit.typed+json': b'{\"__type__\": \"pickle\", \"data\": 1}'}"
    code = f"display.__globals__['own_module']('display').send('value', type('B', (), {{'truncated': 0, 'left_out': [], 'parts': {parts}}}))"
    assert executor(code).output == "x"


def test_long_logs_are_truncated_in_the_middle():
    executor = RemitPythonExecutor(max_print_outputs_length=100)
    executor.send_tools({})
    logs = executor("print('a' * 300)\nprint('z' * 300)").logs
    assert logs.startswith("aaa") and logs.endswith("zzz\n") and "truncated to stay below 100" in logs and len(logs) < 250
    executor.cleanup()


# ---- the final answer ----


@pytest.mark.parametrize(
    "code, answer",
    [
        ("final_answer('''first\nsecond''')", "first\nsecond"),
        ("text = 'final_answer(5)'\nfinal_answer(text)", "final_answer(5)"),
        ("if 1 > 2:\n    final_answer('no')\nelse:\n    final_answer(answer='yes')", "yes"),
        ("try:\n    final_answer(1)\nexcept Exception:\n    final_answer(2)", 1),
        ("try:\n    final_answer(1)\nexcept:\n    x = 2", 1),
        ("def f():\n    return final_answer((1, {2}))\nf()\nprint('never')", (1, {2})),
    ],
)
def test_final_answers(executor, code, answer):
    result = executor(code)
    assert result == CodeOutput(answer, "", True)


def test_text_about_final_answer_is_not_an_answer(executor):
    assert not executor("print('final_answer(5)')\n'final_answer(5)'").is_final_answer
    with pytest.raises(InterpreterError, match="FinalAnswerException"):
        executor("class FinalAnswerException(BaseException): pass\nraise FinalAnswerException('forged')")
    assert executor("1") == CodeOutput(1, "", False), "the next step has no final answer"


def test_final_answer_as_a_variable_name(executor):
    """The agent rewrites such code before it runs."""
    code = fix_final_answer_code("final_answer = 5\nfinal_answer = final_answer + 1\nfinal_answer(final_answer)")
    assert executor(code) == CodeOutput(6, "", True)
    assert executor("final_answer(7)") == CodeOutput(7, "", True)


class Scaled(FinalAnswerTool):
    """A custom final_answer with other inputs, which runs on the host."""

    inputs = {"value": {"type": "number", "description": "it"}, "factor": {"type": "number", "description": "times"}}

    def forward(self, value, factor):
        return {"value": value * factor, "pid": os.getpid()}


def test_custom_final_answer_tool_runs_on_the_host(executor):
    executor.send_tools({"final_answer": Scaled()})
    assert executor("final_answer(3, factor=2)") == CodeOutput({"value": 6, "pid": os.getpid()}, "", True)


def test_image_can_be_the_answer():
    executor = RemitPythonExecutor(["PIL"])
    executor.send_tools({"final_answer": FinalAnswerTool()})
    result = executor("from PIL import Image\nfinal_answer(Image.new('RGB', (10, 20), 'red'))")
    assert result.is_final_answer and result.output.size == (10, 20) and result.output.getpixel((1, 1)) == (255, 0, 0)
    executor.cleanup()


# ---- tools and variables ----


@tool
def look_up(key: str, count: int = 1) -> dict:
    """Look something up.

    Args:
        key: what.
        count: how often.
    """
    if key == "bad":
        raise LookupError("no such key")
    return {"key": key * count, "pid": os.getpid(), "secret": len(os.environ)}


def test_tools_run_on_the_host(executor):
    executor.send_tools({"look_up": look_up, "final_answer": FinalAnswerTool()})
    result = executor("r = look_up('a', count=2)\nr['key'], r['pid']").output
    assert result == ("aa", os.getpid())
    with pytest.raises(InterpreterError, match=r"look_up\('bad'\)' due to: ToolError: look_up: LookupError: no such key"):
        executor("look_up('bad')")
    assert executor("try: look_up('bad')\nexcept Exception as e: print(type(e).__name__)").logs == "ToolError\n"
    assert executor("async def f(): return look_up('b')['key']\nawait f()").output == "b", "tools are plain functions, also in async code"
    with pytest.raises(InterpreterError, match="a value of the type function cannot be passed"):
        executor("look_up(lambda: 1)")


def test_tools_can_change_while_the_state_persists(executor):
    executor("kept = 1\nfinal_answer = None")
    executor.send_tools({"look_up": look_up, "final_answer": FinalAnswerTool()})
    executor.send_tools({"look_up": look_up, "final_answer": FinalAnswerTool()})
    assert executor("final_answer([kept, look_up('x')['key']])") == CodeOutput([1, "x"], "", True)


def test_additional_functions_run_on_the_host():
    executor = RemitPythonExecutor(additional_functions={"pid": os.getpid})
    executor.send_tools({})
    assert executor("pid()").output == os.getpid()
    executor.cleanup()


@dataclasses.dataclass
class Point:
    x: int


VALUES = {
    "t": (1, [2]), "s": {1, 2}, "f": frozenset({3}), "b": b"\0\xff", "c": 1 + 2j, "d": decimal.Decimal("1.10"),
    "when": datetime.datetime(2026, 1, 2, 3, 4, 5), "day": datetime.date(2026, 1, 2), "long": datetime.timedelta(days=2),
    "p": pathlib.Path("/a/b"), "k": {1: "a", (2, 3): "b"}, "odd": {"__type__": "tuple", "data": [1]}, "n": None, "at": datetime.time(1, 2),
}  # fmt: skip


def test_variables_keep_their_types(executor):
    executor.send_variables({})
    executor.send_variables({**VALUES, "point": Point(3)})
    for name, value in VALUES.items():
        assert executor(f"final_answer({name})").output == value, name
        assert executor(f"type({name}).__name__").output == type(value).__name__
    assert executor("point['x']").output == 3
    for wrong in (lambda: 1, object(), open(os.devnull)):
        with pytest.raises(TypeError, match="cannot be passed"):
            executor.send_variables({"w": wrong})
    executor.send_variables({"t": "again"})
    assert executor("t").output == "again", "a refused variable does not block later ones"


def test_arrays_pass_both_ways(executor):
    import numpy

    executor.send_variables({"m": numpy.eye(2)})
    result = executor("import numpy\nfinal_answer(m * numpy.float64(2))").output
    assert isinstance(result, numpy.ndarray) and result.tolist() == [[2.0, 0.0], [0.0, 2.0]]


def test_values_from_the_code_become_plain_data_only():
    """The texts are forged, as hostile code could send them over the bridge."""
    for text in (
        '{"__type__": "pickle", "data": "gASVAAAAAAAA"}', '{"__type__": "ndarray", "data": [["a"], "U1000000000"]}',
        '{"__type__": "ndarray", "data": [[0], "V100000000000"]}', '{"__type__": "ndarray", "data": [[0], "O"]}',
        '{"__type__": "image", "data": "R0lGODlhAQABAAAAACw="}', '{"__type__": "set", "data": [{}]}', "[" * 100_000, '{"__type__": []}',
    ):  # fmt: skip
        with pytest.raises(Exception):
            _typed.loads(text)
    with pytest.raises(_typed.CannotPass, match="cannot be passed"):
        _typed.dumps(os)


def test_bridge_rejects_other_calls(executor):
    for given in ("smolagents_bridge(tool='os.system', given='[[], {}]')", "smolagents_bridge(tool='final_answer', given='{')", "smolagents_bridge(tool=1, given=2)"):
        with pytest.raises(InterpreterError, match="ToolError"):
            executor(given)
    assert executor("1").output == 1


# ---- imports ----

AUTHORIZED = [
    ("os", ["os.path"]), ("os.path", ["os"]), ("numpy.random", ["numpy"]), ("numpy.random", ["numpy.*"]), ("numpy", ["numpy.*"]),
    ("numpy.random", ["*"]), ("queue", []), ("json", ["json.decoder"]), ("json.encoder", ["json.decoder"]), ("os", ["posixpath"]),
]  # fmt: skip


@pytest.mark.parametrize("path, authorized", AUTHORIZED)
def test_authorized_imports_match_smolagents(path, authorized):
    executor = RemitPythonExecutor(authorized)
    executor.send_tools({})
    wanted = check_import_authorized(path, executor.authorized_imports)
    if wanted:
        executor(f"import {path}")
    else:
        with pytest.raises(InterpreterError, match=f"Import of {path} is not allowed. Authorized imports are"):
            executor(f"print('before')\nimport {path}")
        assert executor.state["_print_outputs"] == "before\n"
    executor.cleanup()


def test_missing_authorized_modules_are_named_by_the_constructor():
    for kind in (RemitPythonExecutor, LocalPythonExecutor):
        with pytest.raises(InterpreterError, match="Non-installed authorized modules: not_there"):
            kind(["not_there.sub"])
    with pytest.raises(TypeError, match="a list of texts"):
        RemitPythonExecutor("numpy")


# ---- failures ----


def test_errors_name_the_line_and_the_reason(executor):
    with pytest.raises(InterpreterError, match="Code execution failed at line 'y = 1 / x' due to: ZeroDivisionError: division by zero"):
        executor("x = 0\ny = 1 / x")
    with pytest.raises(InterpreterError, match=r"Code parsing failed on line 2 due to: SyntaxError"):
        executor("x = 1\ny = (")
    assert executor("x").output == 0, "the state persists after an error"


def test_timeout_returns_promptly_and_stops_the_code():
    """The executor of smolagents returns only when the code has ended, and lets it change the state meanwhile."""
    executor = RemitPythonExecutor(timeout_seconds=4)
    executor.send_tools({})
    executor("x = 0")
    begun = time.monotonic()
    with pytest.raises(ExecutionTimeoutError, match="exceeded the maximum execution time of 4 seconds"):
        executor("import time\nprint('so far')\ntime.sleep(600)\nx = 1")
    assert time.monotonic() - begun < 30, "Remit's default timeout is 30 seconds"
    assert executor.state["_print_outputs"] == "so far\n" and executor("x").output == 0
    with pytest.raises(ExecutionTimeoutError, match="was restarted"):
        executor("while True:\n    try: time.sleep(9)\n    except BaseException: pass")
    with pytest.raises(InterpreterError, match="NameError"):
        executor("x")
    executor.cleanup()


def test_ended_jail_is_replaced(executor):
    executor.send_tools({"look_up": look_up})
    executor.send_variables({"given": (1, 2)})
    executor("own = 1")
    with pytest.raises(InterpreterError, match="(?s)exit.*variables, functions and imports of earlier steps are lost"):
        executor("__import__('os')._exit(3)")
    assert executor("look_up('a')['key'], given").output == ("a", (1, 2)), "tools and variables are sent again"
    with pytest.raises(InterpreterError, match="NameError: name 'own'"):
        executor("own")


def test_unenforceable_policy_raises_to_the_caller():
    with pytest.raises(remit.PolicyError, match="memory=-1"):
        RemitPythonExecutor(memory=-1)
    with pytest.raises(remit.Unenforceable):
        RemitPythonExecutor(tier="vm").send_tools({})
    executor = RemitPythonExecutor(policy={"memory_bytes": "300M"}, env={"A": "b"})
    executor.send_tools({})
    assert executor("__import__('os').environ['A']").output == "b"
    rows = {row.field: row.value for row in executor.result.enforcement}
    assert rows["memory_bytes"] == 300 << 20 and rows["timeout"] == 30
    executor.cleanup()


# Attacks that an evaluator of syntax trees must recognise by their form. Here they may run, but reach nothing.
ESCAPES = [
    "__import__('sys').modules['os'].system('echo escaped')",
    "random._os.system('echo escaped')",
    "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen' or c.__name__ == '_wrap_close'][0].__init__.__globals__['system']('echo escaped')",
    "'{0.__class__.__init__.__globals__}'.format(random) + str(__import__('os').environ['HOST_SECRET'])",
    "list(map(getattr, [random], ['_os']))[0].system('echo escaped')",
    "__import__('functools').partial(getattr, random, '_os')().fork()",
    "(lambda: (yield))().gi_frame.f_builtins['open']('/etc/shadow').read()",
    "__builtins__.open('/etc/fstab').read()",
    "__import__('ctypes').CDLL(None).system(b'echo escaped >&2')",
    "__import__('socket').create_connection(('127.0.0.1', 22))",
]


@pytest.mark.parametrize("attempt", ESCAPES)
def test_syntax_tree_escapes_do_not_escape_the_jail(attempt, monkeypatch):
    monkeypatch.setenv("HOST_SECRET", "x")
    executor = RemitPythonExecutor(["*"])
    executor.send_tools({})
    executor("import random")
    try:
        result = executor(attempt)
    except (InterpreterError, ExecutionTimeoutError):
        result = executor("None")
    # None if something could not be opened or found; -1 or the code of a missing shell if it could not be started.
    assert result.logs == "" and result.output in (None, -1, 127 << 8), result
    executor.cleanup()


def test_executor_leaves_nothing():
    executor = RemitPythonExecutor()
    executor.send_tools({"look_up": look_up})
    executor("x = 1")
    sandbox = weakref.ref(executor._sandbox)
    del executor
    gc.collect()
    assert sandbox() is None, "the sandbox is collected with its executor"
    executor = RemitPythonExecutor()
    executor.send_tools({})
    executor.cleanup()
    executor.cleanup()
    assert executor("1").output == 1, "a new jail starts when it is needed"
    executor.cleanup()


# ---- in an agent ----


class Scripted(Model):
    """A model that returns one program after the other, and records its prompts."""

    def __init__(self, *codes: str):
        super().__init__(model_id="scripted")
        self.codes = list(codes)
        self.prompts: list[str] = []

    def generate(self, messages, stop_sequences=None, response_format=None, tools_to_call_from=None, **kwargs):
        self.prompts.append(str(messages[-1].content))
        return ChatMessage(role="assistant", content=f"Thought: go on.\n<code>\n{self.codes.pop(0)}\n</code>")


def test_code_agent_runs_its_steps():
    model = Scripted(
        "import os",
        "values = [len(word) for word in words]\nprint(values)",
        "1 / 0",
        "final_answer({'sum': sum(values), 'looked': look_up('k')['key'], 'bonus': bonus})",
    )
    executor = RemitPythonExecutor(timeout_seconds=60)
    with CodeAgent([look_up], model, executor=executor, max_steps=6, verbosity_level=0) as agent:
        result = agent.run("go", additional_args={"words": ["a", "bcd"], "bonus": (1, 2)})
        assert result == {"sum": 4, "looked": "k", "bonus": (1, 2)}
        assert "Import of os is not allowed" in model.prompts[1]
        assert "Execution logs:\\n[1, 3]\\nLast output from code snippet:\\nNone" in model.prompts[2]
        assert "ZeroDivisionError: division by zero" in model.prompts[3]
        model.codes = ["final_answer(values + [bonus[0]])"]
        assert agent.run("and again", reset=False) == [1, 3, 1], "the state persists after a run"
    assert executor._sandbox is None, "the agent cleans up"


def test_managed_agent_is_called_on_the_host():
    inner_model = Scripted("final_answer(21)")
    inner = CodeAgent([], inner_model, executor=RemitPythonExecutor(), name="helper", description="Helps.", verbosity_level=0, max_steps=3)
    outer_model = Scripted("said = helper(task='a number')\nprint(said)", "final_answer('21' in said)")
    with inner, CodeAgent([], outer_model, executor=RemitPythonExecutor(), managed_agents=[inner], verbosity_level=0, max_steps=3) as outer:
        assert outer.run("go") is True


class Stateful(Tool):
    """A tool that cannot be sent anywhere as source."""

    name = "counter"
    description = "Counts."
    inputs = {}
    output_type = "integer"

    def __init__(self, begin):
        super().__init__()
        self.count, self.handle = begin, open(os.devnull)

    def forward(self):
        self.count += 1
        return self.count


def test_stateful_tool_keeps_its_state():
    model = Scripted("a = counter()", "final_answer([a, counter()])")
    with CodeAgent([Stateful(5)], model, executor=RemitPythonExecutor(), verbosity_level=0, max_steps=3) as agent:
        assert agent.run("go") == [6, 7]
