# id: NET3
# field: network_access
# kept-by: seccomp network_namespace
# control: no a name server outside would have to answer
# expect: no name resolves

import socket

for name in ("example.com", "metadata.google.internal", "host.docker.internal"):
    for resolve in (socket.gethostbyname, lambda n: socket.getaddrinfo(n, 443)):
        try:
            resolve(name)
        except OSError as e:
            refused(name, str(e))
        else:
            went_through(name)
report_outcome()
