# id: NET10
# field: network_access
# kept-by: seccomp
# control: no the keeper has no frame that carries a descriptor, and no build adds one
# expect: no descriptor arrives over the channel

import socket

channel = socket.socket(fileno=os.dup(3))
channel.setblocking(False)
try:
    data, extra, flags, peer = channel.recvmsg(4096, socket.CMSG_SPACE(64 * 4))
except OSError as e:
    refused("recvmsg", errname(e.errno))
else:
    if extra:
        went_through("recvmsg", "%d control messages" % len(extra))
    else:
        refused("recvmsg", "%d bytes, no descriptor" % len(data))
peer = channel.getpeername()
refused("peer", repr(peer))
# The channel is a socket: it must not lead to other peers either.
for call in ("connect", "bind", "listen"):
    reach(call, call, 3, BAD, 2)
report_outcome()
