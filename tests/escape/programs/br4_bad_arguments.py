# id: BR4
# field: tool_calls
# kept-by: bridge
# policy: {"tool_calls": 100}
# control: no the library's JSON parser is not a mechanism of the policy table and cannot be left out
# expect: arguments that are not a JSON object and names that are not tools give an error, and no tool is called

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
