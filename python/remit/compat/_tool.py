"""Shared by the tools of all frameworks: one argument, `code`, and a text for the model as answer."""

from __future__ import annotations

from .._connection import submit_shared
from .._job import Job
from .._policy import Policy
from .._result import Result

DESCRIPTION = (
    "Run a Python program and get its output. Each call runs in a fresh process: nothing is kept between calls. "
    "Print what you want to see. Without permission the program has no network, no files of the host and no other "
    "programs; the output lists what was denied."
)
EMPTY = "(the program printed nothing)"


def job(code: str, policy: Policy) -> Job:
    return Job(code, policy=policy)


def run(code: str, policy: Policy) -> Result:
    """Run one program. A policy that cannot be enforced raises, since the model cannot do anything about it."""
    return submit_shared(job(code, policy))


async def run_async(code: str, policy: Policy) -> Result:
    from .._aio import submit_async

    return await submit_async(submit_shared, job(code, policy))


def time_allowed(policy: Policy) -> str:
    """The timeout of a policy as text."""
    timeout = policy["timeout"]
    return timeout if isinstance(timeout, str) else f"{timeout:g} seconds"


def answer(result: Result) -> str:
    """The text for the model."""
    return str(result) or EMPTY
