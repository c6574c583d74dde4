# id: BR7
# field: timeout
# kept-by: timer
# judge: status
# status: ok exit error killed
# control: no the keeper reads only bytes, in every build
# expect: descriptors sent over the channel are dropped, and the keeper does not run out of them

import socket

channel = socket.socket(fileno=os.dup(3))
null = os.open("/dev/null", os.O_RDONLY)
try:
    for _ in range(20):
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("200i", *[null] * 200))
        channel.sendmsg([b"\x00"], [rights], socket.MSG_DONTWAIT)
except OSError as e:
    refused("sendmsg", errname(e.errno))
contained("descriptors were sent")
