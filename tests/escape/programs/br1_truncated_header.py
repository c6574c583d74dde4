# id: BR1
# field: timeout
# kept-by: timer
# judge: status
# status: ok killed error exit
# control: no the parser of frames is not a mechanism of the policy table and cannot be left out
# expect: half a frame header before the program exits: the run ends as usual

os.write(3, b"\x10\x00\x00")
contained("half a header was sent")
