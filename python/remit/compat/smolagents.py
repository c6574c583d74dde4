"""An executor for smolagents: the code runs on Remit, the tools on the host.

    from remit.compat.smolagents import RemitPythonExecutor
    agent = CodeAgent(tools=[...], model=model, executor=RemitPythonExecutor(["numpy"]))
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence

from smolagents.local_python_executor import (
    BASE_BUILTIN_MODULES,
    CodeOutput,
    ExecutionTimeoutError,
    InterpreterError,
    PythonExecutor,
)
from smolagents.utils import truncate_content

from .._errors import RemitError
from .._policy import Policy
from .._result import Result
from .._sandbox import Sandbox
from .._tools import Tool
from . import _typed
from ._tool import time_allowed

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._fields import PolicyFields
    from .._policy import PolicyLike

MAX_PRINT_OUTPUTS_LENGTH = 50_000
# Variables and answers may be images, and a model may take long between two steps.
DEFAULTS = Policy(tool_bytes="16M", stdin_max="64M", value_max="16M", session_idle="6h")

# In the jail, this code becomes a module, so that it adds no names to the namespace of the code.
INSIDE = "".join(Path(__file__).with_name(name).read_text() for name in ("_typed.py", "_smolagents_inside.py"))
BEGIN = """
def begin(sys, namespace):
    module = sys.modules["remit_smolagents"] = type(sys)("remit_smolagents")
    module.namespace, module.bridge = namespace, namespace["smolagents_bridge"]
    exec(compile(sys.stdin.read(), "remit_smolagents", "exec"), vars(module))
