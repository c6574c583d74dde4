# id: K9
# field: memory_bytes
# kept-by: seccomp
# leaves-out: seccomp
# expect: a memory file of huge pages is refused, as a mapping of them is, because no limit counts their pool

CLOEXEC, HUGETLB = 1, 4
ANSWERS = (*REFUSED, errno.ENOMEM)
for label, flags in (
    ("huge pages", HUGETLB),
    ("closed on exec", HUGETLB | CLOEXEC),
    ("2 MiB pages", HUGETLB | 21 << 26),
    ("1 GiB pages", HUGETLB | 30 << 26),
    ("high bits", HUGETLB | 1 << 32),
):
    reach(label, "memfd_create", b"x", flags, answers=ANSWERS)
report_outcome()
