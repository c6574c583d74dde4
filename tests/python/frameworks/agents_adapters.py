"""The tools for LangChain, pydantic-ai and the OpenAI Agents SDK, each with the real package."""

from __future__ import annotations

import asyncio
import json

import pytest
import remit

REFUSED = "import socket\ntry: socket.socket()\nexcept OSError: print('no network')"


# ---- LangChain ----


def test_langchain():
    from langchain_core.messages import ToolMessage
    from remit.compat.langchain import python_tool

    tool = python_tool(timeout=60, env={"A": "b"})
    assert tool.name == "python" and list(tool.args) == ["code"] and "fresh process" in tool.description
    assert tool.invoke({"code": "import os; print(os.environ['A'])"}) == "b"
    call = {"type": "tool_call", "id": "1", "name": "python", "args": {"code": "1 / 0"}}
    message = tool.invoke(call)
    assert isinstance(message, ToolMessage) and "ZeroDivisionError" in message.content
    assert isinstance(message.artifact, remit.Result) and message.artifact.status == "error"
    assert asyncio.run(tool.ainvoke({"code": REFUSED})).startswith("no network\n[denied: socket(")
    assert tool.invoke({"code": "x = 1"}) == "(the program printed nothing)"
    assert python_tool(timeout=1).invoke({"code": "while True: pass"}) == "[timeout]"
    with pytest.raises(remit.PolicyError, match="memory=-1"):
        python_tool(memory=-1)
    with pytest.raises(remit.Unenforceable):
        python_tool(tier="vm").invoke({"code": "print(1)"})


# ---- pydantic-ai ----


def test_pydantic_ai():
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from remit.compat.pydantic_ai import python_toolset

    seen = []

    def model(messages, info):
        """Calls the tool once, and repeats its result."""
        if not seen:
            (definition,) = info.function_tools
            seen.append(definition)
            return ModelResponse(parts=[ToolCallPart("python", {"code": "print(6 * 7)"})])
        return ModelResponse(parts=[TextPart(str(messages[-1].parts[0].content))])

    agent = Agent(FunctionModel(model), toolsets=[python_toolset(timeout=60)])
    assert agent.run_sync("go").output == "42"
    assert seen[0].name == "python" and list(seen[0].parameters_json_schema["properties"]) == ["code"]
    assert "fresh process" in seen[0].description


# ---- the OpenAI Agents SDK ----


def test_openai_agents():
    from agents import FunctionTool
    from agents.tool_context import ToolContext
    from remit.compat.openai_agents import python_tool

    tool = python_tool(timeout=60)
    assert isinstance(tool, FunctionTool) and tool.name == "python" and "fresh process" in tool.description
    assert tool.params_json_schema["required"] == ["code"]

    def invoke(code, tool=tool):
        arguments = json.dumps({"code": code})
        context = ToolContext(context=None, tool_name="python", tool_call_id="1", tool_arguments=arguments)
        return asyncio.run(tool.on_invoke_tool(context, arguments))

    assert invoke("print(6 * 7)") == "42"
    assert invoke(REFUSED).startswith("no network\n[denied: socket(")
    with pytest.raises(remit.Unenforceable):
        invoke("print(1)", python_tool(tier="vm"))
