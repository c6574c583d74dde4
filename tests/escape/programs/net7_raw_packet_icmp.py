# id: NET7
# field: network_access
# kept-by: seccomp
# expect: EPERM by the filter, before the kernel checks for CAP_NET_RAW

AF_PACKET, ETH_P_ALL = 17, 0x0300
for label, family, kind, protocol in (
    ("packet raw", AF_PACKET, 3, ETH_P_ALL),
    ("packet datagram", AF_PACKET, 2, ETH_P_ALL),
    ("IPv4 raw", 2, 3, 255),
    ("IPv4 raw ICMP", 2, 3, 1),
    ("IPv4 ping", 2, 2, 1),
    ("IPv6 raw", 10, 3, 58),
):
    ret, err = syscall("socket", family, kind, protocol)
    if ret >= 0:
        went_through(label)
    else:
        refused(label, errname(err))
# Without CAP_NET_RAW the kernel returns EPERM too. A type that does not exist
# gives EINVAL, which shows whether the call passed the filter.
reach("packet, type 99", "socket", AF_PACKET, 99, 0)
reach("IPv4, type 99", "socket", 2, 99, 0)
report_outcome()
