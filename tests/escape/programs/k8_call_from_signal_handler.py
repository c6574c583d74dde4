# id: K8
# field: network_access
# kept-by: seccomp
# machine: x86_64
# expect: the filter holds inside a handler as well

import signal

result = ctypes.c_long(12345)
# push rax; mov eax,41 (socket); mov edi,2; mov esi,1; xor edx,edx; syscall;
# mov rcx,<result>; mov [rcx],rax; pop rax; ret
code = bytes.fromhex("50b829000000bf02000000be0100000031d20f0548b9")
code += struct.pack("Q", ctypes.addressof(result)) + bytes.fromhex("48890158c3")
LIBC.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
LIBC.signal.restype = ctypes.c_void_p
LIBC.signal(signal.SIGUSR1, machine_code(code))
os.kill(os.getpid(), signal.SIGUSR1)
if result.value == 12345:
    raise AssertionError("the handler did not run")
if result.value < 0:
    refused("socket in a handler", errname(-result.value))
else:
    went_through("socket in a handler", str(result.value))
report_outcome()
