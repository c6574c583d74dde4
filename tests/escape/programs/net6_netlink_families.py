# id: NET6
# field: network_access
# kept-by: seccomp
# expect: nf_tables, xfrm, audit, uevents and generic netlink stay out of reach

NAMES = {
    0: "route", 2: "usersock", 4: "sock_diag", 5: "nflog", 6: "xfrm", 7: "selinux",
    8: "iscsi", 9: "audit", 10: "fib_lookup", 11: "connector", 12: "netfilter",
    15: "uevent", 16: "generic", 18: "scsi", 19: "ecryptfs", 20: "rdma", 21: "crypto",
}
for protocol, name in NAMES.items():
    ret, err = syscall("socket", 16, 3, protocol)
    if ret >= 0:
        went_through(name)
        os.close(ret)
    else:
        refused(name, errname(err))
report_outcome()
