"""The tier `landlock` where a container forbids namespaces, started by root and by an ordinary user."""

import json
import os
import pathlib
import signal
import shutil
import stat
import subprocess
import time

import pytest
from conftest import PYTHON, Remit, enforced
from leftovers import processes, remaining, workspaces
from shared_keeper import SharedKeeper, children, is_alive

CONTAIN = pathlib.Path(__file__).parents[1] / "contain.py"
PRESET = ("--preset", "landlock")


class Contained(Remit):
    """The command in an environment like a container."""

    @property
    def temp(self) -> pathlib.Path:
        """A separate folder: any keeper of the user removes what dead keepers left, including those of other tests."""
        return self.folder / "temp-of-the-container"

    def argv(self, *args: str) -> list[str]:
        return [PYTHON, str(CONTAIN), *super().argv(*args)]

    def env(self, extra: dict[str, str] | None = None) -> dict[str, str]:
        return super().env({"TMPDIR": str(self.temp), **(extra or {})})

    def workspaces(self) -> list[str]:
        return workspaces(self, self.temp)

    def bare(self, code: str, *flags, **more) -> dict:
        return self.json(code, *PRESET, *flags, **more)


@pytest.fixture
def inside(remit):
    one = Contained(remit.label, remit.folder)
    one.temp.mkdir(exist_ok=True)
    one.own(one.temp)
    yield one
    assert remaining(one.workspaces) == []


# ---- choosing the tier ----


def test_doctor_reports_that_only_landlock_tier_works(inside):
    done = inside("doctor")
    assert done.returncode == 1 and "no   user_namespace" in done.stdout, done
    assert "yes  landlock_tier" in done.stdout
    assert 'The tier "local" does not work here.\nThe tier "landlock", a weaker wall, works' in done.stdout
    doc = json.loads(inside("doctor", "--json").stdout)
    assert (doc["local"], doc["landlock"]) == (False, True)


def test_landlock_tier_is_never_chosen_silently(inside):
    result = inside.json("print('ran')")
    assert (result["status"], result["stdout"]) == ("refused", "")
    assert result["error"]["where"] == "tier" and "--preset landlock" in result["error"]["remedy"]


def test_landlock_tier_refuses_each_unenforceable_field_until_lifted(inside):
    flags, missing = ["--tier", "landlock"], []
    for _ in range(9):
        result = inside.json("print('ran')", *flags)
        if result["status"] == "ok":
            break
        assert result["status"] == "refused" and result["stdout"] == ""
        missing.append(result["error"]["where"])
        option = [w for w in result["error"]["remedy"].split() if w.startswith("--")][0]
        flags += [option, "per_process" if "fallback" in option else "unlimited"]
    assert result["status"] == "ok"
    lacking = ["disk_bytes", "files"]
    assert missing == (lacking if inside.by_root else ["memory_bytes", "processes", *lacking])
    strength = {r["field"]: r["strength"] for r in result["enforcement"]}
    assert strength["disk_bytes"] == strength["files"] == "granted"
    assert "not_enforced" not in strength.values()


def test_landlock_result_names_mechanism_of_each_field(inside, covers):
    result = inside.bare("print(6 * 7)")
    assert (result["status"], result["stdout"], result["tier"], result["start"]) == ("ok", "42\n", "landlock", "cold")
    rows = {r["field"]: r for r in result["enforcement"]}
    assert rows["filesystem_read_roots"]["mechanisms"] == ["landlock"]
    assert "are visible" in rows["filesystem_read_roots"]["note"]
    assert rows["network_access"]["mechanisms"] == ["landlock", "seccomp"]
    assert rows["memory_bytes"]["strength"] == ("enforced" if inside.by_root else "fallback")
    assert not any("namespace" in m or "tmpfs" in m for r in rows.values() for m in r["mechanisms"])
    shown = inside("explain", *PRESET).stdout
    assert shown.startswith("tier landlock:") and "are visible" in shown
    matrix = json.loads(inside("matrix", "--json").stdout)
    here = {r["field"]: r["here"] for r in matrix if r["tier"] == "landlock"}
    assert here["subprocess_execution"] == ["landlock", "seccomp"] and here["disk_bytes"] == []


