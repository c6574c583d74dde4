# id: BR1
# field: timeout
# kept-by: timer
# judge: status
# status: ok killed error exit timeout
# policy: {"timeout": 3}
# control: no the parser of frames is not a mechanism of the policy table and cannot be left out
# expect: a million frames cost the keeper no memory and no time

chunk = frame("ENDED", records(kind="ok")) * 1000
try:
    for _ in range(1000):
        os.write(3, chunk)
except OSError as e:
    refused("channel", errname(e.errno))
contained("frames were sent")
