"""The mode "unsafe_in_process": this interpreter runs the code, in the agent's event loop. Use it only for debugging, never
for unreviewed code."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
import warnings
from typing import Any, Dict, List

from agent_framework import Content

from ._codeact_run import NOTHING, Setup, plain
from ._in_process import imports

WARNING = "unsafe_in_process has no wall: the code has all rights of this process"


def warn(stacklevel: int) -> None:
    warnings.warn(WARNING, UserWarning, stacklevel=stacklevel + 1)


def _namespace(setup: Setup) -> Dict[str, Any]:
    def function(tool: Any) -> Any:
        async def call(**arguments: Any) -> Any:
            return plain(await tool.invoke(arguments=arguments, skip_parsing=True))

        return call

    functions = {name: function(tool) for name, tool in setup.tools.items()}

    async def call_tool(name: str, /, **arguments: Any) -> Any:
        if name not in functions:
            raise NameError(f"no tool has the name {name!r}")
        return await functions[name](**arguments)

    return {"__name__": "__main__", "asyncio": asyncio, "call_tool": call_tool, **functions}


async def _run(code: str, namespace: Dict[str, Any]) -> Any:
    """Run the code and return the value of its last expression."""
    tree = ast.parse(code, "main.py")
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    value = None
    for part, mode in ((tree, "exec"), (last, "eval")):
        if part is not None:
            value = eval(compile(part, "main.py", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), namespace)
            value = await value if inspect.iscoroutine(value) else value
    return value


async def execute_here(setup: Setup, code: str) -> List[Any]:
    """Return the same contents as a jailed call. The timeout can only interrupt code that awaits."""
    allowed = setup.policy["allowed_imports"] if "allowed_imports" in setup.policy else None
    wrong = [name for name in imports(code) if allowed is not None and name not in allowed]
    if wrong:
        return [Content.from_error(message="Invalid code", error_code="rejected", error_details=f"imports that are not allowed: {', '.join(wrong)}")]
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            value = await asyncio.wait_for(_run(code, _namespace(setup)), setup.limits.timeout_seconds)
    except Exception as e:
        error = Content.from_error(message="Execution error", error_code="error", error_details=f"{type(e).__name__}: {e}")
        return [*_text(out.getvalue(), setup), error]
    shown = [] if value is None else [Content.from_text(json.dumps(plain(value), ensure_ascii=False))]
    return [*_text(out.getvalue(), setup), *shown] or [Content.from_text(NOTHING)]


def _text(text: str, setup: Setup) -> List[Any]:
    most = setup.limits.max_stdout_bytes
    if len(text.encode(errors="replace")) > most:
        text = text.encode(errors="replace")[:most].decode(errors="ignore") + "\n[stdout truncated]"
    return [Content.from_text(text)] if text else []