@pytest.mark.parametrize(
    "flags,field",
    [
        (("--subprocess",), "subprocess_execution"),
        (("--workspace-exec",), "workspace_execution"),
        (("--mount", "/usr/share:/data"), "mounts"),
        (("--disk", "1M"), "disk_bytes"),
        (("--files", "100"), "files"),
        (("--preload", "json"), "preload"),
    ],
)
def test_landlock_tier_refuses_unsupported_fields_by_name(inside, flags, field):
    result = inside.bare("print('ran')", *flags)
    assert (result["status"], result["stdout"], result["error"]["where"]) == ("refused", "", field)


@pytest.mark.parametrize("flag,field", [("--disk", "disk_bytes"), ("--files", "files"), ("--processes", "processes")])
def test_local_tier_lets_no_limit_be_lifted(remit, flag, field):
    result = remit.json("print('ran')", flag, "unlimited")
    assert (result["status"], result["error"]["where"]) == ("refused", field)


def test_environment_may_name_landlock_tier_but_not_unsafe(inside):
    lift = ("--disk", "unlimited", "--files", "unlimited", "--processes", "unlimited", "--memory", "unlimited")
    assert inside.json("print(1)", *lift, env={"REMIT_TIER": "landlock"})["tier"] == "landlock"
    assert inside.json("print(1)", "--tier", "unsafe", env={"REMIT_TIER": "landlock"})["tier"] == "unsafe"
    for name in ("unsafe", "nonsense"):
        done = inside("run", "-c", "print('ran')", env={"REMIT_TIER": name})
        assert done.returncode == 2 and "REMIT_TIER" in done.stderr and done.stdout == "", done


def test_landlock_tier_works_with_namespaces_too(remit):
    result = remit.json("print(6 * 7)", *PRESET)
    assert (result["status"], result["stdout"], result["tier"]) == ("ok", "42\n", "landlock")
    assert remit.json("print(1)")["tier"] == "local"


def test_landlock_tier_works_without_free_user_namespaces(any_remit):
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    argv = ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", script, "sh"]
    argv += any_remit.argv("run", "--json", *PRESET, "-c", "import os; print(6 * 7, os.getuid())")
    done = subprocess.run(argv, env=any_remit.env(), cwd=any_remit.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, **any_remit.identity())
    result = json.loads(done.stdout)
    assert (result["status"], result["stdout"]) == ("ok", f"42 {os.stat(any_remit.folder).st_uid}\n"), result


def test_landlock_tier_refuses_root_that_cannot_change_user(stage, remit):
    """The code is never root, not even the root of a container."""
    argv = ["unshare", "--user", "--map-root-user", PYTHON, str(CONTAIN), remit.command, "run", "--json", *PRESET, "-c", "print('ran')"]
    env = {**remit.env(), "XDG_CACHE_HOME": str(remit.folder), "TMPDIR": str(remit.folder)}
    done = subprocess.run(argv, env=env, cwd=remit.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, **remit.identity())
    result = json.loads(done.stdout)
    assert (result["status"], result["stdout"], result["error"]["where"]) == ("refused", "", "tier"), result


def test_interpreter_that_the_jails_user_may_not_execute_is_refused(remit):
    """A jail started by root leases a user, who does not see root's private folders."""
    private = remit.folder / "private"
    private.mkdir(mode=0o700)
    python = private / "python3"
    shutil.copy2("/usr/bin/python3", python)
    remit.own(private)
    remit.own(python)
    result = json.loads(remit("run", "--json", *PRESET, "--python", str(python), "-c", "print(1)").stdout)
    if remit.by_root:
        error = result["error"]
        assert (result["status"], error["where"]) == ("refused", "python"), result
        assert f"may not execute {python}" in error["value"] and "--python /usr/bin/python3" in error["remedy"]
    else:
        assert result["stdout"] == "1\n", result


# ---- the workspace ----


PLACE = """
import os, tempfile
home, temp = os.environ["HOME"], os.environ["TMPDIR"]
assert os.getcwd() == home and os.path.dirname(home) == os.path.dirname(temp)
assert tempfile.gettempdir() == temp
with open("a", "w") as f: f.write("x")
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
os.rename("a", temp + "/b")
print(home)
"""


def test_landlock_workspace_is_private_and_removed(inside):
    one, two = inside.bare(PLACE), inside.bare(PLACE)
    assert one["status"] == two["status"] == "ok", (one, two)
    assert one["stdout"] != two["stdout"]
    assert remaining(lambda: os.path.exists(one["stdout"].strip()) or []) == []


