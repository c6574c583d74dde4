# id: BR2
# field: timeout
# kept-by: timer
# judge: status
# status: ok exit error killed
# control: no the parser of frames is not a mechanism of the policy table and cannot be left out
# expect: code that runs cannot claim that a lock-down step failed

os.write(3, frame("REPORT", struct.pack("IiI", 3, errno.EPERM, 0)))
contained("a failed step was reported")
