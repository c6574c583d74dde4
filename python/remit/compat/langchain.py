"""A LangChain tool that runs Python on Remit.

    from remit.compat.langchain import python_tool
    tool = python_tool(timeout=10, read=["data"])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Tuple

from langchain_core.tools import StructuredTool

from .._policy import Policy
from .._result import Result
from ._tool import DESCRIPTION, answer, run, run_async

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._fields import PolicyFields
    from .._policy import PolicyLike


def python_tool(
    policy: PolicyLike = None, *, name: str = "python", description: str = DESCRIPTION, **fields: Unpack[PolicyFields]
) -> Any:
    """Create a StructuredTool with one argument, `code`. The model gets the text; the artifact of the message is the
    Result."""
    made = Policy(policy, **fields)

    def run_python(code: str) -> Tuple[str, Result]:
        result = run(code, made)
        return answer(result), result

    async def run_python_async(code: str) -> Tuple[str, Result]:
        result = await run_async(code, made)
        return answer(result), result

    return StructuredTool.from_function(
        func=run_python, coroutine=run_python_async, name=name, description=description,
        response_format="content_and_artifact",
    )  # fmt: skip