def test_caller_s_tmpdir_is_parent_of_landlock_workspace(inside):
    folder = inside.folder / "temp"
    folder.mkdir(exist_ok=True)
    inside.own(folder)
    result = inside.bare(PLACE, env={"TMPDIR": str(folder)})
    assert result["stdout"].startswith(str(folder)), result
    assert remaining(lambda: list(folder.iterdir())) == []


def test_foreign_folder_is_not_used_for_workspace(inside):
    folder = inside.folder / "trap"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    base = folder / f"remit-{0 if inside.by_root else os.stat(inside.folder).st_uid}"
    (folder / "elsewhere").mkdir(exist_ok=True)
    base.symlink_to("elsewhere")
    result = inside.bare("print('ran')", env={"TMPDIR": str(folder)})
    assert result["status"] == "internal" and "TMPDIR" in result["error"]["value"], result
    assert list((folder / "elsewhere").iterdir()) == []
    base.unlink()


TREES = {
    "links": """
import os
for i, target in enumerate((OUTSIDE, "/", "..", "../..", ".")):
    os.symlink(target, f"link{i}")
os.mkdir("d"); os.symlink(OUTSIDE, "d/link")
""",
    "no rights": """
import os
for name in ("a", "a/b", "a/b/c"):
    os.mkdir(name); open(name + "/f", "w").close()
os.mkdir("z"); open("z/f", "w").close()
os.umask(0o777)
os.mkdir("a/b/none"); os.mkdir("none"); open("f", "w").close()
""",
    "deep": """
import os
for i in range(2500):
    os.mkdir("d"); open("f", "w").close(); os.chdir("d")
""",
    "wide": """
for i in range(5000): open(f"{i}", "w").close()
""",
    "same names elsewhere": """
import os
for i in range(50):
    os.makedirs(f"d/{i}/{i}/x"); open(f"{i}", "w").close(); os.makedirs(f"../tmp/{i}/{i}")
""",
}


@pytest.mark.parametrize("tree", TREES)
def test_landlock_workspace_is_removed_whatever_it_has(inside, tree):
    outside = inside.folder / "outside"
    outside.mkdir(exist_ok=True)
    inside.file("outside/kept", "kept")
    result = inside.bare(f"OUTSIDE = {str(outside)!r}\n{TREES[tree]}\nprint('made')", "--timeout", "200")
    assert result["stdout"] == "made\n", result
    assert remaining(inside.workspaces, 60) == []
    assert (outside / "kept").read_text() == "kept" and stat.S_IMODE(outside.stat().st_mode) == 0o755


# ---- killed processes ----

WAIT = ("--timeout", "200s", "-c", "import os, sys, time; print(os.getcwd(), os.getpid(), flush=True); time.sleep(200)")


