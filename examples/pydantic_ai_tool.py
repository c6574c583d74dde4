"""A pydantic-ai agent whose code runs on Remit. A function replaces the model, so no account is needed."""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from remit.compat.pydantic_ai import python_toolset


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """First runs a program, then repeats its output."""
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("python", {"code": "print(sum(range(10)))"})])
    return ModelResponse(parts=[TextPart(f"the answer is {messages[-1].parts[0].content}")])


agent = Agent(FunctionModel(model), toolsets=[python_toolset(timeout=10)])
print(agent.run_sync("What is the sum of the numbers below ten?").output)
