"""A LangChain tool whose code runs on Remit. Give it to any agent: create_agent(model, tools=[tool])."""

from remit.compat.langchain import python_tool

tool = python_tool(timeout=10, memory="400M")
print(tool.invoke({"code": "print(sum(range(10)))"}))
print(tool.invoke({"code": "open('/etc/shadow')"}).splitlines()[-1])
