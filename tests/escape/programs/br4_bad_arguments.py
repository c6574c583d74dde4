# id: BR4
# field: tool_calls
# kept-by: bridge
# policy: {"tool_calls": 100}
# control: no the library's parser is no mechanism of the table and cannot be left out
# expect: what is no JSON object, and who is no tool, is an error and nothing is called

cases = [
    b"", b"{", b"[]", b"null", b"{} {}", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1, "a": 2}', b'{"a": "\\ud800"}',
    b'{"a": "\xff"}', b"\xef\xbb\xbf{}", b"[" * 100_000, b'{"a":' * 100_000, b'{"a": 1e999}', b'{"a": %s}' % (b"9" * 400), b"\0",
    b"__reduce__", b'{"a": 1,}',
]
number = 0
for case in cases[1:]:
    number += 1
    os.write(3, call_frames(number, "echo", case))
    outcome, text = read_reply()
    (went_through if outcome == "ok" else refused)(repr(case[:20]), text[:80])
for name in ("nothing", "", "echo ", "ECHO", "x" * 300, "../echo", "echo;id"):
    number += 1
    os.write(3, call_frames(number, name, b"{}"))
    outcome, text = read_reply()
    (went_through if outcome == "ok" else refused)(name[:20], text[:80])
report_outcome()
