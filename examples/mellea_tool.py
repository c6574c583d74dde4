"""A Python tool for mellea whose code runs on Remit."""

from remit.compat.mellea import python_tool

tool = python_tool()  # the same arguments as mellea's; the default tier is the safe one
print(tool.as_json_tool["function"]["name"])

result = tool.run(code="print(sum(range(10)))")
print(result.stdout, result.execution_mode)

result = tool.run(code="import socket; socket.socket()")
print(result.success, result.stderr.splitlines()[-1])
print([row.field for row in result.remit.enforcement if row.strength == "enforced"][:4])
