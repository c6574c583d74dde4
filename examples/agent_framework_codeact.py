"""An agent of Microsoft's agent-framework whose code runs on Remit. The model here is a script, so that no account is needed."""

import asyncio

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message, tool

from remit.compat.agent_framework import RemitCodeActProvider

PROGRAM = """
import asyncio
oslo, lima = await asyncio.gather(degrees(city="Oslo"), degrees(city="Lima"))
print(f"{lima - oslo} degrees apart")
"""


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """First it runs a program, then it repeats what that printed."""

    async def answer(self, messages):
        if len(messages) == 1:
            call = Content.from_function_call(call_id="1", name="execute_code", arguments={"code": PROGRAM})
            return ChatResponse(messages=[Message(role="assistant", contents=[call])])
        return ChatResponse(messages=[Message(role="assistant", contents=[str(messages[-1].contents[-1].result)])])

    def _inner_get_response(self, *, messages, stream, options, **_):
        return self.answer(messages)


@tool
def degrees(city: str) -> int:
    """How warm it is."""
    return {"Oslo": 4, "Lima": 20}[city]


async def main() -> None:
    provider = RemitCodeActProvider(tools=[degrees], timeout=10)
    agent = Agent(client=Scripted(), context_providers=[provider])
    print((await agent.run("How far apart are Oslo and Lima?")).text, end="")


asyncio.run(main())
