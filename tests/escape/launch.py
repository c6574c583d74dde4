"""
Starts one command as a given user, and reports the processes that remain when
it has ended.

    launch.py CONFIG.json REPORT.json
    launch.py       starts one command for each line of standard input: a JSON
                    array of these two and of two files for its output. Prints
                    an empty line when the command has ended

It is a separate process because it makes itself the subreaper of everything
that the command starts: a process that remains is then its child, whatever it
did to hide. The command gets a session keyring with one planted key.
"""

import ctypes
import json
import os
import resource
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
SYS = {
    "x86_64": {"add_key": 248, "keyctl": 250},
    "aarch64": {"add_key": 217, "keyctl": 219},
}[os.uname().machine]
KEYCTL_JOIN_SESSION_KEYRING = 1
KEY_SPEC_SESSION_KEYRING = -3
EXIT_GRACE_S = 3.0
# Applies while every remaining process is exiting, or while one of Remit's remains: it may have to end other processes,
# or to remove what killed keepers left.
REMIT_EXIT_GRACE_S = 60.0
PF_EXITING = 4

libc = ctypes.CDLL(None, use_errno=True)


def plant_key(description, payload):
    libc.syscall(SYS["keyctl"], KEYCTL_JOIN_SESSION_KEYRING, None)
    key = libc.syscall(
        SYS["add_key"],
        b"user",
        description.encode(),
        payload.encode(),
        len(payload),
        ctypes.c_long(KEY_SPEC_SESSION_KEYRING),
    )
    # A container may forbid keys: then there is no key to steal.
    return key > 0


def become(config):
    # The key is planted before the change of user: the process keeps it, and it does not count against the user's quota.
    plant_key(config["key_desc"], config["key_payload"])
    if os.geteuid() == 0 and config["uid"] != 0:
        os.setgroups([])
        os.setgid(config["gid"])
        os.setuid(config["uid"])
    os.chdir(config["cwd"])
    os.umask(0o022)
    os.execve(config["argv"][0], config["argv"], config["env"])


def children():
    """Returns the pid and name of each child of this process, without zombies. /proc/PID/stat has state and parent."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as f:
                head, _, rest = f.read().rpartition(")")
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if int(parent) == os.getpid() and state != "Z":
            found.append([int(name), head.partition("(")[2]])
    return found


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def is_remit(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "remit"
    except OSError:
        return False


def is_exiting(pid):
    """Whether a process was killed and ends as soon as it gets a processor. In /proc/PID/stat the flags are the seventh field after the name."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            flags = int(f.read().rpartition(")")[2].split()[6])
        with open(f"/proc/{pid}/status") as f:
            pending = [int(line.split()[1], 16) for line in f if line.startswith(("SigPnd", "ShdPnd"))]
    except OSError:
        return True
    return bool(flags & PF_EXITING) or any(signals >> (signal.SIGKILL - 1) & 1 for signals in pending)


def leftovers():
    begun = time.monotonic()
    while True:
        reap()
        left = children()
        pids = [pid for pid, _name in left]
        grace = REMIT_EXIT_GRACE_S if any(map(is_remit, pids)) or all(map(is_exiting, pids)) else EXIT_GRACE_S
        if not left or time.monotonic() > begun + grace:
            return left
        time.sleep(0.01)  # polls


def kill_all():
    """Kills the children of this process, by pid, until none is left."""
    end = time.monotonic() + REMIT_EXIT_GRACE_S
    while time.monotonic() < end:
        left = children()
        if not left:
            return
        for pid, _name in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)  # polls
        reap()


def launch(config_path, report_path):
    with open(config_path) as f:
        config = json.load(f)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            become(config)
        finally:
            os._exit(121)
    report = {"timed_out": False}
    status = None
    while status is None:
        done, code, usage = os.wait4(pid, os.WNOHANG)
        if done:
            status = code
            report["maxrss_kib"] = usage.ru_maxrss
        elif time.monotonic() - start > config["timeout"]:
            report["timed_out"] = True
            os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
        else:
            time.sleep(0.002)  # polls
    report["wall"] = time.monotonic() - start
    report["exit"] = os.waitstatus_to_exitcode(status)
    report["left"] = leftovers()
    kill_all()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    report["cpu"] = usage.ru_utime + usage.ru_stime
    with open(report_path, "w") as f:
        json.dump(report, f)


def redirect(*paths):
    for fd, path in enumerate(paths):
        opened = os.open(path, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, fd)
        os.close(opened)


def serve():
    """Forks for each command, since an interpreter takes longer to start than most programs run."""
    for line in sys.stdin:
        config_path, report_path, out, err = json.loads(line)
        pid = os.fork()
        if pid == 0:
            redirect(os.devnull, out, err)
            launch(config_path, report_path)
            os._exit(0)
        os.waitpid(pid, 0)
        print(flush=True)


if len(sys.argv) > 1:
    launch(*sys.argv[1:])
else:
    serve()
