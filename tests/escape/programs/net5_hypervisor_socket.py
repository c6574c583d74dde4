# id: NET5
# field: network_access
# kept-by: seccomp
# expect: no AF_VSOCK: no namespace separates it, and it would reach the hypervisor

AF_VSOCK = 40

for kind, name in ((1, "stream"), (2, "datagram"), (5, "seqpacket")):
    ret, err = syscall("socket", AF_VSOCK, kind, 0)
    if ret >= 0:
        # A socket is proof enough: the program does not contact the hypervisor.
        went_through(name, "socket")
        os.close(ret)
    elif err == errno.EPERM:
        refused(name, errname(err))
    else:
        went_through(name, errname(err))
report_outcome()
