"""An agent of Microsoft's agent-framework whose code runs on Remit. A script replaces the model, so
no account is needed."""

import asyncio

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message, tool

from remit.compat.agent_framework import RemitCodeActProvider

PROGRAM = """
import asyncio
oslo, lima = await asyncio.gather(degrees(city="Oslo"), degrees(city="Lima"))
print(f"{lima - oslo} degrees apart")
"""


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """First runs a program, then repeats its output."""

    async def answer(self, messages):
        if len(messages) == 1:
            call = Content.from_function_call(call_id="1", name="execute_code", arguments={"code": PROGRAM})
            return ChatResponse(messages=[Message(role="assistant", contents=[call])])
        return ChatResponse(messages=[Message(role="assistant", contents=[str(messages[-1].contents[-1].result)])])

    def _inner_get_response(self, *, messages, stream, options, **_):
        return self.answer(messages)


@tool
def degrees(city: str) -> int:
    """The temperature in a city."""
    return {"Oslo": 4, "Lima": 20}[city]


async def main() -> None:
    provider = RemitCodeActProvider(tools=[degrees], timeout=10)
    agent = Agent(client=Scripted(), context_providers=[provider])
    print((await agent.run("How far apart are Oslo and Lima?")).text, end="")


asyncio.run(main())
