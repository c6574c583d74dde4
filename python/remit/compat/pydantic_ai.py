"""A toolset for pydantic-ai that runs Python on Remit.

    from remit.compat.pydantic_ai import python_toolset
    agent = Agent(model, toolsets=[python_toolset(timeout=10)])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.toolsets import FunctionToolset

from .._policy import Policy
from ._tool import DESCRIPTION, answer, run_async

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._fields import PolicyFields
    from .._policy import PolicyLike


def python_toolset(
    policy: PolicyLike = None, *, name: str = "python", description: str = DESCRIPTION, **fields: Unpack[PolicyFields]
) -> Any:
    """Create a FunctionToolset with one tool, whose only argument is `code`."""
    made = Policy(policy, **fields)

    async def run_python(code: str) -> str:
        return answer(await run_async(code, made))

    toolset: Any = FunctionToolset()
    toolset.add_function(run_python, name=name, description=description)
    return toolset
