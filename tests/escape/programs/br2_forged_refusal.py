# id: BR2
# field: timeout
# kept-by: timer
# judge: status
# status: ok exit error killed
# control: no the reader of frames is no mechanism of the table and cannot be left out
# expect: nor can a failed lock-down

os.write(3, frame("REPORT", struct.pack("IiI", 3, errno.EPERM, 0)))
contained("a failed step was reported")
