# id: RS15
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# control: no a test build mounts the same private /dev
# expect: no pseudo terminal can be made

import pty

for path in ("/dev/ptmx", "/dev/pts/ptmx", "/dev/tty"):
    attempt(path, os.open, path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
try:
    pty.openpty()
except OSError as e:
    refused("openpty", str(e))
else:
    went_through("openpty")
report_outcome()
