# id: PR4
# field: network_access
# kept-by: seccomp
# judge: status
# status: killed
# signal: SIGSYS
# machine: x86_64
# expect: socketcall, whose family no filter can read, ends the process

# mov eax,102 (socketcall of i386, getuid of x86-64); mov ebx,1 (SYS_SOCKET);
# xor ecx,ecx; int 0x80; ret
where = machine_code(bytes.fromhex("53b866000000bb0100000031c9cd805bc3"))
ret = ctypes.CFUNCTYPE(ctypes.c_int)(where)()
escaped("socketcall was answered: %d" % ret)
