# id: FS-R1
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# witness: canary
# expect: no host file opens: ENOENT without the host's mounts, EACCES by Landlock

PATHS = [
    ARG["secret_path"],
    "/etc/shadow",
    "/root/.ssh/id_rsa",
    "/root/.bash_history",
    "/var/log/dpkg.log",
    "/var/lib/dpkg/status",
    "/boot/grub/grub.cfg",
]

for path in PATHS:
    try:
        leak(path, read_file(path))
    except OSError as e:
        refused(path, errname(e.errno))
report_outcome()
