# id: BR4
# field: tool_bytes
# kept-by: bridge
# policy: {"tool_bytes": 1000}
# expect: arguments and results beyond the cap are not delivered

for size in (2000, 500_000):
    try:
        if len(echo(text="x" * size)) == size:
            went_through("tool_bytes", "%d bytes, there and back" % size)
    except ToolError as e:
        refused("%d bytes" % size, e.message)
report_outcome()
