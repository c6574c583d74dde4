# id: NET4
# field: network_access
# kept-by: network_namespace landlock
# landlock-abi: 6
# witness: abstract_dgram
# expect: one end of an allowed socketpair cannot send to a third party with sendmsg

import socket

# The filter allows pairs, and cannot read the address that sendmsg's argument
# points to: the namespace and Landlock must stop this.
try:
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
except OSError as e:
    refused("socketpair", errname(e.errno))  # where memory is bounded strictly
else:
    address = "\0" + ARG["abstract_dgram"]
    attempt("sendmsg", lambda: a.sendmsg([b"hello"], [], 0, address))
    attempt("sendto", lambda: a.sendto(b"hello", address))
report_outcome()
