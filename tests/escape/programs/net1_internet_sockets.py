# id: NET1
# field: network_access
# kept-by: seccomp
# expect: EPERM for TCP and UDP over both versions of IP

for family, version in ((2, "IPv4"), (10, "IPv6")):
    for kind, name in ((1, "stream"), (2, "datagram"), (1 | 0o2000000, "stream, close on exec")):
        for protocol in (0, 6, 17):
            label = "%s %s %d" % (version, name, protocol)
            reach(label, "socket", family, kind, protocol)
report_outcome()
