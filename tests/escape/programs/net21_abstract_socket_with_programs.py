# id: NET21
# field: network_access
# kept-by: network_namespace landlock
# leaves-out: network_namespace landlock
# landlock-abi: 6
# policy: {"subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# witness: abstract
# expect: code that has unix sockets cannot connect to an abstract one of the host

import socket


def connect():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\0" + ARG["abstract"])


attempt("connect", connect)
report_outcome()
