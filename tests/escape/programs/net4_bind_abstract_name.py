# id: NET4
# field: network_access
# kept-by: seccomp
# leaves-out: seccomp
# policy: {"network_access": "host", "memory_fallback": "per_process"}
# expect: with the host's network, one end of a socketpair gets no name among the host's abstract sockets

import socket

# A filter sees the length of an address but not its contents. It cannot tell a
# name as long as an internet address from one: SECURITY.md lists both lengths.
NOT_KEPT = (16, 28)
AF_UNIX = struct.pack("=H", socket.AF_UNIX)
ANY = b"\0remit" + os.urandom(8).hex().encode() + b"x" * 128

for size in range(len(AF_UNIX), 140):
    if size in NOT_KEPT:
        continue
    # An address of length 2 has no name: the kernel chooses one.
    address = (AF_UNIX + ANY)[:size]
    with socket.socketpair()[0] as s:
        ret, err = syscall("bind", s.fileno(), address, size)
    if ret == 0:
        went_through("an address of %d bytes" % size)
    else:
        refused(str(size), errname(err))

# Internet sockets can still be bound.
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    with socket.socket(family) as s:
        try:
            s.bind((address, 0))
        except OSError as e:
            if e.errno != errno.EADDRNOTAVAIL:  # a machine without IPv6
                raise
report_outcome()
