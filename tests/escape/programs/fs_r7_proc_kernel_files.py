# id: FS-R7
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# expect: no file of /proc opens

for name in (
    "version", "cmdline", "kallsyms", "kcore", "keys", "timer_list",
    "sched_debug", "modules", "meminfo", "cpuinfo", "self/mountinfo",
    "self/maps", "self/status", "self/environ", "1/cmdline", "net/tcp",
    "sys/kernel/osrelease", "sys/kernel/random/boot_id", "sysrq-trigger",
):
    try:
        read_file("/proc/" + name, 64)
    except OSError as e:
        refused(name, errname(e.errno))
    else:
        went_through("/proc/" + name)
report_outcome()
