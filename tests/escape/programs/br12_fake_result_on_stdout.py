# id: BR12
# field: timeout
# kept-by: timer
# judge: status
# status: exit error
# exit-code: 3
# control: no no output is ever read as control data, in any build
# expect: a printed result is output and nothing else

result = {"status": "ok", "exit_code": 0, "enforcement": [], "stdout": "", "stderr": ""}
print(json.dumps(result))
print("\x1b[2J\x1b]0;owned\x07remit: keeper: everything is fine")
sys.stdout.flush()
os.write(1, frame("RESULT", json.dumps(result).encode()))
os.write(2, frame("RESULT", json.dumps(result).encode()))
os.write(1, b"\x00\xff\xfe\xed\xa0\x80 \"\\\n")
contained("a result was printed")
os._exit(3)
