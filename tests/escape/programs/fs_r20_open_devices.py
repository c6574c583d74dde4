# id: FS-R20
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# control-needs: device
# expect: no device opens except null, zero, random and urandom

try:
    os.close(os.open(ARG["device"], os.O_RDONLY))
except OSError as e:
    refused("a device of the host", errname(e.errno))
else:
    went_through("a device of the host")

HARMLESS = {"null", "zero", "random", "urandom"}
names = [
    "mem", "kmem", "port", "kmsg", "sda", "vda", "loop0", "loop-control",
    "fuse", "kvm", "vhost-net", "vsock", "net/tun", "full", "ptmx", "tty",
    "tty0", "console", "hwrng", "input/event0", "autofs", "rtc0", "snapshot",
]
try:
    names += os.listdir("/dev")
except OSError as e:
    refused("/dev", errname(e.errno))
for name in sorted(set(names)):
    path = "/dev/" + name
    if name in HARMLESS or os.path.isdir(path):
        continue
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as e:
        refused(name, errname(e.errno))
        continue
    # These names refer to the program's descriptors and not to devices.
    if not name.startswith(("std", "fd")):
        went_through(path)
    os.close(fd)
report_outcome()