def started(inside, env=None):
    p = inside.popen("run", *PRESET, *WAIT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    place, pid = p.stdout.readline().split()
    return p, place, int(pid)


def test_landlock_code_is_killed(inside):
    p, place, pid = started(inside)
    os.kill(pid, signal.SIGKILL)
    p.communicate(timeout=60)
    assert p.returncode == 128 + signal.SIGKILL
    assert remaining(lambda: os.path.exists(place) or []) == []


@pytest.mark.parametrize("cleaner", ["doctor", "keeper"])
def test_landlock_keeper_is_killed(inside, cleaner):
    p, place, pid = started(inside)
    (keeper,) = children(p.pid)
    assert pid in children(keeper)
    os.kill(keeper, signal.SIGKILL)
    p.communicate(timeout=60)
    assert remaining(lambda: is_alive(pid) or []) == [], "the code has outlived its keeper"
    assert os.path.exists(place)
    if cleaner == "doctor":
        assert "and 1 workspaces of killed keepers" in inside("doctor", "--clean").stdout
    else:
        assert inside.bare("pass")["status"] == "ok"
    assert remaining(lambda: os.path.exists(place) or []) == []


def test_landlock_caller_is_killed(inside):
    p, place, pid = started(inside)
    p.kill()
    p.communicate(timeout=60)
    assert remaining(lambda: is_alive(pid) or []) == []
    assert remaining(lambda: processes(inside.command)) == []


def test_workspace_in_use_is_not_cleaned(inside):
    p, place, pid = started(inside)
    assert "and 0 workspaces of killed keepers" in inside("doctor", "--clean").stdout
    assert inside.bare("pass")["status"] == "ok"
    assert os.path.exists(place) and is_alive(pid)
    p.kill()
    p.communicate(timeout=60)


def test_shared_keeper_serves_landlock_tier(inside):
    keeper = SharedKeeper(inside, *PRESET)
    try:
        for _ in range(3):
            result = keeper.json(PLACE, *PRESET)
            assert (result["status"], result["start"]) == ("ok", "cold"), result
        assert keeper.json("print('ran')")["status"] == "refused"
        with inside.popen("run", *PRESET, *WAIT, env=keeper.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
            place = p.stdout.readline().split()[0]
            p.kill()
        assert remaining(lambda: os.path.exists(place) or []) == []
        keeper.until(lambda: keeper.status()["running"] == 0)
    finally:
        keeper.close()
    assert remaining(lambda: processes(inside.command)) == []


# ---- enforcement ----


def fails(code: str, error: str = "PermissionError") -> str:
    return f"try:\n    {code}\n    print('done:', {code!r})\nexcept {error}: pass\n"


def assert_refused(inside, *codes, before="", flags=(), error="PermissionError"):
    """Every one of these calls must fail, and the program must survive them."""
    code = "import os, socket, signal, sys, time\n" + before + "".join(fails(c, error) for c in codes)
    result = inside.bare(code + "print('end')", *flags)
    assert result["stdout"] == "end\n" and result["status"] == "ok", result
    return result


def test_landlock_host_files_cannot_be_read_or_changed(inside, covers):
    secret = inside.file("secret", "secret")
    result = assert_refused(
        inside,
        *(f"open({p!r})" for p in (str(secret), "/etc/passwd", "/proc/self/status", "/proc/self/maps", "/proc/1/environ")),
        *(f"os.listdir({p!r})" for p in ("/", "/tmp", "/proc", "/dev/shm", "..", str(inside.folder))),
        f"open({str(secret)!r}, 'a')",
        f"os.truncate({str(secret)!r}, 0)",
        f"os.open({str(secret)!r}, os.O_RDONLY | os.O_TRUNC)",
        f"os.unlink({str(secret)!r})",
        f"os.rename({str(secret)!r}, 'mine')",
        f"os.chmod({str(secret)!r}, 0)",
        f"os.utime({str(secret)!r}, (0, 0))",
        "open('/tmp/left', 'w')",
        "os.mkdir('/dev/shm/left')",
        "open('/dev/tty')",
        "open(os.__file__, 'a')",
        "os.fchmod(os.open(os.__file__, os.O_RDONLY), 0)",
        "os.mkfifo('fifo')",
    )
    assert_refused(inside, f"os.link({str(secret)!r}, 'mine')", f"os.setxattr({str(secret)!r}, 'user.x', b'x')", error="OSError")
    before = secret.stat()
    assert secret.read_text() == "secret" and before.st_mtime > 1000 and stat.S_IMODE(before.st_mode) == 0o644
    for field in ("filesystem_read_roots", "mounts", "package_installation"):
        assert "landlock" in enforced(result, field)
        covers(inside, field, "landlock", tier="landlock")


def test_landlock_named_folders_can_only_be_read(inside, covers):
    data = inside.file("data/table", "numbers").parent
    data.chmod(0o755)
    inside.folder.chmod(0o755)
    for flags in (("--read", data), ("--mount", f"{data}:{data}")):
        result = assert_refused(
            inside,
            f"open({str(data / 'table')!r}, 'a')", f"os.unlink({str(data / 'table')!r})", f"open({str(data / 'new')!r}, 'w')",
            before=f"assert open({str(data / 'table')!r}).read() == 'numbers'\n", flags=flags,
        )  # fmt: skip
        assert result["status"] == "ok"


def test_landlock_tier_has_no_network(inside, covers):
    families = "AF_INET AF_INET6 AF_UNIX AF_NETLINK AF_PACKET AF_VSOCK AF_ALG".split()
    result = assert_refused(
        inside,
        *(f"socket.socket(socket.{f}, socket.SOCK_DGRAM)" for f in families),
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "socket.getaddrinfo('example.com', 80)",
        error="OSError",
    )
    for field in ("network_access", "package_installation"):
        covers(inside, field, "seccomp", tier="landlock")
    assert "landlock" in enforced(result, "network_access")
    covers(inside, "network_access", "landlock", tier="landlock")


def test_landlock_tier_can_be_granted_network(inside):
    code = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); c = socket.create_connection(s.getsockname()); print('met')"
    result = inside.bare(code + "\ntry: socket.socket(socket.AF_UNIX)\nexcept OSError: print('no unix')", "--net=host")
    assert result["stdout"] == "met\nno unix\n", result
    # This tier cannot restrict code to public hosts.
    result = inside.bare("print('ran')", "--net")
    assert result["status"] == "refused" and "--net=host" in result["error"]["remedy"]


def test_landlock_tier_has_one_process(inside, covers):
    result = assert_refused(
        inside,
        "os.fork()", "os.execv('/bin/true', ['true'])", "os.posix_spawn('/bin/true', ['true'], {})",
        "__import__('subprocess').run(['/bin/true'])", "os.setsid()", "os.nice(1)",
        before="import threading\nt = threading.Thread(target=int); t.start(); t.join()\n",
    )  # fmt: skip
    for mechanism in ("seccomp", "landlock"):
        assert mechanism in enforced(result, "subprocess_execution")
        covers(inside, "subprocess_execution", mechanism, tier="landlock")


def test_landlock_tier_cannot_reach_other_processes(inside):
    with inside.popen("run", *PRESET, *WAIT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as p:
        other = int(p.stdout.readline().split()[1])
        pids = [other, p.pid, *children(p.pid), -1, 1, 2]
        assert_refused(
            inside,
            *(f"os.kill({pid}, 0)" for pid in pids),
            *(f"open('/proc/{other}/{name}')" for name in ("status", "environ", "mem", "maps")),
            f"os.readlink('/proc/{other}/cwd')",
            f"os.sched_setaffinity({other}, [0])",
            f"os.setpriority(os.PRIO_PROCESS, {other}, 5)",
            f"__import__('resource').prlimit({other}, 7)",
            "os.kill(os.getppid(), signal.SIGTERM)",
        )
        result = inside.bare("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
        assert (result["status"], result["signal"]) == ("killed", signal.SIGTERM)
        assert is_alive(other)
        p.kill()


def test_landlock_tier_sets_only_named_variables(inside, covers):
    result = inside.bare("import os; print(sorted(os.environ), os.environ['X'])", "--env", "X=1", env={"SECRET": "s"})
    names = ["HOME", "LANG", "LOGNAME", "MPLBACKEND", "PATH", "TMPDIR", "TZ", "USER", "X"]
    assert set(names) <= set(eval(result["stdout"].rpartition(" ")[0])) and "SECRET" not in result["stdout"]
    for field in ("env", "env_var_access"):
        covers(inside, field, "empty_environment", tier="landlock")


def test_landlock_code_runs_as_unprivileged_user(inside):
    result = inside.bare("import os; print(*os.getresuid(), *os.getresgid(), len(os.getgroups()))")
    ids = [int(n) for n in result["stdout"].split()]
    if inside.by_root:
        assert 0 not in ids[:6] and len(set(ids[:6])) == 1 and ids[6] == 0
    else:
        assert set(ids[:3]) == {os.stat(inside.folder).st_uid}


def test_landlock_limits_are_hit(inside, covers):
    def check_limit(field, mechanism, status, code, *flags, **more):
        result = inside.bare(code, *flags, **more)
        assert result["status"] == status, (field, result)
        if result["enforcement"]:
            assert mechanism in enforced(result, field)
        covers(inside, field, mechanism, tier="landlock")
        return result

    check_limit("timeout", "timer", "timeout", "while True: pass", "--timeout", "500ms")
    spin = "while True: pass"
    result = check_limit("cpu_seconds", "rlimit_cpu", "cpu_limit", spin, "--cpu", "1s", "--timeout", "300s")
    if "cgroup_cpu" in enforced(result, "cpu_seconds"):
        covers(inside, "cpu_seconds", "cgroup_cpu", tier="landlock")
    grow = "x = bytearray(400 << 20)\nprint('had it')"
    if inside.by_root:
        check_limit("memory_bytes", "cgroup_memory", "memory_limit", grow, "--memory", "100M")
    else:
        result = check_limit("memory_bytes", "rlimit_as", "error", grow, "--memory", "200M")
        assert result["error"]["name"] == "MemoryError"
    large = "import os; f = open('f', 'wb')\nfor i in range(9): f.write(bytes(1 << 20)); f.flush()"
    check_limit("file_bytes", "rlimit_fsize", "error", large, "--file-size", "4M")
    check_limit("open_files", "rlimit_nofile", "error", "import os\nwhile True: os.dup(1)", "--open-files", "32")
    check_limit("cpus", "affinity", "ok", "import os; assert len(os.sched_getaffinity(0)) == 1", "--cpus", "1")
    flood = "import sys; print('x' * 5000); print('y' * 5000, file=sys.stderr)"
    result = inside.bare(flood, "--stdout-max", "1k", "--stderr-max", "1k")
    assert len(result["stdout"]) == len(result["stderr"]) == 1024
    for field in ("stdout_max_bytes", "stderr_max_bytes"):
        covers(inside, field, "capture", tier="landlock")
    check_limit("output_ceiling", "capture", "output_limit", "while True: print('x' * 5000)", "--stdout-max", "1k", "--output-ceiling", "5")
    check_limit("code_bytes", "frame_cap", "refused", "#" * 500, "--code-max", "100")
    check_limit("stdin_bytes", "frame_cap", "refused", "import time; time.sleep(60)", "--stdin-max", "10", input="x" * 99)


THREADS = """
import threading, time
n = 0
try:
    while n < 99:
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start(); n += 1
except RuntimeError: pass
print(n + 1)
"""


def test_landlock_threads_are_limited_if_user_is_jail_s(inside, covers):
    result = inside.bare(THREADS, "--processes", "8")
    if not inside.by_root:
        assert (result["status"], result["error"]["where"]) == ("refused", "processes")
        return
    assert (result["status"], result["stdout"]) == ("ok", "8\n"), result
    for mechanism in enforced(result, "processes"):
        covers(inside, "processes", mechanism, tier="landlock")


def test_landlock_files_are_imported_and_exported(remit):
    """The workspace is a folder on the host, but the same rules as elsewhere decide what is exported."""
    given = remit.file("given.txt", "given")
    for n, (code, status) in enumerate(
        [
            ("open('out.txt', 'w').write(open('in/a.txt').read())\nimport os; os.symlink('/etc/passwd', 'link.txt')", "ok"),
            ("open('out.txt', 'w').write('given'); 1/0", "error"),
            ("open('out.txt', 'w').write('given')\nimport time; time.sleep(60)", "timeout"),
        ]
    ):
        folder = remit.folder / f"bare-artifacts-{n}"
        flags = ("--preset", "landlock", "--file", f"{given}:in/a.txt", "--export", "*.txt", "--artifacts", folder)
        result = remit.json(code, *flags, "--timeout", "5s")
        assert result["status"] == status, result
        assert [a["path"] for a in result["artifacts"]] == ["out.txt"]
        assert (folder / "out.txt").read_text() == "given"
        if status == "ok":
            assert [s["path"] for s in result["artifacts_skipped"]] == ["link.txt"]


# flags, the field of the limit, and the reason for skipped files
CAPS = [
    (("--export-file-max", "30k"), "artifact_file_bytes", "larger than artifact_file_bytes"),
    (("--export-max", "50k"), "artifact_bytes", "artifact_bytes is reached"),
    (("--export-files", "1"), "artifact_files", "artifact_files is reached"),
    (("--export-depth", "1"), "artifact_depth", "deeper than artifact_depth"),
    (("--export-time", "1ms"), "artifact_time", "artifact_time"),
    ((), "artifact_export_paths", "a symbolic link"),
]


@pytest.mark.parametrize("flags,field,reason", CAPS, ids=[c[1] for c in CAPS])
def test_landlock_exports_are_limited(remit, covers, flags, field, reason):
    many = 2000 if field == "artifact_time" else 2
    code = (
        "import os\nos.mkdir('d'); open('d/f', 'w').close(); os.symlink('/etc/passwd', 'link')\n"
        f"for n in range({many}): open(str(n), 'w').write('x' * (40_000 if n < 2 else 1000))"
    )
    folder = remit.folder / f"bare-caps-{field}"
    more = ("--export-files", "5000") if field == "artifact_time" else ()
    result = remit.json(code, "--preset", "landlock", "--export", "**", "--artifacts", folder, *more, *flags)
    assert result["status"] == "ok", result
    assert any(reason in s["reason"] for s in result["artifacts_skipped"]), result["artifacts_skipped"]
    assert len(result["artifacts"]) < many + 1 + (field == "artifact_export_paths")
    covers(remit, field, *enforced(result, field), tier="landlock")


def test_landlock_input_is_limited(remit, covers):
    path = remit.file("inputs/bare", b"x" * 3_000_000)
    result = remit.json("print('ran')", "--preset", "landlock", "--input-max", "2M", "--file", f"{path}:x")
    assert result["status"] == "refused" and "input_bytes" in result["error"]["value"], result
    covers(remit, "input_bytes", "frame_cap", tier="landlock")
