# id: FS-R3
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# witness: canary
# expect: no magic link of /proc leads to the host's root

secret = ARG["secret_path"]
for link in (
    "/proc/self/root",
    "/proc/thread-self/root",
    "/proc/1/root",
    "/proc/self/cwd/../../../../..",
    "/proc/%d/root" % ARG["host_pid"],
):
    try:
        leak(link, read_file(link + secret))
    except OSError as e:
        refused(link, errname(e.errno))
report_outcome()
