# id: BR4
# field: tool_calls
# kept-by: bridge
# policy: {"tool_calls": 5}
# expect: the sixth call is refused, whatever the runner in the jail believes

calls = 0
for n in range(10):
    try:
        echo(n=n)
        calls += 1
    except ToolError as e:
        refused("call %d" % n, e.message)
if calls > 5:
    went_through("tool_calls", "%d calls" % calls)
report_outcome()
