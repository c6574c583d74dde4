"""What code finds inside a jail: the list in docs/reference/inside.md."""

import json

from conftest import enforced

LOOK = r"""
import getpass, json, os, pwd, signal, socket, sys, tempfile, time, locale
def listing(path):
    try: return sorted(os.listdir(path))
    except OSError as e: return type(e).__name__
print(json.dumps({
    "env": dict(os.environ), "cwd": os.getcwd(), "home": os.path.expanduser("~"), "tmp": tempfile.gettempdir(),
    "user": getpass.getuser(), "passwd": pwd.getpwuid(os.getuid())[0], "ids": [os.getuid(), os.getgid(), os.getpid(), os.getppid()],
    "host": socket.gethostname() if hasattr(socket, "gethostname") else "", "uname": os.uname().nodename,
    "cpus": [os.cpu_count(), len(os.sched_getaffinity(0))], "tz": time.tzname, "encoding": [sys.stdout.encoding, sys.getfilesystemencoding()],
    "sigint": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    "proc": listing("/proc"), "sys": listing("/sys"), "root": listing("/"), "dev": listing("/dev"),
    "workspace": listing("/workspace"), "shm": listing("/dev/shm"), "tty": [os.isatty(i) for i in range(3)],
    "umask": os.umask(0o22), "executable": sys.executable, "flags": [sys.flags.isolated], "argv": sys.argv, "main": __name__,
    "builtins": [callable(exit), callable(quit), callable(help)],
}))
"""


def look(remit, *flags):
    return json.loads(remit.json(LOOK, *flags)["stdout"])


