# id: P2
# field: timeout
# kept-by: timer
# runs: 2
# status: ok exit
# control: no each run starts a new interpreter; there is no mechanism to leave out
# expect: modules, handlers and settings that one run changes are unchanged in the next

import builtins
import gc
import locale
import signal
import tempfile

CHECKS = {
    "builtins.len": lambda: builtins.len([1, 2]) == 2,
    "json.loads": lambda: json.loads("1") == 1,
    "sys.modules": lambda: "poisoned" not in sys.modules,
    "sys.path": lambda: "/poisoned" not in sys.path,
    "SIGTERM": lambda: signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, None),
    "signal mask": lambda: not signal.pthread_sigmask(signal.SIG_BLOCK, ()),
    "umask": lambda: os.umask(os.umask(0o022)) != 0o777,
    "recursion": lambda: sys.getrecursionlimit() >= 1000,
    "gc": gc.isenabled,
    "tempdir": lambda: tempfile.tempdir != "/poisoned",
    "environ": lambda: "POISONED" not in os.environ,
    "directory": lambda: os.getcwd() != "/dev",
}
for label, pristine in CHECKS.items():
    if pristine():
        refused(label, "pristine")
    else:
        went_through(label, "changed by round 1")
report_outcome()
# The changes also break the runner's final claim: then the status is "exit".
if ARG["round"] == 1:
    builtins.len = lambda x: 99
    json.loads = lambda x: 99
    sys.modules["poisoned"] = sys
    sys.path.insert(0, "/poisoned")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
    os.umask(0o777)
    sys.setrecursionlimit(100)
    gc.disable()
    tempfile.tempdir = "/poisoned"
    os.environ["POISONED"] = "1"
    os.chdir("/dev")
