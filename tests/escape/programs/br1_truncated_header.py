# id: BR1
# field: timeout
# kept-by: timer
# judge: status
# status: ok killed error exit
# control: no the reader of frames is no mechanism of the table and cannot be left out
# expect: half a header and then the end of the program: the run ends as usual

os.write(3, b"\x10\x00\x00")
contained("half a header was sent")
