# id: FS-R7
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# expect: no file of the kernel opens in /proc: the two that exist are Remit's, and state the policy's limits

OWN = {
    "cpuinfo": {"processor", "model name"},
    "meminfo": set(
        "MemTotal MemFree MemAvailable Buffers Cached SwapCached SwapTotal SwapFree Shmem SReclaimable".split()
    ),
}

for name in (
    "version", "cmdline", "kallsyms", "kcore", "keys", "timer_list",
    "sched_debug", "modules", "meminfo", "cpuinfo", "self/mountinfo",
    "self/maps", "self/status", "self/environ", "1/cmdline", "net/tcp",
    "sys/kernel/osrelease", "sys/kernel/random/boot_id", "sysrq-trigger",
):
    try:
        lines = read_file("/proc/" + name).decode("latin-1").splitlines()
    except OSError as e:
        refused(name, errname(e.errno))
        continue
    keys = {line.partition(":")[0].strip() for line in lines if line}
    if keys and keys <= OWN.get(name, set()):
        refused(name, "Remit's own")
    else:
        went_through("/proc/" + name)
report_outcome()
