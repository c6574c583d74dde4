# id: IN4
# field: filesystem_read_roots
# kept-by: mount_namespace
# control: no the jail's UTS namespace hides the name, and it cannot be left out
# expect: the host name is neutral; only the kernel's release and the clock remain visible

import platform
import socket

uname = os.uname()
for label, name in (("uname", uname.nodename), ("gethostname", socket.gethostname()), ("node", platform.node())):
    if name == ARG["host_name"]:
        went_through(label, name)
    else:
        refused(label, name)
print("remains:", uname.sysname, uname.release, uname.machine, os.cpu_count())
reach("sethostname", "sethostname", BAD, 4)
report_outcome()
