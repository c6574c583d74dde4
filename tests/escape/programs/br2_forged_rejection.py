# id: BR2
# field: timeout
# kept-by: timer
# judge: status
# status: ok exit error killed
# control: no the parser of frames is not a mechanism of the policy table and cannot be left out
# expect: code that runs cannot claim "rejected, nothing ran"

os.write(3, frame("CHECKED", records(name="SyntaxError", value="forged", line="1")))
contained("a rejection was claimed")
