# id: NET4
# field: network_access
# kept-by: seccomp
# leaves-out: seccomp
# policy: {"network_access": "host", "memory_fallback": "per_process"}
# expect: with the host's network, half of a socketpair gets no name among the host's abstract sockets

import socket

# A filter sees the length of an address and not what is in it. Names as long
# as an internet address cannot be told from one: SECURITY.md has these two.
NOT_KEPT = (16, 28)
AF_UNIX = struct.pack("=H", socket.AF_UNIX)
ANY = b"\0remit" + os.urandom(8).hex().encode() + b"x" * 128

for size in range(len(AF_UNIX), 140):
    if size in NOT_KEPT:
        continue
    # Without a name, of length 2, the kernel chooses one.
    address = (AF_UNIX + ANY)[:size]
    with socket.socketpair()[0] as s:
        ret, err = syscall("bind", s.fileno(), address, size)
    if ret == 0:
        went_through("an address of %d bytes" % size)
    else:
        refused(str(size), errname(err))

# Servers work.
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    with socket.socket(family) as s:
        try:
            s.bind((address, 0))
        except OSError as e:
            if e.errno != errno.EADDRNOTAVAIL:  # a machine without IPv6
                raise
report_outcome()
