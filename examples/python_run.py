"""The Python package in a few lines."""

import remit

result = remit.run("print(sum(range(10)))", timeout=5)
print(result.status, result.stdout, end="")

result = remit.run("import socket; socket.socket()")
print(result.status, result.error.name)
for denial in result.denials:
    print(denial.what, "needs", denial.field)
