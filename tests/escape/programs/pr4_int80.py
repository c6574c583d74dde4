# id: PR4
# field: subprocess_execution
# kept-by: seccomp
# judge: status
# status: killed
# signal: SIGSYS
# machine: x86_64
# expect: the 32-bit entry ends the process by SIGSYS, whatever number it is given

# mov eax,11 (execve of i386); xor ebx,ebx; xor ecx,ecx; xor edx,edx;
# int 0x80; ret, with rbx saved: it belongs to the caller.
where = machine_code(bytes.fromhex("53b80b00000031db31c931d2cd805bc3"))
ret = ctypes.CFUNCTYPE(ctypes.c_int)(where)()
escaped("int 0x80 was answered: %d" % ret)
