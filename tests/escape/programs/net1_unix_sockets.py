# id: NET1
# field: network_access
# kept-by: seccomp
# expect: EPERM for every type of AF_UNIX socket

for kind, name in ((1, "stream"), (2, "datagram"), (5, "seqpacket"), (3, "raw")):
    reach(name, "socket", 1, kind, 0)
report_outcome()
