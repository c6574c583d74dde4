# id: NET6
# field: network_access
# kept-by: seccomp
# expect: no netlink socket, so interfaces and routes can be neither queried nor changed

import socket

AF_NETLINK, RTM_GETLINK, RTM_NEWROUTE = 16, 18, 24
for kind in (2, 3):
    ret, err = syscall("socket", AF_NETLINK, kind, 0)
    if ret < 0:
        refused("type %d" % kind, errname(err))
        continue
    s = socket.socket(fileno=ret)
    s.settimeout(1)
    s.send(struct.pack("IHHII", 32, RTM_GETLINK, 0x301, 1, 0) + bytes(16))
    went_through("RTM_GETLINK", "%d bytes" % len(s.recv(65536)))
    s.close()
report_outcome()
