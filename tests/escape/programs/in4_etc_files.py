# id: IN4
# field: filesystem_read_roots
# kept-by: mount_namespace
# expect: /etc is the jail's and contains nothing of the host; Landlock allows the directory itself, so it cannot stop this

for path in (
    "/etc/machine-id", "/etc/hostname", "/etc/fstab", "/etc/resolv.conf",
    "/etc/os-release", "/etc/crontab", "/etc/mtab", "/etc/ssh/sshd_config",
):
    try:
        went_through(path, repr(read_file(path, 64)[:40]))
    except OSError as e:
        refused(path, errname(e.errno))
report_outcome()
