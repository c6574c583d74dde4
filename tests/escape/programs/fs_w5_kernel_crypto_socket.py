# id: FS-W5
# field: network_access
# kept-by: seccomp
# expect: no AF_ALG socket, so nothing to splice a read-only page into (Copy Fail)

AF_ALG, SOCK_SEQPACKET = 38, 5

reach("socket(AF_ALG)", "socket", AF_ALG, SOCK_SEQPACKET, 0, answers=(errno.EPERM,))
address = struct.pack("H14sII64s", AF_ALG, b"aead", 0, 0, b"authencesn(hmac(sha256),cbc(aes))")
for fd in range(4, 64):
    syscall("bind", fd, address, len(address))
report_outcome()
