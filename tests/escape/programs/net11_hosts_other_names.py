# id: NET11
# field: network_allow
# kept-by: network_namespace proxy
# control: no a name server outside would have to answer
# policy: {"network_allow": ["api.example.com:80", "*.example.org:443"], "memory_fallback": "per_process"}
# expect: names that are not in the list, and names similar to listed ones, do not resolve

import socket

for name in (
    "example.com",
    "evil.api.example.com",
    "api.example.com.evil.test",
    "example.org",
    "api.example.co",
    "xn--pi-7ka.example.com",
    "metadata.google.internal",
    "api.example.com/.evil.test",
    "api.example.com@evil.test",
    "api.example.com:80",
    "api.example.com\r.evil.test",
    "*.example.org",
):
    try:
        socket.getaddrinfo(name, 80)
    except (OSError, UnicodeError) as e:
        refused(name, str(e))
    else:
        went_through(name)
report_outcome()
