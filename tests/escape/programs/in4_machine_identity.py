# id: IN4
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# expect: nothing that identifies this machine can be read

for path in (
    "/var/lib/dbus/machine-id", "/proc/sys/kernel/random/boot_id",
    "/proc/cpuinfo", "/proc/uptime", "/proc/mounts", "/proc/self/mountinfo",
    "/sys/class/dmi/id/product_uuid", "/sys/class/dmi/id/sys_vendor", "/sys/class/net",
):
    try:
        if os.path.isdir(path):
            data = " ".join(os.listdir(path)).encode()
        else:
            data = read_file(path, 64)
    except OSError as e:
        refused(path, errname(e.errno))
        continue
    if path == "/proc/cpuinfo" and data.startswith(b"processor\t: 0\nmodel name\t: Remit\n\n"):
        refused(path, "Remit's own")
    else:
        went_through(path, repr(data[:40]))
report_outcome()
