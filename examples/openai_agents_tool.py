"""A tool for the OpenAI Agents SDK whose code runs on Remit."""

import asyncio
import json

from agents import Agent
from agents.tool_context import ToolContext

from remit.compat.openai_agents import python_tool

tool = python_tool(timeout=10)
agent = Agent(name="analyst", instructions="Compute with the tool.", tools=[tool])

# Calls the tool as the runner does for a model; Runner.run(agent, ...) needs an account.
arguments = json.dumps({"code": "print(sum(range(10)))"})
context = ToolContext(context=None, tool_name=tool.name, tool_call_id="1", tool_arguments=arguments)
print(asyncio.run(tool.on_invoke_tool(context, arguments)))
