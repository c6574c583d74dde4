"""What a fork shares, and what children of one zygote must not share: one test for each row of the table in
SECURITY.md."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading

import pytest
from conftest import PYTHON, make_remit, users
from shared_keeper import SharedKeeper

# A module that has used every source of randomness before the fork. The state that it leaves in memory must be of no
# use to a child.
USED = """
import ctypes, multiprocessing, os, random, secrets, ssl, tempfile, uuid
import numpy
libc = ctypes.CDLL(None)
libc.drand48.restype = ctypes.c_double
libc.random.restype = ctypes.c_long
STATE = (random.random(), numpy.random.random(), numpy.random.default_rng().random(), ssl.RAND_bytes(8), uuid.uuid4(),
         next(tempfile._get_candidate_names()), multiprocessing.current_process().authkey, secrets.token_hex(),
         libc.rand(), libc.random(), libc.drand48())
"""
C = "import ctypes; c = ctypes.CDLL(None); c.drand48.restype = ctypes.c_double; "

# What must differ between children, and how a program shows it
DISTINCT = {
    "random": "import random; print(random.random())",
    "a copied generator of random": "import random; print(random.getrandbits(64), random.gauss(0, 1))",
    "numpy's legacy generator": "import numpy; print(numpy.random.random(2))",
    "numpy's default_rng": "import numpy; print(numpy.random.default_rng().random(2))",
    "numpy's RandomState": "import numpy; print(numpy.random.RandomState().random_sample(2))",
    "ssl": "import ssl; print(ssl.RAND_bytes(16))",
    "uuid1": "import uuid; print(uuid.uuid1())",
    "uuid4": "import uuid; print(uuid.uuid4())",
    "names of tempfile": "import tempfile; print(next(tempfile._get_candidate_names()))",
    "tempfile itself": "import tempfile; print(tempfile.mkdtemp(), tempfile.NamedTemporaryFile().name)",
    "multiprocessing's key": "import multiprocessing as m; print(m.current_process().authkey.hex())",
    "secrets": "import secrets; print(secrets.token_hex())",
    "os.urandom": "import os; print(os.urandom(16))",
    "rand of C": C + "print([c.rand() for _ in range(3)])",
    "random of C": C + "print([c.random() for _ in range(3)])",
    "drand48": C + "print([c.drand48() for _ in range(3)])",
    "lrand48": C + "print([c.lrand48() for _ in range(3)])",
}

# What children of one zygote share, as documented
SAME = {
    "the hash seed": "print(hash('remit'), hash(b'remit'))",
    "the layout of memory": "import ctypes; print(ctypes.cast(ctypes.CDLL('libc.so.6').getpid, ctypes.c_void_p).value)",
}


@pytest.fixture(scope="module", params=users())
def keeper(request, stage):
    keeper = SharedKeeper(make_remit(request.param, stage))
    yield keeper
    keeper.close()


@pytest.fixture(scope="module")
def python(keeper):
    """An interpreter that can import the module `used`."""
    venv = keeper.remit.folder / "venv-used"
    if not venv.exists():
        argv = [PYTHON, "-m", "venv", "--without-pip", "--system-site-packages", venv]
        subprocess.run(argv, check=True, env=keeper.remit.env(), **keeper.remit.identity())
        site = next(venv.glob("lib/python3*/site-packages"))
        (site / "used.py").write_text(USED)
    return venv / "bin" / "python"


def used(python):
    return ("--python", python, "--preload", "used")


@pytest.mark.parametrize("what", DISTINCT)
def test_children_have_separate_random_state(keeper, python, what):
    results = [keeper.json(DISTINCT[what], *used(python)) for _ in range(3)]
    assert [r["start"] for r in results] == ["warm"] * 3
    assert [r["stderr"] for r in results] == [""] * 3
    assert len({r["stdout"] for r in results}) == 3, results[0]["stdout"]


@pytest.mark.parametrize("what", SAME)
def test_children_of_zygote_share_layout_until_it_is_replaced(keeper, what):
    first, second = (keeper.warm(SAME[what])["stdout"] for _ in range(2))
    assert first == second
    crash(keeper)
    assert keeper.warm(SAME[what])["stdout"] != first


def crash(keeper):
    """Crash one child, which makes the keeper replace its zygote at once."""
    before = {z["pid"] for z in keeper.status()["zygotes"]}
    result = keeper.warm("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert result["signal"] == signal.SIGSEGV
    keeper.until(lambda: {z["pid"] for z in keeper.status()["zygotes"]} - before)
    keeper.until(keeper.is_full)


def test_thousand_runs_repeat_no_random_value(keeper, python):
    code = (
        "import random, ssl, uuid, tempfile, numpy\n"
        "print(random.random(), ssl.RAND_bytes(8).hex(), uuid.uuid1(), uuid.uuid4(),"
        " next(tempfile._get_candidate_names()), numpy.random.random(), numpy.random.default_rng().random())"
    )
    seen, warm = [], []

    def ask(count):
        for _ in range(count):
            result = keeper.json(code, *used(python))
            seen.append(result["stdout"].split())
            warm.append(result["start"])

    threads = [threading.Thread(target=ask, args=(250,)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(seen) == 1000 and set(warm) == {"warm"}
    for column in zip(*seen, strict=True):
        assert len(set(column)) == 1000, column[:3]


# ---- the state that a child finds ----

LOOK = r"""
import atexit, ctypes, gc, json, os, signal, sys, threading
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
def c_environ():
    found, i = {}, 0
    while environ[i] is not None:
        name, _, value = environ[i].decode().partition("=")
        found[name] = value
        i += 1
    return found
