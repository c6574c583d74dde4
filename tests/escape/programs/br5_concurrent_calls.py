# id: BR5
# field: tool_concurrency
# kept-by: bridge
# policy: {"tool_concurrency": 2}
# expect: of many concurrent calls, no more than the limit are passed on

os.write(3, b"".join(call_frames(n, "slow", b'{"text": "x"}') for n in range(1, 11)))
outcomes = [read_reply() for _ in range(10)]
good = [text for outcome, text in outcomes if outcome == "ok"]
for outcome, text in outcomes:
    if outcome != "ok":
        refused(outcome, text)
if len(good) > 2:
    went_through("tool_concurrency", "%d calls at once" % len(good))
report_outcome()
