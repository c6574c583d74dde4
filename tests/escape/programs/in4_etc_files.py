# id: IN4
# field: filesystem_read_roots
# kept-by: mount_namespace
# expect: /etc is the jail's and contains nothing of the host; Landlock allows the directory itself, so it cannot stop this

OWN = b"NAME=Remit\nID=remit\nPRETTY_NAME=Remit\n"

for path in (
    "/etc/machine-id", "/etc/hostname", "/etc/fstab", "/etc/resolv.conf",
    "/etc/os-release", "/usr/lib/os-release", "/etc/crontab", "/etc/mtab", "/etc/ssh/sshd_config",
):
    try:
        found = read_file(path)
        if found != OWN:
            went_through(path, repr(found[:40]))
    except OSError as e:
        refused(path, errname(e.errno))
report_outcome()
