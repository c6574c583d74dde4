# id: IN4
# field: filesystem_read_roots
# kept-by: mount_namespace
# control: no the name is kept by the jail's UTS namespace, which cannot be left out
# expect: a neutral name; what remains visible is the kernel's release and the clock

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
