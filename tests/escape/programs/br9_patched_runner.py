# id: BR9
# field: tool_calls
# kept-by: bridge
# policy: {"tool_calls": 3}
# expect: changes that the program makes to the runner in its process have no effect outside

import gc

echo(n=0)

for thing in gc.get_objects():
    if type(thing).__name__ == "Bridge":
        thing.concurrency = 10**9
        thing.encode = lambda arguments: '{"n": 1}'
        thing.pid = os.getpid()
ToolError.__init__ = lambda self, *what: None
calls = 1
for n in range(8):
    try:
        echo(n=n)
        calls += 1
    except ToolError:
        refused("call %d" % n, "refused")
if calls > 3:
    went_through("tool_calls", "%d calls" % calls)
report_outcome()
