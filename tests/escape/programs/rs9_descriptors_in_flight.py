# id: RS9
# field: open_files
# kept-by: rlimit_nofile
# policy: {"open_files": 64}
# leaves-out: seccomp rlimit_nofile
# expect: descriptors that a program sends to itself and never receives are bounded by the same limit

import socket

sent = 0
null = os.open("/dev/null", os.O_RDONLY)
pairs = []
try:
    while sent < 600:
        pairs.append(socket.socketpair())
        for _ in range(8):
            pairs[-1][0].sendmsg([b"x"], [(1, 1, struct.pack("8i", *[null] * 8))])
            sent += 8
except OSError as e:
    refused("in flight", "%s after %d" % (errname(e.errno), sent))
if sent > 256:
    went_through("in flight", "%d with a limit of 64" % sent)
for a, b in pairs:
    a.close()
    b.close()
report_outcome()
