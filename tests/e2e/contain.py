"""Run a command as a container runtime would: no namespaces, no mounts, no keys, no clone3, and root has only the
capabilities that containers usually have.

    contain.py COMMAND [ARGUMENT...]
"""

import ctypes
import errno
import os
import struct
import sys

MACHINE = os.uname().machine
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[MACHINE]
X86_64 = {
    "clone": 56, "unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155,
    "keyctl": 250, "add_key": 248, "request_key": 249,
}  # fmt: skip
AARCH64 = {
    "clone": 220, "unshare": 97, "setns": 268, "mount": 40, "umount2": 39, "pivot_root": 41,
    "keyctl": 219, "add_key": 217, "request_key": 218,
}  # fmt: skip
NUMBERS = X86_64 if MACHINE == "x86_64" else AARCH64
CLONE3, FSOPEN, OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 435, 430, 428, 429, 442
# Every CLONE_NEW flag of clone and unshare
NEW = 0x7E020000
ALLOW, REFUSE = 0x7FFF0000, 0x00050000

# CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE
# NET_RAW SYS_CHROOT MKNOD AUDIT_WRITE SETFCAP
USUAL_CAPABILITIES = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 24, 38, 22


def op(code, k, jt=0, jf=0):
    return struct.pack("HBBI", code, jt, jf, k)


def load(offset):
    return op(0x20, offset)


def verdict(value):
    return op(0x06, value)


def refuse(number, error):
    return op(0x15, number, 0, 1) + verdict(REFUSE | error)


def refuse_flags(number):
    """Allow the call if its first argument has none of the CLONE_NEW flags."""
    return op(0x15, number, 0, 4) + load(16) + op(0x45, NEW, 0, 1) + verdict(REFUSE | errno.EPERM) + verdict(ALLOW)


def program():
    code = load(4) + op(0x15, ARCH, 1, 0) + verdict(ALLOW) + load(0)
    for name in ("clone", "unshare"):
        code += refuse_flags(NUMBERS[name])
    code += refuse(CLONE3, errno.ENOSYS)
    for number in (FSOPEN, OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR):
        code += refuse(number, errno.EPERM)
    for name, number in NUMBERS.items():
        if name not in ("clone", "unshare"):
            code += refuse(number, errno.EPERM)
    return code + verdict(ALLOW)


def main(argv):
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(program())
    count = (len(code) - 1) // 8
    filter_program = struct.pack("HxxxxxxQ", count, ctypes.addressof(code))
    if os.geteuid() == 0:
        for capability in range(64):
            if capability not in USUAL_CAPABILITIES:
                libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, 2, filter_program, 0, 0):
        raise OSError(ctypes.get_errno(), "the filter was not loaded")
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main(sys.argv[1:])