begin(__import__("sys"), globals())
del begin
"""
SET_TOOLS = "__import__('remit_smolagents').set_tools(__import__('sys').stdin.read())"
SET_VARIABLES = "__import__('remit_smolagents').set_variables(__import__('sys').stdin.read())"
# The form of a value with its type. The same name as in _smolagents_inside.py.
TYPED = "application/vnd.remit.typed+json"
GONE = "The interpreter was restarted: variables, functions and imports of earlier steps are lost."


class _Host:
    """The functions that the jail can call, and the answers of a step. It has no reference to the sandbox, so that the
    sandbox can be garbage-collected."""

    def __init__(self) -> None:
        self.functions: Dict[str, Callable[..., Any]] = {}
        self.answers: List[Any] = []

    def call(self, tool: str, given: str) -> str:
        args, kwargs = _typed.loads(given)
        if tool not in self.functions:
            raise NameError(f"no tool has the name {tool!r}")
        value = self.functions[tool](*args, **kwargs)
        # Detect the final answer here, not by an exception of the code.
        is_final = tool == "final_answer"
        if is_final:
            self.answers.append(value)
        return _typed.dumps([None if is_final else value, is_final])


class RemitPythonExecutor(PythonExecutor):
    """A PythonExecutor for CodeAgent(executor=...), which runs the code of all steps in one jail.

    Variables, functions and imports stay from step to step. Tools, managed agents and final_answer run on the host, where
    their secrets stay; values are passed as data. Unauthorized imports are refused as in smolagents; the kernel refuses
    what the policy does not allow.

    additional_authorized_imports: as in CodeAgent: "numpy", "numpy.random", "numpy.*" or "*", in addition to those of
        smolagents.
    max_print_outputs_length: the longest logs, in characters; the middle of longer ones is left out.
    additional_functions: further functions of the host that the code may call.
    timeout_seconds: the timeout of one step, not counting the time of tools; None: unlimited.
    policy, and all other keywords: what the code may do, as in remit.Sandbox().
    """

    def __init__(
        self,
        additional_authorized_imports: Sequence[str] = (),
        max_print_outputs_length: Optional[int] = None,
        additional_functions: Optional[Mapping[str, Callable[..., Any]]] = None,
        timeout_seconds: Optional[float] = 30,
        *,
        policy: PolicyLike = None,
        **fields: Unpack[PolicyFields],
    ):
        if isinstance(additional_authorized_imports, str):
            raise TypeError("additional_authorized_imports must be a list of texts, not a single text")
        self.additional_authorized_imports = list(additional_authorized_imports)
        self.authorized_imports = sorted({*BASE_BUILTIN_MODULES, *self.additional_authorized_imports})
        self.max_print_outputs_length = max_print_outputs_length or MAX_PRINT_OUTPUTS_LENGTH
        self.additional_functions = dict(additional_functions or {})
        self.timeout_seconds = timeout_seconds
        timeout = Policy(timeout="unlimited" if timeout_seconds is None else timeout_seconds)
        self.policy = Policy({**DEFAULTS, **timeout, **Policy(policy, **fields)})
        # smolagents reads here what was printed before an error.
        self.state: Dict[str, Any] = {"__name__": "__main__", "_print_outputs": ""}
        self.result: Optional[Result] = None
        self._host = _Host()
        self._variables: Dict[str, Any] = {}
        self._sandbox: Optional[Sandbox] = None
        if "python" not in self.policy:
            self._check_imports_are_installed()

    def _check_imports_are_installed(self) -> None:
        names = {path.split(".")[0] for path in self.authorized_imports} - {"*"}
        missing = sorted(name for name in names if find_spec(name) is None)
        if missing:
            raise InterpreterError(
                f"Non-installed authorized modules: {', '.join(missing)}. Install them, or leave them out of the authorized imports."
            )

    # ---- what the agent calls ----

    def send_tools(self, tools: Mapping[str, Callable[..., Any]]) -> None:
        """Set what the code may call from now on: tools and managed agents, by name."""
        self._host.functions = {**tools, **self.additional_functions}
        if self._sandbox is None:
            self._open()
        else:
            self._send_tool_names(self._sandbox)

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Set variables of the code. Values that are not plain data, such as open files, are refused."""
        if not variables:
            return
        text = _typed.dumps(dict(variables))
        self._variables.update(variables)
        if self._sandbox is None:
            self._open()
        else:
            self._sandbox.run(SET_VARIABLES, stdin=text).check()

    def __call__(self, code_action: str) -> CodeOutput:
        """Run the code of one step. Errors are raised."""
        if self._sandbox is None:
            self._open()
        assert self._sandbox is not None
        self._host.answers.clear()
        self.state["_print_outputs"] = ""
        try:
            result = self._sandbox.run(code_action)
        except RemitError as e:
            self.cleanup()
            raise InterpreterError(f"Code execution failed due to: {e}\n{GONE}") from e
        self.result = result
        logs = truncate_content(_logs(result), self.max_print_outputs_length)
        self.state["_print_outputs"] = logs
        has_ended = result.document["session"]["state"] != "open"
        if has_ended:
            self.cleanup()
        if self._host.answers:
            return CodeOutput(output=self._host.answers[0], logs=logs, is_final_answer=True)
        if not result.ok:
            raise self._error(result, code_action, has_ended)
        return CodeOutput(output=_output(result), logs=logs, is_final_answer=False)

    def cleanup(self) -> None:
        """End the jail. The next step starts a new one."""
        if self._sandbox is not None:
            self._sandbox.drop()
        self._sandbox = None

    # ---- the jail ----

    def _open(self) -> None:
        bridge = Tool(self._host.call, name="smolagents_bridge", description="Calls a tool.")
        sandbox = Sandbox(self.policy, tools=[bridge], forkable=False)
        sandbox.run(BEGIN, stdin=INSIDE).check()
        self._send_tool_names(sandbox)
        if self._variables:
            sandbox.run(SET_VARIABLES, stdin=_typed.dumps(self._variables)).check()
        self._sandbox = sandbox

    def _send_tool_names(self, sandbox: Sandbox) -> None:
        sandbox.run(SET_TOOLS, stdin=_typed.dumps([list(self._host.functions), self.authorized_imports])).check()

    # ---- errors ----

    def _error(self, result: Result, code: str, has_ended: bool) -> Exception:
        kind = InterpreterError
        if result.status == "timeout":
            kind = ExecutionTimeoutError
            text = f"Code execution exceeded the maximum execution time of {time_allowed(self.policy)}"
        elif result.status == "error" and result.error is not None:
            text = _cause(result, code)
        else:
            text = f"Code execution failed due to: {result.headline}"
        more = [*result.advice, GONE] if has_ended else result.advice
        return kind("\n".join([text, *more]))  # type: ignore[no-any-return]


def _cause(result: Result, code: str) -> str:
    error = result.error
    assert error is not None
    lines = code.splitlines()
    line = lines[error.line - 1].strip() if error.line and error.line <= len(lines) else ""
    if error.name == "SyntaxError":
        # The line and the mark below it, as Python shows them, and then the error.
        *shown, what = error.traceback.splitlines()
        marked = [text for text in shown if text.startswith("    ")][-2:]
        return "\n".join([f"Code parsing failed on line {error.line} due to: {what}", *marked])
    return f"Code execution failed at line '{line}' due to: {error.name}: {error.value}"


def _logs(result: Result) -> str:
    """The output; on failure without stderr, since the error has the traceback."""
    return result.stdout + (result.stderr if result.ok else "")


def _output(result: Result) -> Any:
    """The value of the step with its type if it is data, else its repr."""
    value = result.value
    if value is None:
        return None
    try:
        return _typed.unpack(value.mime[TYPED])
    except Exception:  # not data, or forged by the code
        return value.text
