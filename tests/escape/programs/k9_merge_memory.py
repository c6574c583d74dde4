# id: K9
# field: memory_bytes
# kept-by: seccomp
# leaves-out: seccomp
# expect: EINVAL, or EPERM from prctl: a program cannot have its pages merged with those of other processes, nor age pages of shared files

# The page at this address is not mapped: ENOMEM comes from the kernel and means that it knows the advice.
NOWHERE, PAGE = 1 << 40, 4096
ADVICE = {"mergeable": 12, "unmergeable": 13, "cold": 20, "pageout": 21, "collapse": 25}
for label, advice in ADVICE.items():
    reach(label, "madvise", NOWHERE, PAGE, advice, answers=(errno.EINVAL,))
    reach(label + ", high bits", "madvise", NOWHERE, PAGE, 1 << 32 | advice, answers=(errno.EINVAL,))
PR_SET_MEMORY_MERGE = 67
reach("the whole process", "prctl", PR_SET_MEMORY_MERGE, 1, 0, 0, 0)

# The advice that allocators give must work.
m = mmap.mmap(-1, 1 << 21, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for name in ("DONTNEED", "FREE", "HUGEPAGE", "NOHUGEPAGE", "DONTDUMP", "SEQUENTIAL", "WILLNEED"):
    m.madvise(getattr(mmap, "MADV_" + name))
report_outcome()
