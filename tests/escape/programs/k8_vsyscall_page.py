# id: K8
# field: subprocess_execution
# kept-by: seccomp
# judge: status
# status: ok killed
# machine: x86_64
# control: no the page answers three questions about time and processor, which are allowed anyway
# expect: the old fixed page answers those questions or is absent

stamp = (ctypes.c_long * 2)()
GETTIMEOFDAY, TIME, GETCPU = 0xFFFFFFFFFF600000, 0xFFFFFFFFFF600400, 0xFFFFFFFFFF600800
print("CONTAINED so far", flush=True)
for where in (GETTIMEOFDAY, TIME, GETCPU):
    ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)(where)(ctypes.addressof(stamp), None)
contained("the page exists and answers time and processor only")
