# id: K9
# field: subprocess_execution
# kept-by: seccomp
# control: no the host's vm.mmap_min_addr refuses it to every process without CAP_SYS_RAWIO
# expect: nothing can be mapped where null pointers in the kernel would point

MAP_FIXED, ANONYMOUS_PRIVATE = 0x10, 0x22
for address in (0, 4095, 1):
    ret, err = syscall("mmap", address, 4096, 7, MAP_FIXED | ANONYMOUS_PRIVATE, -1, 0)
    if ret == -1:
        refused("mmap at %d" % address, errname(err))
    else:
        went_through("mmap at %d" % address)
page, _ = syscall("mmap", 0, 8192, 3, ANONYMOUS_PRIVATE, -1, 0)
ret, err = syscall("mremap", page, 4096, 4096, 3, 0)
if ret == -1:
    refused("mremap to 0", errname(err))
else:
    went_through("mremap to 0")
report_outcome()
