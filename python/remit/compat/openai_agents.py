"""A function tool for the OpenAI Agents SDK that runs Python on Remit.

    from remit.compat.openai_agents import python_tool
    agent = Agent(name="analyst", tools=[python_tool(timeout=10)])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents import function_tool

from .._policy import Policy
from ._tool import DESCRIPTION, answer, run_async

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._fields import PolicyFields
    from .._policy import PolicyLike


def python_tool(
    policy: PolicyLike = None, *, name: str = "python", description: str = DESCRIPTION, **fields: Unpack[PolicyFields]
) -> Any:
    """Create a FunctionTool with one argument, `code`. A policy that cannot be enforced raises, instead of answering the
    model."""
    made = Policy(policy, **fields)

    async def run_python(code: str) -> str:
        return answer(await run_async(code, made))

    return function_tool(
        run_python, name_override=name, description_override=description, use_docstring_info=False,
        failure_error_function=None,
    )  # fmt: skip