def is_open(fd):
    try: os.fstat(fd)
    except OSError: return False
    return True
mask = os.umask(0)
print(json.dumps({
    "pid": os.getpid(), "ppid": os.getppid(), "group": os.getpgrp(), "session": os.getsid(0),
    "environ": dict(os.environ), "c_environ": c_environ(), "c_path": getenv(b"PATH").decode(),
    "argv": sys.argv, "umask": mask, "cwd": os.getcwd(), "open": [fd for fd in range(4096) if is_open(fd)],
    "main": sorted(vars(sys.modules["__main__"])), "file": __file__, "main_is_mine": sys.modules["__main__"].__dict__ is globals(),
    "gc": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count() > 0, gc.garbage],
    "threads": [threading.active_count(), threading.main_thread() is threading.current_thread(), threading.current_thread().name],
    "native": threading.get_native_id() == os.getpid(), "atexit": atexit._ncallbacks(),
    "handlers": [str(signal.getsignal(s)) for s in (signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD, signal.SIGHUP)],
    "sigint": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "alarm": signal.getitimer(signal.ITIMER_REAL),
    "path": sys.path, "hooks": [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace(), sys.getprofile()],
    "meta": [getattr(f, "__name__", str(f)) for f in sys.meta_path], "recursion": sys.getrecursionlimit(), "switch": sys.getswitchinterval(),
    "flags": list(sys.flags), "warnoptions": sys.warnoptions, "bytecode": [sys.dont_write_bytecode, sys.pycache_prefix],
    "streams": [(s.fileno(), s.encoding, s.errors, s.line_buffering, s.write_through) for s in (sys.stdin, sys.stdout, sys.stderr)],
    "originals": [sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__, sys.stdin is sys.__stdin__],
    "modules": sorted(m for m in sys.modules if getattr(sys.modules[m], "__file__", None) and ".remit" in sys.modules[m].__file__),
    "executable": [sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix],
    "limits": {n: __import__("resource").getrlimit(getattr(__import__("resource"), n)) for n in ("RLIMIT_CORE", "RLIMIT_NOFILE", "RLIMIT_STACK", "RLIMIT_AS", "RLIMIT_NPROC")},
}))
"""
MODULES_OF_ZYGOTE = {"reseed", "records", "runner", "_remit"}


@pytest.fixture(scope="module")
def cold_and_warm(keeper):
    """What LOOK prints in a cold run and in a warm one."""
    cold = keeper.remit.json(LOOK)
    assert cold["start"] == "cold" and cold["status"] == "ok", cold
    warm = keeper.warm(LOOK)
    assert warm["status"] == "ok", warm
    return json.loads(cold["stdout"]), json.loads(warm["stdout"])


def test_warm_code_is_pid_2(cold_and_warm):
    assert [look["pid"] for look in cold_and_warm] == [2, 2]


def test_warm_code_cannot_see_its_parent(cold_and_warm):
    cold, warm = cold_and_warm
    assert (cold["ppid"], warm["ppid"]) == (1, 0)


def test_zygote_s_environment_is_not_in_child(cold_and_warm):
    cold, warm = cold_and_warm
    assert warm["environ"] == warm["c_environ"] == cold["environ"]
    assert warm["c_path"] == warm["environ"]["PATH"]


def test_warm_environment_is_that_of_policy(keeper):
    code = "import os; print(os.environ['GREETING'], os.environ.get('OPENBLAS_NUM_THREADS')); print(os.getenv('NUMEXPR_MAX_THREADS'))"
    result = keeper.warm(code, "--env", "GREETING=hello")
    threads = None if keeper.remit.by_root else "1"
    assert result["stdout"] == f"hello {threads}\nNone\n"


def test_zygote_s_arguments_cannot_be_read_from_proc(keeper):
    """/proc does not exist in the jail, so neither environ nor cmdline can be read."""
    code = "import os\nfor n in ('environ', 'cmdline'):\n    try: print(open('/proc/self/' + n).read())\n    except OSError as e: print(type(e).__name__)"
    assert keeper.warm(code)["stdout"] == "FileNotFoundError\nFileNotFoundError\n"


@pytest.mark.parametrize("what", sorted("argv umask cwd main file main_is_mine threads native atexit group session handlers sigint mask alarm path hooks meta recursion switch flags warnoptions bytecode streams originals executable limits".split()))
def test_warm_interpreter_has_state_of_fresh_one(cold_and_warm, what):
    cold, warm = cold_and_warm
    assert warm[what] == cold[what]


def test_warm_code_has_only_descriptors_of_jail(cold_and_warm):
    assert [look["open"] for look in cold_and_warm] == [[0, 1, 2, 3]] * 2


def test_collector_is_enabled_and_ignores_zygote_s_objects(cold_and_warm):
    cold, warm = cold_and_warm
    assert warm["gc"] == [True, cold["gc"][1], True, []] and cold["gc"][2] is False


def test_remit_s_modules_in_child_are_known(cold_and_warm):
    for look in cold_and_warm:
        assert set(look["modules"]) <= MODULES_OF_ZYGOTE, look["modules"]


def test_files_of_earlier_runs_are_absent(keeper):
    code = "import os; print([os.listdir(p) for p in ('/workspace', '/tmp', '/dev/shm')]); [open(p + '/left', 'w') for p in ('/workspace', '/tmp', '/dev/shm')]"
    seen = {keeper.warm(code)["stdout"] for _ in range(3)}
    assert seen == {"[[], ['.matplotlib'], []]\n"}


def test_changes_of_modules_do_not_survive(keeper):
    code = (
        "import builtins, json, os, sys, threading, atexit, signal\n"
        "print(json.loads('1'), hasattr(builtins, 'mine'), os.getcwd(), 'mine' in sys.modules, threading.active_count(), signal.getsignal(signal.SIGTERM))\n"
        "json.loads = builtins.mine = None; sys.modules['mine'] = sys; os.chdir('/tmp'); os.umask(0o777); os.environ['X'] = '1'\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); sys.setrecursionlimit(77777); sys.path.clear()\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "atexit.register(print, 'at exit')\n"
    )
    seen = {keeper.warm(code)["stdout"] for _ in range(3)}
    assert seen == {"1 False /workspace False 1 0\nat exit\n"}


def test_sigint_interrupts_warm_program(keeper):
    keeper.await_child()
    code = "import time\ntry:\n    print('up', flush=True)\n    time.sleep(30)\nexcept KeyboardInterrupt: print('interrupted')"
    with keeper.remit.popen("run", "-c", code, env=keeper.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "up\n"
        p.send_signal(signal.SIGINT)
        assert p.communicate(timeout=60)[0] == "interrupted\n"
    last = keeper.remit("logs", "--json", env=keeper.env).stdout.splitlines()[-1]
    assert json.loads(last)["start"] == "warm"


# ---- the same program, cold and warm ----

PROGRAMS = {
    "nothing": "",
    "a traceback": "def f(n):\n    return 1 / n\n\nf(0)\n",
    "a traceback with a cause": "try:\n    {}['x']\nexcept KeyError as e:\n    raise ValueError('wrong') from e\n",
    "a traceback through the library": "import json\njson.loads('{')\n",
    "an exit with a text": "raise SystemExit('this is why')",
    "an exit with a number": "import sys; sys.exit(3)",
    "an exit in a thread": "import sys, threading\nt = threading.Thread(target=sys.exit, args=(5,)); t.start(); t.join(); print('on')",
    "an error in a thread": "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='worker'); t.start(); t.join(); print('on')",
    "os._exit": "import os; print('gone', flush=True); os._exit(7)",
    "a thread that still runs at the end": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start(); print('first')",
    "a daemon thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start(); print('end')",
    "atexit": "import atexit\natexit.register(print, 'last'); atexit.register(print, 'before'); print('body')",
    "an error at exit": "import atexit\natexit.register(lambda: 1 / 0); print('body')",
    "a file that was never closed": "f = open('/workspace/x', 'w'); f.write('text' * 10); g = open('/workspace/y', 'w'); g.write('z'); print('end')",
    "destructors at the end": "class A:\n    def __del__(self): print('deleted')\na = A(); print('end')",
    "standard input": "import sys; print(sys.stdin.read().upper()); print(input.__name__)",
    "lines of input": "print(input('? ')); print(input())",
    "a syntax error": "print(1)\nif True\n    pass\n",
    "an indentation error": "def f():\npass\n",
    "deep recursion": "def f(n):\n    return f(n + 1)\nf(0)\n",
    "more memory than there is": "x = bytearray(1 << 46)",
    "print to a closed stream": "import sys; sys.stdout.close()\nprint('x')",
    "a replaced stdout": "import io, sys; sys.stdout = io.StringIO(); print('hidden'); sys.stdout = sys.__stdout__; print('seen')",
    "a replaced stdout that stays": "import io, sys; sys.stdout = io.StringIO(); print('hidden')",
    "multiprocessing.dummy": "from multiprocessing.dummy import Pool\nwith Pool(3) as p: print(p.map(abs, [-1, -2]))",
    "asyncio": "import asyncio\nasync def f():\n    await asyncio.sleep(0.01); return 'done'\nprint(asyncio.run(f()))",
    "an asyncio error": "import asyncio\nasync def f(): raise OSError(1, 'no')\nasyncio.run(f())",
    "decimal": "import decimal; print(decimal.getcontext(), decimal.Decimal(1) / 3)",
    "locale": "import locale, sys; print(locale.setlocale(locale.LC_ALL), locale.getlocale(), locale.localeconv()['decimal_point'], locale.getpreferredencoding())",
    "time zone": "import time, datetime; print(time.tzname, time.timezone, time.daylight, time.localtime(0)[:6], datetime.datetime.fromtimestamp(0))",
    "time zone that is set": "import os, time; os.environ['TZ'] = 'XYZ-3'; time.tzset(); print(time.tzname, time.localtime(0)[:6])",
    "arguments": "import sys; print(sys.argv)",
    "warnings": "import warnings; warnings.warn('old', DeprecationWarning); warnings.warn('mine'); warnings.warn('mine')\nassert (1, 'x')\nprint('\\d')",
    "names": "print(__name__, __file__, __doc__, sorted(globals()))",
    "a class and pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))), A.__module__)",
    "dataclasses and typing": "import dataclasses, typing\n@dataclasses.dataclass\nclass A:\n    n: 'int' = 1\nprint(A(), typing.get_type_hints(A))",
    "inspect its own source": "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f))",
    "a signal to itself": "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *a: print('got it'))\nsignal.raise_signal(signal.SIGUSR1)",
    "killed by itself": "import os, signal; print('x', flush=True); os.kill(os.getpid(), signal.SIGKILL)",
    "killed by SIGTERM": "import os, signal; print('x', flush=True); os.kill(os.getpid(), signal.SIGTERM)",
    "keyboard interrupt raised": "raise KeyboardInterrupt",
    "bytes to stdout": "import sys; sys.stdout.buffer.write(bytes(range(256)))",
    "surrogates": "print('\\udc80')",
    "a hostile exception": "class E(Exception):\n    def __str__(self): raise OSError\nraise E",
    "exception group": "raise ExceptionGroup('two', [ValueError(1), TypeError(2)])",
    "excepthook": "import sys; sys.excepthook = lambda *a: print('hook', a[0].__name__)\n1/0",
    "help and exit": "print(exit, quit, callable(help)); exit(4)",
    "contextvars": "import contextvars; print(len(contextvars.copy_context()))",
    "the process is small": "import resource; print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, resource.getrusage(resource.RUSAGE_SELF).ru_utime < 1)",
    "logging": "import logging; logging.warning('w'); logging.info('i'); print(logging.getLogger().handlers)",
    "a forbidden process": "import os\nos.fork()\n",
    "a forbidden socket": "import socket\nsocket.socket()\n",
    "fork sees the children's end": "import threading; print(threading._active.__len__(), threading.get_ident() == threading.main_thread().ident)",
    "zoneinfo": "import zoneinfo\ntry: print(zoneinfo.ZoneInfo('Europe/Berlin'))\nexcept zoneinfo.ZoneInfoNotFoundError as e: print(e)",
    "sqlite": "import sqlite3; print(sqlite3.connect(':memory:').execute('select 6*7').fetchall())",
    "large output": "print('x' * 300000)",
    "a file that moves to another folder": "import os\nos.mkdir('a'); os.mkdir('b'); open('a/x', 'w').close(); os.replace('a/x', 'b/y'); print(os.listdir('a'), os.listdir('b'))",
    "unbuffered order": "import sys\nfor i in range(3): print(i); print(i, file=sys.stderr)",
}  # fmt: skip
SEEN = ("status", "exit_code", "signal", "stdout", "stderr", "error", "reported")
INPUT = "first line\nsecond line\n"


def both_ways(keeper, code, *flags):
    more = {"input": INPUT}
    cold = keeper.remit.json(code, *flags, **more)
    assert cold["start"] == "cold"
    warm = keeper.warm(code, *flags, **more)
    # Addresses of objects may differ
    return [{k: re.sub("0x[0-9a-f]+", "0x", json.dumps(r[k])) for k in SEEN} for r in (cold, warm)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_ends_the_same_cold_and_warm(keeper, name):
    cold, warm = both_ways(keeper, PROGRAMS[name])
    assert warm == cold


FORKS = {
    "a child that ends": "import os\nif os.fork() == 0: print('child'); raise SystemExit(3)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))",
    "a child that fails": "import os\nif os.fork() == 0: 1 / 0\nprint(os.waitstatus_to_exitcode(os.wait()[1]))",
    "a process": "import subprocess; print(subprocess.run(['/bin/echo', 'hi'], capture_output=True).stdout)",
    "multiprocessing": "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))",
    "a child that outlives": "import os, time\nif os.fork() == 0: time.sleep(60)\nprint('end')",
}


@pytest.mark.parametrize("name", FORKS)
def test_program_with_processes_ends_the_same_cold_and_warm(stage, name):
    """Only for an ordinary user: root's plans with subprocesses are always cold, as documented."""
    keeper = SharedKeeper(make_remit("user", stage))
    flags = ("--subprocess", "--memory-fallback", "per_process", "--cpu-fallback", "per_process")
    cold, warm = both_ways(keeper, FORKS[name], *flags)
    keeper.close()
    assert warm == cold


def test_arguments_arrive_the_same_cold_and_warm(keeper):
    keeper.await_child()
    seen = []
    for env in (None, keeper.env):
        done = keeper.remit("run", "--json", "-c", "import sys; print(sys.argv)", "one", "--two", "ü", env=env)
        seen.append(json.loads(done.stdout))
    assert [r["start"] for r in seen] == ["cold", "warm"]
    assert seen[0]["stdout"] == seen[1]["stdout"] == "['main.py', 'one', '--two', 'ü']\n"
