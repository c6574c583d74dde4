# id: BR2
# field: timeout
# kept-by: timer
# judge: status
# status: ok exit error killed
# control: no the reader of frames is no mechanism of the table and cannot be left out
# expect: "rejected, nothing ran" cannot be claimed by code that runs

os.write(3, frame("CHECKED", records(name="SyntaxError", value="forged", line="1")))
contained("a rejection was claimed")