def test_jail_has_documented_environment(remit):
    seen = look(remit)
    env = seen.pop("env")
    env.pop("MPLCONFIGDIR", None)
    threads = {k: env.pop(k, None) for k in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")}
    assert set(threads.values()) == ({None} if remit.by_root else {"1"})
    assert env == {
        "HOME": "/workspace", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC", "USER": "remit",
        "LOGNAME": "remit", "PATH": "/usr/local/bin:/usr/bin:/bin", "MPLBACKEND": "Agg",
    }  # fmt: skip
    assert seen["cwd"] == seen["home"] == "/workspace" and seen["tmp"] == "/tmp"
    assert seen["user"] == seen["passwd"] == "remit"
    assert seen["ids"] == [1000, 1000, 2, 1]
    assert seen["uname"] == "remit" and seen["tz"] == ["UTC", "UTC"]
    assert seen["cpus"][0] == seen["cpus"][1] <= 2
    assert seen["encoding"] == ["utf-8", "utf-8"]
    assert seen["sigint"] and seen["umask"] == 0o22 and seen["tty"] == [False] * 3
    assert seen["sys"] == "FileNotFoundError"
    assert seen["root"] == seen["dev"] == seen["proc"] == "PermissionError"
    assert seen["workspace"] == seen["shm"] == []
    assert seen["executable"] == "/usr/bin/python3" and seen["flags"] == [1]
    assert seen["argv"] == ["main.py"] and seen["main"] == "__main__" and seen["builtins"] == [True] * 3


def test_named_variables_are_set_and_no_others(remit, covers):
    result = remit.json(
        "import os; print(os.environ['A'], os.environ['B'], 'SECRET' in os.environ)\n"
        "import ctypes; g = ctypes.CDLL(None).getenv; g.restype = ctypes.c_char_p; print(g(b'A'), g(b'SECRET'))",
        "--env", "A=1=2", "--env", "B",
        env={"B": "from the caller", "SECRET": "planted"},
    )  # fmt: skip
    assert result["stdout"] == "1=2 from the caller False\nb'1=2' None\n"
    covers(remit, "env", *enforced(result, "env"))
    covers(remit, "env_var_access", *enforced(result, "env_var_access"))


def test_caller_s_environment_needs_grant(remit):
    result = remit.json("import os; print(os.environ.get('SECRET'))", "--env-access", env={"SECRET": "given"})
    assert result["stdout"] == "given\n"
    (row,) = [r for r in result["enforcement"] if r["field"] == "env_var_access"]
    assert row["strength"] == "granted"


def test_loader_variables_act_only_inside_jail(remit):
    """Variables that would load a library into the interpreter are only data inside."""
    result = remit.json(
        "import os; print(os.environ['LD_PRELOAD'], os.environ['PYTHONSTARTUP'])",
        "--env", "LD_PRELOAD=/workspace/evil.so", "--env", "PYTHONSTARTUP=/workspace/x.py",
    )  # fmt: skip
    assert result["status"] == "ok" and result["stderr"] == ""


def test_read_root_is_readable_and_siblings_are_not(remit, covers):
    remit.file("data/public/a.txt", "seen")
    remit.file("data/private/b.txt", "hidden")
    secret = remit.file("data/public/mode600.txt", "owner only")
    secret.chmod(0o600)
    for path in (remit.folder / "data").rglob("*"):
        remit.own(path)
    remit.own(remit.folder / "data")
    (remit.folder / "data" / "public").chmod(0o700)
    root = remit.folder / "data" / "public"
    code = (
        f"import os\nprint(open('{root}/a.txt').read(), open('{root}/mode600.txt').read())\n"
        f"print(sorted(os.listdir('{root}')))\n"
        "def attempt(f):\n    try: f(); print('done')\n    except OSError as e: print(type(e).__name__, e.errno)\n"
        f"attempt(lambda: open('{root}/../private/b.txt'))\n"
        f"attempt(lambda: os.listdir('{root}/..'))\n"
        f"attempt(lambda: open('{root}/a.txt', 'w'))\n"
        f"attempt(lambda: open('{root}/new', 'w'))\n"
        f"attempt(lambda: os.chmod('{root}/a.txt', 0o777))\n"
    )
    result = remit.json(code, "--read", root)
    lines = result["stdout"].splitlines()
    assert lines[0] == "seen owner only" and lines[1] == "['a.txt', 'mode600.txt']"
    assert lines[2] == "FileNotFoundError 2"
    assert "done" not in lines[3:] and len(lines) == 7, lines
    covers(remit, "filesystem_read_roots", *enforced(result, "filesystem_read_roots"))
    code = "print(open('/data/a.txt').read())"
    result = remit.json(code, "--mount", f"{root}:/data:ro")
    assert result["stdout"] == "seen\n"
    covers(remit, "mounts", *enforced(result, "mounts"))
    result = remit.json("print(open('/data.txt').read())", "--mount", f"{root}/a.txt:/data.txt")
    assert result["stdout"] == "seen\n"


def test_mount_points_may_lie_below_writable_folders(remit):
    root = remit.file("below/a.txt", "seen").parent
    code = "import os; print(os.listdir('.'), open('data/a.txt').read()); open('mine', 'w')\ntry: open('data/new', 'w')\nexcept OSError as e: print(e.errno)"
    assert remit.json(code, "--mount", f"{root}:/workspace/data")["stdout"] == "['data'] seen\n30\n"
    code = "print(open('/tmp/deep/er/a.txt').read()); open('/tmp/mine', 'w')"
    assert remit.json(code, "--mount", f"{root}:/tmp/deep/er")["stdout"] == "seen\n"


def test_nested_folders_are_refused(remit):
    root = remit.file("nested/inner/a.txt", "x").parents[1]
    result = remit.json("print('ran')", "--read", root, "--mount", f"{root}/inner:{root}/inner")
    assert result["status"] == "refused" and "is inside" in result["error"]["value"]


def test_mount_point_is_not_made_through_link(remit):
    """As long as the host's root is the root, an absolute link would lead into the host."""
    victim = remit.file("victim/keep", "").parent
    repo = remit.file("repo/readme", "").parent
    data = remit.file("data2/x", "").parent
    for path in (victim, repo, data):
        remit.own(path)
    if not (repo / "sub").is_symlink():
        (repo / "sub").symlink_to(victim)
    remit.json("pass", "--read", repo, "--mount", f"{data}:{repo}/sub/planted")
    assert sorted(p.name for p in victim.iterdir()) == ["keep"]


def test_numpy_runs_under_default_policy(remit):
    """Even where the address space is limited, which its threads would exceed."""
    result = remit.json("import numpy as np; print(np.ones((50, 50)).sum())")
    assert (result["status"], result["stdout"]) == ("ok", "2500.0\n"), result


def test_missing_read_root_is_refused_by_name(remit):
    done = remit("run", "--read", "/nowhere/at/all", "-c", "print(1)")
    assert done.returncode == 125 and "filesystem_read_roots: /nowhere/at/all" in done.stderr


def test_packages_cannot_be_installed(remit, covers):
    code = (
        "import sys, os\nfor p in sys.path:\n    try: open(p + '/evil.py', 'w'); print('wrote', p)\n    except OSError: pass\n"
        "try:\n    import pip._internal.cli.main as m; print('pip', m.main(['install', '--quiet', 'six']))\n"
        "except BaseException as e: print(type(e).__name__)\n"
    )
    result = remit.json(code)
    assert "wrote" not in result["stdout"] and "pip 0" not in result["stdout"]
    covers(remit, "package_installation", *enforced(result, "package_installation"))


def test_subprocesses_and_network_need_grant(remit):
    code = "import subprocess; print(subprocess.run(['/bin/echo', 'hi'], capture_output=True, text=True).stdout)"
    assert remit.json(code)["error"]["name"] == "PermissionError"
    flags = ["--subprocess"]
    if not remit.by_root:
        flags += ["--memory-fallback", "per_process", "--cpu-fallback", "per_process"]
    result = remit.json(code, *flags)
    assert result["stdout"] == "hi\n\n", result
    rows = {r["field"]: r for r in result["enforcement"]}
    assert rows["subprocess_execution"]["strength"] == "granted"
    if not remit.by_root:
        assert rows["memory_bytes"]["strength"] == rows["cpu_seconds"]["strength"] == "fallback"
    code = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print('bound')"
    assert remit.json(code)["error"]["name"] == "PermissionError"
    flags = ["--net"] if remit.by_root else ["--net", "--memory-fallback", "per_process"]
    assert remit.json(code, *flags)["stdout"] == "bound\n"


# An ordinary user cannot write cgroups, and must accept limits of each process.
def programs(remit):
    return ["--subprocess"] + ([] if remit.by_root else ["--memory-fallback", "per_process", "--cpu-fallback", "per_process"])


def test_users_that_libraries_look_up_have_names(remit):
    code = (
        "import grp, os, platform, pwd, tarfile\n"
        "print([pwd.getpwuid(n).pw_name for n in (0, 1000, 65534)], [grp.getgrgid(n).gr_name for n in (0, 1000, 65534)])\n"
        "print(len(pwd.getpwall()), len(grp.getgrall()), platform.freedesktop_os_release()['ID'])"
    )
    assert remit.json(code)["stdout"] == "['root', 'remit', 'nobody'] ['root', 'remit', 'nogroup']\n3 3 remit\n"


def test_ports_and_protocols_have_names(remit):
    code = (
        "import socket\n"
        "print([socket.getservbyname(name) for name in ('http', 'https', 'domain')], socket.getservbyport(53, 'udp'), socket.getprotobyname('udp'))\n"
        "print(socket.getaddrinfo('127.0.0.1', 'http', type=socket.SOCK_STREAM)[0][4])"
    )
    assert remit.json(code)["stdout"] == "[80, 443, 53] domain 17\n('127.0.0.1', 80)\n"


def test_questions_about_pipes_and_scheduling_are_answered(remit):
    code = (
        "import fcntl, os\n"
        "print(fcntl.fcntl(os.pipe()[0], 1032), os.sched_rr_get_interval(0) >= 0)\n"
        "try: fcntl.fcntl(os.pipe()[0], 1031, 1 << 20)\n"
        "except PermissionError: print('the size cannot be set')"
    )
    assert remit.json(code)["stdout"] == "65536 True\nthe size cannot be set\n"


def test_programs_of_the_shell_neither_fail_nor_warn(remit):
    """They continue if a call is missing. If it is forbidden, they fail or warn."""
    script = (
        "set -e; echo 1 > a; cp -p a b; cp -a a c; install -m 644 a d; sed -i s/1/2/ a; tar cf t.tar b; tar xf t.tar; "
        "nice -n 5 cat a; timeout 5 cat b; timeout 1 sleep 20 || echo $?"
    )
    code = f"import subprocess; p = subprocess.run({script!r}, shell=True, capture_output=True, text=True); print(p)"
    result = remit.json(code, *programs(remit))
    assert "returncode=0, stdout='2\\n1\\n124\\n', stderr=''" in result["stdout"], result


def test_figures_of_proc_are_the_limits_of_the_policy(remit):
    code = (
        "import os\n"
        "print([line.split()[1] for line in open('/proc/meminfo') if line.startswith(('MemTotal', 'MemAvailable'))])\n"
        "print(open('/proc/cpuinfo').read().count('processor'), os.cpu_count())\n"
        "for name in ('self', 'thread-self', '1', '2', 'net', 'sys', 'version', 'kcore'): print(os.path.lexists('/proc/' + name), end=' ')\n"
        "for name in ('cpuinfo', 'meminfo'):\n"
        "    try: open('/proc/' + name, 'a')\n"
        "    except OSError as e: print(e.strerror)\n"
    )
    result = remit.json(code, "--memory", "300M", "--cpus", "1")
    assert result["stdout"] == "['307200', '307200']\n1 1\n" + "False " * 8 + "Read-only file system\n" * 2, result


def test_zeros_only_where_a_cgroup_counts_memory(remit):
    """A limit of the address space does not count a shared mapping of /dev/zero."""
    result = remit.json("print(open('/dev/zero', 'rb').read(3))", "--memory", "300M")
    if "cgroup_memory" in enforced(result, "memory_bytes"):
        assert result["stdout"] == "b'\\x00\\x00\\x00'\n", result
        code = "import mmap, os\nm = mmap.mmap(os.open('/dev/zero', os.O_RDWR), 600 << 20)\nfor at in range(0, 600 << 20, 4096): m[at] = 1"
        assert remit.json(code, "--memory", "300M")["status"] == "memory_limit"
    else:
        assert result["error"]["name"] == "FileNotFoundError", result


def test_two_runs_share_nothing_they_can_write(remit):
    code = "import os; print([os.listdir(p) for p in ('/workspace', '/dev/shm')], 'left' in os.listdir('/tmp')); [open(p + '/left', 'w') for p in ('/workspace', '/tmp', '/dev/shm')]"
    assert remit.json(code)["stdout"] == remit.json(code)["stdout"] == "[[], []] False\n"


def test_random_state_differs_between_runs(remit):
    code = "import random, uuid, secrets, tempfile, ssl; print(random.random(), uuid.uuid4(), secrets.token_hex(), next(tempfile._get_candidate_names()), ssl.RAND_bytes(8))"
    seen = [remit.json(code)["stdout"].split() for _ in range(4)]
    for column in zip(*seen):
        assert len(set(column)) == 4
