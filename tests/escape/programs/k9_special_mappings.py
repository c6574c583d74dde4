# id: K9
# field: memory_bytes
# kept-by: seccomp
# leaves-out: seccomp
# expect: no huge pages, no mapping that grows by itself

GROWSDOWN, HUGETLB, ANONYMOUS_PRIVATE = 0x100, 0x40000, 0x22
for label, flag in (("growing", GROWSDOWN), ("huge pages", HUGETLB), ("1 GiB pages", HUGETLB | 30 << 26)):
    ret, err = syscall("mmap", 0, 4096, 3, ANONYMOUS_PRIVATE | flag, -1, 0)
    if ret == -1:
        refused(label, errname(err))
    else:
        went_through(label)
report_outcome()
