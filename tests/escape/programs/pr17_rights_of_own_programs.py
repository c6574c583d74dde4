# id: PR17
# field: mounts
# kept-by: mount_namespace
# policy: {"subprocess_execution": true, "workspace_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# control: no the flags belong to the jail's tmpfs, which a test build mounts as well; pr11_gain_capabilities.py has a control of the filter
# expect: a program of the workspace gets no right by executing: no setuid, no capability, no device, and the same filter

import shutil
import subprocess

XATTR = b"\x01\x00\x00\x02" + b"\xff" * 16  # every capability, effective
INSIDE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
assert os.getresuid() == (OWN,) * 3 and os.getresgid()[0] == GROUP, "ids %r" % (os.getresuid(),)
for label, call in {
    "unshare": lambda: libc.unshare(0x10000000),
    "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "setuid": lambda: libc.setuid(0),
    "chroot": lambda: libc.chroot(b"/tmp"),
    "socket": lambda: libc.socket(2, 1, 0),
    "packet socket": lambda: libc.socket(17, 3, 0),
    "io_uring": lambda: libc.syscall(425, 1, None),
}.items():
    assert call() == -1, label + " was allowed"
try:
    open("/etc/shadow").close()
except OSError:
    print("nothing gained")
"""
program = os.path.realpath(sys.executable or "/usr/bin/python3")
inside = INSIDE.replace("OWN", str(os.getuid())).replace("GROUP", str(os.getgid()))
for folder in (os.getcwd(), "/tmp"):
    path = folder + "/program"
    shutil.copyfile(program, path)
    os.chmod(path, 0o755)
    for mode in (0o6755, 0o4755, 0o2755):
        attempt("%s mode %o" % (folder, mode), os.chmod, path, mode)
    ret, err = syscall("setxattr", path.encode(), b"security.capability", XATTR, len(XATTR), 0)
    if ret == 0:
        went_through(folder, "a file has capabilities")
    else:
        refused("security.capability", errname(err))
    flags = os.statvfs(folder).f_flag
    for name in ("NOSUID", "NODEV"):
        if flags & getattr(os, "ST_" + name):
            refused(folder, name.lower())
        else:
            went_through(folder, "not " + name.lower())
    if flags & os.ST_NOEXEC:
        raise AssertionError("the policy allows to execute " + folder)
    run = subprocess.run([path, "-I", "-S", "-c", inside], capture_output=True, text=True)
    if run.stdout == "nothing gained\n":
        refused(path, "nothing gained")
    else:
        went_through(path, "%d %s" % (run.returncode, run.stderr[-200:]))
report_outcome()
