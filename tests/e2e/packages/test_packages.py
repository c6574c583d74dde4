"""packages: a jailed run installs them from an index on loopback, they are sealed, and programs only read them."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import threading
import time

import network_here
import package_index
import pytest
from conftest import PYTHON, enforced, skip_or_fail
from leftovers import processes, remaining
from network_world import METADATA, PUBLIC
from package_index import Wheel
from session_client import SessionClient
from shared_keeper import SharedKeeper, children
from waiting import until

INSIDE = "/.remit/packages"
ASK = "import demo_pkg; print(demo_pkg.value, demo_pkg.__file__)"


@pytest.fixture(scope="module")
def index(stage):
    folder = stage / "index"
    Wheel("Demo.pkg", requires=("dep_one>=1",)).add("demo_pkg/__init__.py", "import dep_one\nvalue = 41 + dep_one.one\n").add(
        "demo_pkg/.hidden", "x"
    ).scripts(demo="demo_pkg:main").write(folder)
    Wheel("dep_one", "1.5").add("dep_one.py", "one = 1\n").write(folder)
    Wheel("dep_one", "2.0").add("dep_one.py", "one = 2\n").write(folder)
    with package_index.serve(folder) as served:
        yield served


def known_machine(remit):
    """A cache with the probe results of the machine and the interpreter, and nothing else."""
    cache = remit.folder.parent / remit.label / "known"
    if not cache.exists():
        cache.mkdir(mode=0o700)
        remit.own(cache)
        assert remit.json("1", "--python", PYTHON, env={"XDG_CACHE_HOME": str(cache)})["status"] == "ok"
    return cache


class Shop:
    """The command with a separate cache and this index."""

    def __init__(self, remit, index, name):
        self.remit, self.index = remit, index
        self.cache = remit.folder / f"cache-{name}"
        shutil.copytree(known_machine(remit), self.cache)
        for path in (self.cache, *self.cache.rglob("*")):
            remit.own(path)
        self.env = {"XDG_CACHE_HOME": str(self.cache)}
        self.source = ("--python", PYTHON, "--index-url", index.url)

    def json(self, code, *flags, source=None, env=None, **more):
        return self.remit.json(code, *(self.source if source is None else source), *flags, env={**self.env, **(env or {})}, **more)

    def __call__(self, *args, **more):
        return self.remit(*args, env=self.env, **more)

    @property
    def store(self):
        return self.cache / "remit" / "packages"

    def package_layers(self):
        return json.loads(self("packages", "list", "--json").stdout)

    def downloads(self, since=0):
        return [p for p in self.index.asked[since:] if p.startswith("/files/")]


@pytest.fixture
def shop(remit, index, request):
    made = Shop(remit, index, request.node.name.partition("[")[0])
    yield made
    shutil.rmtree(made.cache, ignore_errors=True)


def reason(result, status="install_failed"):
    assert result["status"] == status and result["start"] is None and result["stdout"] == "", result
    assert result["remit_exit_code"] == (126 if status == "install_failed" else 125)
    return result["error"]["value"]


# ---- installed packages can be imported ----


def test_package_and_dependencies_are_importable_and_read_only(shop, index, covers):
    code = ASK + """
import os
for path in ("/.remit/packages/x", "/.remit/packages/demo_pkg/__init__.py"):
    try: open(path, "a")
    except OSError as e: print(type(e).__name__, e.errno)
try: os.chmod("/.remit/packages/dep_one.py", 0o666)
except OSError as e: print(type(e).__name__, e.errno)
print(os.path.exists("/.remit/packages/demo_pkg/.hidden"), oct(os.stat("/.remit/packages/bin/demo").st_mode))
"""
    first = shop.json(code, "--package", "demo-pkg", "--package", "dep_one<2")
    assert first["status"] == "ok", first
    lines = first["stdout"].splitlines()
    assert lines[0] == f"42 {INSIDE}/demo_pkg/__init__.py"
    assert set(lines[1:4]) <= {"OSError 30", "PermissionError 13", "PermissionError 1"} and len(lines) == 5, lines
    assert lines[4] == "True 0o100555"
    assert enforced(first, "packages") == ["mount_namespace", "landlock"]
    covers(shop.remit, "packages", "mount_namespace", "landlock")
    # The list is installed once, whatever the sequence and spelling of its packages.
    asked = len(index.asked)
    again = shop.json(code, "--package", "dep-one < 2", "--package", "Demo.Pkg")
    assert again["stdout"] == first["stdout"] and len(index.asked) == asked
    (package_layer,) = shop.package_layers()
    assert package_layer["wheels"] == ["demo.pkg==1.0", "dep-one==1.5"]


def test_package_is_compiled_once(shop):
    code = "import demo_pkg, os; print(demo_pkg.__cached__, os.path.exists(demo_pkg.__cached__))"
    lines = shop.json(code, "--package", "demo-pkg")["stdout"].split()
    assert lines[0].startswith(INSIDE) and lines[1] == "True"


def test_packages_follow_standard_library_and_precede_site_packages(shop):
    code = "import sys; p = sys.path; print(p.index('/.remit/packages') > max(i for i, e in enumerate(p) if e.endswith('lib-dynload')), all('dist-packages' in e or 'site-packages' in e for e in p[p.index('/.remit/packages') + 1:]))"
    assert shop.json(code, "--package", "dep_one")["stdout"] == "True True\n"


def test_landlock_tier_has_packages(shop, covers):
    result = shop.json(ASK, "--package", "demo-pkg", "--preset", "landlock")
    if shop.remit.by_root:
        assert "root's packages" in reason(result, "refused")
        return
    value, path = result["stdout"].split()
    assert value == "43" and path.startswith(str(shop.store))
    assert enforced(result, "packages") == ["landlock"]
    covers(shop.remit, "packages", "landlock", tier="landlock")
    denied = shop.json(f"open({path!r}, 'a')", "--package", "demo-pkg", "--preset", "landlock")
    assert denied["error"]["name"] == "PermissionError"


def test_static_tier_checks_imports_of_packages(shop, covers):
    """The check also finds out whether a module exists."""
    assert shop.json("import demo_pkg", "--package", "demo-pkg", "--tier", "static")["status"] == "ok"
    assert shop.json("import demo_pkg", "--tier", "static")["status"] == "rejected"
    covers(shop.remit, "packages", "mount_namespace", "landlock", tier="static")
    assert "no jail" in reason(shop.json("1", "--package", "demo-pkg", "--tier", "unsafe"), "refused")


# ---- warm starts ----


def test_preloaded_versions_of_module_are_separate(shop):
    """Two versions of one module, both preloaded, in one keeper: no program gets the other's."""
    flags = ("--python", PYTHON, "--offline", "--find-links", str(shop.index.folder))
    code = "import sys; print('dep_one' in sys.modules, __import__('dep_one').one)"
    with contextlib.closing(SharedKeeper(shop.remit, env=shop.env)) as keeper:
        for wanted, version in (("1", "dep_one<2"), ("2", "dep_one>=2")):
            result = keeper.json(code, *flags, "--package", version, "--preload", "dep_one")
            assert result["stdout"] == f"True {wanted}\n" and result["start"] == "warm", result
            warm = keeper.warm("import dep_one; print(dep_one.one)", *flags, "--package", version)
            assert warm["stdout"] == f"{wanted}\n"
        none = keeper.json("import dep_one", "--python", PYTHON)
        assert none["error"]["name"] == "ModuleNotFoundError"


IMPORTED = """
import os, sys
may = []
for pid in map(int, os.environ.get("PIDS", "0").split(",")):
    try:
        os.kill(pid, 0)
        may.append(pid)
    except OSError:
        pass
try:
    os.fork()
    forked = True
except OSError:
    forked = False
print("printed while it is imported")
"""
SOURCES = {
    "preload_kind": IMPORTED,
    "preload_fails": "raise ValueError('no luck\\x1b[31m')",
    "preload_exits": "import os; os._exit(3)",
    "preload_eats": "kept = bytearray(3 << 30)",
    "preload_spins": "import threading, time\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()",
}


@pytest.fixture
def preloads(shop):
    for name, text in SOURCES.items():
        Wheel(name).add(f"{name}.py", text).write(shop.index.folder)
    return ("--python", PYTHON, "--offline", "--find-links", str(shop.index.folder))


def test_preload_from_package_is_imported_in_jail(shop, preloads):
    """In a zygote the module could signal the keeper, start processes that outlive it, and use uncounted memory."""
    with contextlib.closing(SharedKeeper(shop.remit, env=shop.env)) as keeper:
        code = "import preload_kind as m, os; print(m.may, m.forked, os.getpid())"
        flags = (*preloads, "--package", "preload_kind", "--preload", "preload_kind", "--env", f"PIDS={keeper.process.pid},{os.getpid()}")
        results = [keeper.json(code, *flags) for _ in range(3)]
        assert [r["stdout"] for r in results] == ["[] False 2\n"] * 3, results
        assert {r["start"] for r in results} == {"warm"}
        (pool,) = [p for p in keeper.status()["pools"] if p["preload"]]
        assert pool["warm"] and all(z["preload"] == [] for z in keeper.status()["zygotes"])


def stopped(keeper) -> list[int]:
    """Stopped processes in the keeper's jails."""
    return [pid for pid in children(keeper.pid) if proc_stat(pid)[0] == "T"]


def proc_stat(pid: int) -> tuple[str, int]:
    """A process's state and its ticks of processor time."""
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return words[0], int(words[11]) + int(words[12])


def test_preloaded_packages_use_little_memory_and_no_cpu_time(shop, preloads):
    """No policy and no key of a server counts what a package's code uses while it waits for a program."""
    flags = (*preloads, "--package", "preload_spins", "--preload", "preload_spins", "--memory", "400M")
    with contextlib.closing(SharedKeeper(shop.remit, env=shop.env)) as keeper:
        assert keeper.json("print(1)", *flags)["stdout"] == "1\n"
        runs = [keeper.remit.popen("run", "--json", *flags, "-c", "print(1)", env=keeper.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) for _ in range(6)]
        assert [json.loads(run.communicate()[0])["stdout"] for run in runs] == ["1\n"] * 6
        pool = keeper.until(lambda: next((p for p in keeper.status()["pools"] if p["preload"] and p["waiting"] and not p["building"]), None))
        assert pool["waiting"] <= 2, pool  # at most 1 GiB for children with modules of packages
        waiting = keeper.until(lambda: stopped(keeper))[-1]
        before = proc_stat(waiting)
        assert keeper.json("print(1)", "--python", PYTHON)["stdout"] == "1\n"
        assert proc_stat(waiting) == before
        result = keeper.json("import threading; print(threading.active_count())", *flags)
        assert (result["start"], result["stdout"]) == ("warm", "2\n"), result


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("preload_fails", "importing preload_fails failed: ValueError: no luck [31m"),
        ("preload_exits", "the interpreter died while it imported (preload: preload_exits)"),
        ("preload_eats", "preload_eats"),
        ("preload_missing", "importing preload_missing failed: ModuleNotFoundError"),
    ],
)
def test_failing_preload_from_package_is_refused_by_name(shop, preloads, module, words):
    result = shop.json("print('ran')", *preloads, "--package", "preload_kind", "--package", module.replace("missing", "kind"), "--preload", module)
    assert words in reason(result, "refused") and result["stdout"] == "", result
    assert result["error"]["remedy"].startswith("Remove the module from preload"), result["error"]


def test_shared_keeper_installs_once_for_all(shop, index):
    asked = len(index.asked)
    with contextlib.closing(SharedKeeper(shop.remit, env=shop.env)) as keeper:
        results = []
        threads = [threading.Thread(target=lambda: results.append(keeper.json(ASK, *shop.source, "--package", "demo-pkg"))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [r["stdout"].split()[0] for r in results] == ["43"] * 4, results
        assert len(shop.downloads(asked)) == 2  # one download for each package
        assert keeper.warm(ASK, *shop.source, "--package", "demo-pkg")["stdout"].startswith("43 ")
        # The jails that installed are not kept warm.
        assert sum(pool["target"] > 0 for pool in keeper.status()["pools"]) <= 2


def test_session_has_packages(shop):
    policy = {"python": PYTHON, "package_index": shop.index.url, "packages": ["demo-pkg"]}
    client = SessionClient(shop.remit, {**shop.env, "REMIT_KEEPER": ""})
    try:
        client.open(policy=policy)
        client.run("import demo_pkg")
        assert client.run("print(demo_pkg.value)")["stdout"] == "43\n"
        failed = client.request("open", session="t", policy={**policy, "packages": ["demo-pkg==9"]})
        assert "No matching distribution" in failed["failed"]["message"], failed
    finally:
        client.leave()


def test_interpreters_that_code_starts_have_the_packages(shop):
    """Such as the workers of joblib, or `python -m pytest`."""
    flags = ("--python", PYTHON, "--offline", "--find-links", str(shop.index.folder), "--package", "dep_one")
    more = ["--subprocess"] + ([] if shop.remit.by_root else ["--memory-fallback", "per_process", "--cpu-fallback", "per_process"])
    code = (
        "import subprocess, sys\n"
        "for flags in ([], subprocess._args_from_interpreter_flags()):\n"
        "    subprocess.run([sys.executable, *flags, '-c', 'import dep_one; print(dep_one.__name__)'], check=True)"
    )
    result = shop.json(code, *flags, *more)
    assert result["stdout"] == "dep_one\ndep_one\n", result


def test_package_in_use_is_not_pruned(shop):
    flags = ("--python", PYTHON, "--offline", "--find-links", str(shop.index.folder), "--package", "dep_one")
    with contextlib.closing(SharedKeeper(shop.remit, env=shop.env)) as keeper:
        assert keeper.json("import dep_one", *flags)["status"] == "ok"
        assert shop("packages", "prune", "--all").stdout == "removed 0 (0 B), 1 in use\n"
        assert keeper.json("import dep_one", *flags)["status"] == "ok"
    assert shop("packages", "prune", "--all").stdout.startswith("removed 1 (")
    assert shop.package_layers() == [] and list(shop.store.glob("new/*")) == []


# ---- sources of packages ----


def test_packages_are_installed_offline_from_folder(shop, index):
    asked = len(index.asked)
    flags = ("--offline", "--find-links", index.folder)
    result = shop.json(ASK, *flags, "--package", "demo-pkg")
    assert result["stdout"].startswith("43 ") and len(index.asked) == asked
    assert "No matching distribution found for nothing" in reason(shop.json("print(1)", *flags, "--package", "nothing"))


def test_folder_adds_to_index(shop, stage):
    folder = stage / f"more-{shop.remit.label}"
    Wheel("extra_one", requires=("dep_one==1.5",)).add("extra_one.py", "import dep_one; v = dep_one.one").write(folder)
    flags = ("--find-links", folder, "--package", "extra_one")
    assert shop.json("import extra_one; print(extra_one.v)", *flags)["stdout"] == "1\n"
    # Another file with the same name is another package.
    Wheel("extra_one", requires=("dep_one==2.0",)).add("extra_one.py", "import dep_one; v = dep_one.one").write(folder)
    assert shop.json("import extra_one; print(extra_one.v)", *flags)["stdout"] == "2\n"


def test_packages_are_installed_from_files_and_addresses(shop, index):
    path = index.folder / "dep_one-1.5-py3-none-any.whl"
    code = "import dep_one; print(dep_one.one)"
    assert shop.json(code, "--package-direct", path, "--offline")["stdout"] == "1\n"
    url = f"http://{index.host}/files/dep_one-2.0-py3-none-any.whl"
    assert shop.json(code, "--package-direct", url)["stdout"] == "2\n"


@pytest.mark.parametrize("text", ["-r/etc/passwd", "https://example.com/x.whl", "x @ https://example.com/x", "./x", "/x.whl", "x;y"])
def test_package_that_names_its_source_is_refused(any_remit, text):
    result = any_remit.json("print(1)", "--python", PYTHON, f"--package={text}")
    assert "looks like" in reason(result, "refused") or "marker" in reason(result, "refused")
    assert result["error"]["where"] == "packages" and result["error"]["remedy"]


def test_index_cannot_redirect_to_local_hosts(shop, index, stage):
    """The index names an address of this machine, which only the policy may allow."""
    with package_index.serve(stage / f"elsewhere-{shop.remit.label}") as other:
        Wheel("far_one").add("far_one.py").write(other.folder)
        index.pages["far-one"] = f'<a href="http://{other.host}/files/far_one-1.0-py3-none-any.whl">far_one-1.0-py3-none-any.whl</a>'
        assert shop.json("1", "--package", "far_one")["status"] == "install_failed"
        assert other.asked == []
        named = shop.json("import far_one", "--package", "far_one", "--package-host", other.host)
        assert named["status"] == "ok" and len(other.asked) == 1, named


@pytest.fixture(scope="module")
def world(stage):
    """A test internet with an index whose files are on another host with TLS."""
    with network_here.start(stage / "package-world") as w:
        www = w.folder / "www"
        name = "tls_one-1.0-py3-none-any.whl"
        Wheel("tls_one").add("tls_one.py", "v = 5").write(www / "files.example.org")
        for project, host in (("tls-one", "files.example.org"), ("inner-one", "inner.example.com"), ("meta-one", METADATA)):
            page = www / "api.example.com" / "simple" / project
            page.parent.mkdir(parents=True, exist_ok=True)
            file = name.replace("tls_one", project.replace("-", "_"))
            page.write_text(f'<!DOCTYPE html><html><body><a href="https://{host}/{file}">{file}</a></body></html>')
        # On that machine, its test CA is trusted.
        bundle = w.folder / "bundle.pem"
        bundle.write_text(pathlib.Path("/etc/ssl/certs/ca-certificates.crt").read_text() + w.ca)
        enter = ["nsenter", "-t", str(w.process.pid), "-m"]
        subprocess.run([*enter, "mount", "--bind", bundle, "/etc/ssl/certs/ca-certificates.crt"], check=True)
        yield w


def test_index_and_file_hosts_are_reached_by_tls(remit, index, world, request):
    here = Shop(world.inside(remit), index, request.node.name.partition("[")[0])
    source = ("--python", PYTHON, "--index-url", "https://api.example.com/simple/")
    mark = world.mark()
    result = here.json("import tls_one; print(tls_one.v)", "--package", "tls_one", source=source)
    assert result["stdout"] == "5\n", result["error"]
    assert {line for line in world.seen(mark) if line.startswith("question")} <= {
        f"question {name} {kind}" for name in ("api.example.com", "files.example.org") for kind in (1, 28)
    }
    # A name with a private address and a literal address: neither is reached.
    mark = world.mark()
    inner = here.json("1", "--package", "inner_one", source=source)
    assert "inner.example.com" in reason(inner) and "--package-host inner.example.com:443:private" in inner["error"]["remedy"]
    reason(here.json("1", "--package", "meta_one", source=source))
    assert {line.split()[1] for line in world.seen(mark) if line.startswith("connection")} == {PUBLIC}
    shutil.rmtree(here.cache, ignore_errors=True)


def test_index_with_password_is_refused(any_remit):
    result = any_remit.json("1", "--python", PYTHON, "--package", "x", "--index-url", "https://me:word@example.com/")
    assert "password" in reason(result, "refused") and "word@" not in json.dumps(result["error"])


# ---- failures ----


def test_failed_installation_gives_reason_and_is_cached(shop, index):
    flags = ("--package", "demo-pkg==9")
    why = reason(shop.json("print('ran')", *flags))
    assert "No matching distribution found for demo-pkg==9" in why
    done = shop("run", *shop.source, *flags, "-c", "print('ran')")
    assert done.returncode == 126 and done.stdout == "" and "install_failed" in done.stderr
    asked = len(index.asked)
    assert "less than a minute ago" in reason(shop.json("print('ran')", *flags))
    assert len(index.asked) == asked
    for path in (shop.store / "failed").iterdir():
        os.utime(path, (1, time.time() - 61))
    reason(shop.json("print('ran')", *flags))
    assert len(index.asked) > asked


def test_python_without_pip_uses_bundled_wheel(shop):
    """Without a bundled wheel the remedy is given."""
    venv = shop.remit.folder / "venv"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", "--clear", venv], check=True)
    source = ("--python", venv / "bin" / "python", "--index-url", shop.index.url)
    result = shop.json("import dep_one; print(dep_one.one)", "--package", "dep_one", source=source)
    assert result["stdout"] == "2\n", result
    for path in (shop.cache / "remit").glob("python-*/answer.json"):
        answer = json.loads(path.read_text())
        answer.pop("pip", None)
        path.write_text(json.dumps(answer))
    result = shop.json("1", "--package", "demo-pkg", source=source)
    assert "has no pip" in reason(result, "refused") and "--python" in result["error"]["remedy"]
    # The new folder changes the site-packages, so the interpreter is queried again.
    (next(venv.glob("lib/python3*/site-packages")) / "pip_for_one").mkdir()
    assert shop.json(ASK, "--package", "demo-pkg", source=source)["stdout"].startswith("43 ")


def test_package_size_is_limited(shop, stage):
    folder = stage / f"big-{shop.remit.label}"
    Wheel("big_one").add("big_one.bin", b"\0" * (8 << 20)).write(folder)
    Wheel("slow_one").add("slow_one.py").write(folder)
    flags = ("--offline", "--find-links", folder, "--package-max", "2M", "--package")
    why = reason(shop.json("1", *flags, "big_one"))
    assert "No space left" in why or "File too large" in why or "package_bytes" in why, why
    assert shop.json("import slow_one", *flags, "slow_one")["status"] == "ok"
    assert shop.json("import slow_one", *flags[:-3], "--package", "big_one")["error"]["name"] == "ModuleNotFoundError"


def test_package_files_are_limited_in_number(any_remit, index, request):
    shop = Shop(any_remit, index, request.node.name)
    wheel = Wheel("many_files")
    for i in range(100_000):
        wheel.add(f"many_files/{i}")
    folder = any_remit.folder / "many"
    wheel.write(folder)
    why = reason(shop.json("1", "--offline", "--find-links", folder, "--package", "many_files", "--package-time", "900s", timeout=900))
    assert "too many files" in why, why
    assert shop.package_layers() == [] and list(shop.store.glob("new/*")) == []
    shutil.rmtree(shop.cache)


# ---- hostile packages ----


def test_hostile_names_and_modes_of_wheel_have_no_effect(shop, stage):
    folder = stage / f"hostile-{shop.remit.label}"
    Wheel("up_one").add("../../../../../../../../tmp/up_one_was_here", "x").add("up_one.py").write(folder)
    Wheel("link_one").add("link_one.py").add("link_one_secret", "/etc/passwd", mode=0o120777).write(folder)
    Wheel("mode_one").add("mode_one.py").add("mode_one_program", "x", mode=0o106755).write(folder)
    Wheel("dash_one").add("dash_one.py").add("-rf", "x").write(folder)
    flags = ("--offline", "--find-links", folder, "--package")
    assert shop.json("1", *flags, "up_one")["status"] == "install_failed"
    assert not pathlib.Path("/tmp/up_one_was_here").exists()
    assert "characters that are not allowed" in reason(shop.json("1", *flags, "dash_one"))
    code = "import os; print(os.path.islink(P), oct(os.lstat(P).st_mode), open(P).read()[:12])"
    linked = shop.json(f"P='{INSIDE}/link_one_secret'\n" + code, *flags, "link_one")
    assert linked["stdout"] == "False 0o100444 /etc/passwd\n", linked
    mode = shop.json(f"P='{INSIDE}/mode_one_program'\n" + code, *flags, "mode_one")
    assert mode["stdout"] == "False 0o100555 x\n", mode


def test_pth_files_have_no_effect(shop, stage):
    folder = stage / f"pth-{shop.remit.label}"
    Wheel("pth_one").add("pth_one.py").add("pth_one.pth", "import sys; sys.planted = 1\n/tmp\n").add(
        "sitecustomize.py", "import sys; sys.planted = 1"
    ).write(folder)
    code = "import sys, pth_one; print(hasattr(sys, 'planted'), '/tmp' in sys.path)"
    assert shop.json(code, "--offline", "--find-links", folder, "--package", "pth_one")["stdout"] == "False False\n"


BACKEND = """
import base64, hashlib, json, os, socket, subprocess, sys, zipfile
def attempt(f, *a):
    try: return repr(f(*a))
    except BaseException as e: return type(e).__name__
def connect(port):
    socket.create_connection(("127.0.0.1", port), 5)
    return "connected"
def build_wheel(folder, settings=None, metadata=None):
    found = dict(
        secret=attempt(lambda: open(SECRET).read()), home=attempt(os.listdir, HOME), environment=sorted(os.environ),
        uid=os.getuid(), write=attempt(open, "/usr/lib/planted", "w"), store=attempt(os.listdir, STORE),
        elsewhere=attempt(connect, PORT), child=attempt(subprocess.check_output, [sys.executable, "-c", "print(1)"]),
        processes=attempt(os.kill, 1, 9), pip=attempt(os.listdir, "/etc/pip.conf"))
    name = "evil_one-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as z:
        z.writestr("evil_one.py", "found = " + repr(found))
        z.writestr("evil_one-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: evil_one\\nVersion: 1.0\\n")
        z.writestr("evil_one-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        z.writestr("evil_one-1.0.dist-info/RECORD", "")
    return name
"""


def test_source_build_needs_permission_and_is_jailed(shop, stage):
    """The build tries to reach the host. It must reach no more than other code in a jail."""
    folder = stage / f"sources-{shop.remit.label}"
    secret = shop.remit.file("secret", "the secret")
    with package_index.serve(stage / f"bait-{shop.remit.label}") as bait:
        names = {"SECRET": str(secret), "HOME": shop.remit.env()["HOME"], "STORE": str(shop.store), "PORT": bait.server.server_port}
        head = "".join(f"{name} = {value!r}\n" for name, value in names.items())
        package_index.source(folder, "evil_one", "1.0", head + BACKEND)
        flags = ("--find-links", folder, "--package", "evil_one")
        assert "No matching distribution" in reason(shop.json("1", *flags, "--offline"))
        result = shop.json("import evil_one, json; print(json.dumps(evil_one.found))", *flags, "--package-build")
        assert result["status"] == "ok", result
        found = json.loads(result["stdout"])
        assert bait.asked == []
    assert found["secret"] == "FileNotFoundError" and found["store"] == "FileNotFoundError"
    assert found["home"] == "FileNotFoundError" and found["pip"] == "FileNotFoundError"
    assert found["write"] in ("OSError", "PermissionError", "FileNotFoundError")
    assert found["elsewhere"] in ("ConnectionRefusedError", "ConnectionResetError", "TimeoutError", "OSError")
    assert found["child"] == "b'1\\n'" and found["uid"] == 1000
    assert not [name for name in found["environment"] if name in ("REMIT_KEEPER", "XDG_CACHE_HOME", "SSH_AUTH_SOCK")]


def test_a_failed_build_says_what_the_build_said(shop, stage):
    folder = stage / f"fails-{shop.remit.label}"
    package_index.source(folder, "needs_more", "1.0", "", requires="nobody_has_this>=24.0")
    package_index.source(folder, "raises_one", "1.0", "def build_wheel(*a):\n    raise ValueError('no such compiler')\n")
    flags = ("--offline", "--find-links", folder, "--package-build", "--package")
    assert "No matching distribution found for nobody_has_this>=24.0" in reason(shop.json("1", *flags, "needs_more"))
    why = reason(shop.json("1", *flags, "raises_one"))
    assert why.startswith("ValueError: no such compiler"), why


EXTENSION = r"""
import os, subprocess, sysconfig, zipfile
SOURCE = '''
#include <Python.h>
static PyObject *answer(PyObject *m, PyObject *a) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = { { "answer", answer, METH_NOARGS, NULL }, { NULL } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "tiny_c", NULL, -1, methods };
PyMODINIT_FUNC PyInit_tiny_c(void) { return PyModule_Create(&module); }
'''
def build_wheel(folder, settings=None, metadata=None):
    with open("tiny_c.c", "w") as f:
        f.write(SOURCE)
    subprocess.check_call(["gcc", "-shared", "-fPIC", "-I", sysconfig.get_path("include"), "-o", "tiny_c.so", "tiny_c.c"])
    name = "tiny_c-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as z:
        z.write("tiny_c.so")
        z.writestr("tiny_c-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny_c\nVersion: 1.0\n")
        z.writestr("tiny_c-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: false\nTag: py3-none-any\n")
        z.writestr("tiny_c-1.0.dist-info/RECORD", "")
    return name
"""


def test_an_extension_in_c_is_built(shop, stage):
    if not (pathlib.Path("/usr/bin/gcc").exists() and list(pathlib.Path("/usr/include").glob("python3.*/Python.h"))):
        skip_or_fail("no C compiler or no headers of Python")
    folder = stage / f"extension-{shop.remit.label}"
    package_index.source(folder, "tiny_c", "1.0", EXTENSION)
    flags = ("--find-links", folder, "--package", "tiny_c", "--offline", "--package-build")
    result = shop.json("import tiny_c; print(tiny_c.answer())", *flags)
    assert (result["status"], result["stdout"]) == ("ok", "42\n"), result


# ---- concurrency and interruption ----


def test_concurrent_runs_install_once(shop, index, stage):
    name = f"once_{shop.remit.label}"
    Wheel(name).add(f"{name}.py", "v = 7").write(index.folder)
    asked = len(index.asked)
    results = []

    def one():
        results.append(shop.json(f"import {name}; print({name}.v)", "--package", name))

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [r["stdout"] for r in results] == ["7\n"] * 3, results
    assert len(shop.downloads(asked)) == 1


@pytest.mark.parametrize("victim", ["client", "keeper"])
def test_killed_installation_leaves_nothing_usable(shop, index, victim):
    index.delay.set()
    asked = len(index.asked)
    process = shop.remit.popen("run", *shop.source, "--package", "demo-pkg", "-c", "print('ran')", env={**shop.env}, stdout=subprocess.PIPE)
    try:
        until(lambda: shop.downloads(asked))
        if victim == "client":
            process.kill()
        else:
            # When the first processes die, others may have ended too.
            for pid in processes(shop.remit.command):
                with contextlib.suppress(ProcessLookupError):
                    if os.getpgid(pid) == pid and pid != process.pid:
                        os.kill(pid, signal.SIGKILL)
        assert process.communicate(timeout=60)[0] == b""
    finally:
        index.delay.clear()
    assert not remaining(lambda: processes(shop.remit.command))
    assert shop.package_layers() == []
    assert shop.json(ASK, "--package", "demo-pkg")["stdout"].startswith("43 ")
    assert list(shop.store.glob("new/*")) == []


def test_interrupt_ends_installation(shop, index):
    index.delay.set()
    asked = len(index.asked)
    process = shop.remit.popen(
        "run", *shop.source, "--package", "demo-pkg", "-c", "print('ran')", env={**shop.env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        until(lambda: shop.downloads(asked))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        index.delay.clear()
    assert out == b"" and process.returncode == 130, err
    assert not remaining(lambda: processes(shop.remit.command))
    assert list((shop.store / "failed").glob("*")) == []


def test_installation_has_separate_timeout(shop, index):
    index.delay.set()
    try:
        result = shop.json("1", "--package", "demo-pkg", "--package-time", "3s")
    finally:
        index.delay.clear()
    assert "package_time" in reason(result) and "--package-time" in result["error"]["remedy"]


def test_short_package_time_does_not_affect_other_runs(shop, index):
    """Neither a later run, through the cached failure, nor a run that waits for the same installation."""
    with contextlib.closing(SharedKeeper(shop.remit, env=shop.env)) as keeper:
        index.delay.set()
        waits = {}
        second = threading.Thread(target=lambda: waits.update(keeper.json(ASK, *shop.source, "--package", "demo-pkg", "--package-time", "100s")))
        try:
            first = threading.Thread(target=lambda: waits.update(first=keeper.json("1", *shop.source, "--package", "demo-pkg", "--package-time", "3s")))
            first.start()
            until(lambda: list((shop.store / "locks").glob("*")))
            second.start()
            first.join()
        finally:
            index.delay.clear()
        assert "package_time" in reason(waits["first"])
        assert keeper.json(ASK, *shop.source, "--package", "demo-pkg")["status"] == "ok"
        second.join()
        assert waits["status"] == "ok", waits


def test_modified_package_is_installed_again(shop, index):
    code = "import dep_one; print(dep_one.one)"
    assert shop.json(code, "--package", "dep_one")["stdout"] == "2\n"
    (path,) = shop.store.glob("layers/*/site/dep_one.py")
    before = path.stat()
    path.chmod(0o644)
    path.write_text("one = 3\n")
    path.chmod(before.st_mode & 0o7777)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    asked = len(index.asked)
    assert shop.json(code, "--package", "dep_one")["stdout"] == "2\n"
    assert len(shop.downloads(asked)) == 1


# ---- output for users ----


def test_progress_is_shown_only_on_terminal(shop):
    leader, follower = pty.openpty()
    process = shop.remit.popen(
        "run", *shop.source, "--package", "demo-pkg", "-c", "print('ran')", env=shop.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=follower
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    assert process.communicate()[0] == b"ran\n" and b"Collecting" in shown and shown.endswith(b"\r\x1b[K"), shown
    quiet = shop("run", *shop.source, "--package", "dep_one", "-c", "print('ran')")
    assert quiet.stderr == "" and quiet.stdout == "ran\n"


def test_prune_to_size_removes_least_recently_used(shop):
    for wanted in ("dep_one<2", "dep_one>=2"):
        assert shop.json("1", *shop.source, "--package", wanted)["status"] == "ok"
    old, new = sorted((row["used"], row["id"]) for row in json.loads(shop("packages", "list", "--json").stdout))
    os.utime(shop.store / "layers" / old[1] / "about", (1, 1))
    assert shop("packages", "prune", "--max-bytes", "1G").stdout == "removed 0 (0 B)\n"
    assert shop("packages", "prune", "--max-bytes", "1").stdout.startswith("removed 1 (")
    assert [row["id"] for row in json.loads(shop("packages", "list", "--json").stdout)] == [new[1]]
    # The cached request for it is removed, too.
    assert len(list((shop.store / "wants").iterdir())) == 1
    assert shop.json("import dep_one; print(dep_one.one)", *shop.source, "--package", "dep_one<2")["stdout"] == "1\n"


def test_packages_are_listed_and_pruned(shop):
    assert shop("packages").stdout == ""
    assert shop.json("1", "--package", "demo-pkg")["status"] == "ok"
    assert shop.json("1", "--package", "dep_one==1.5")["status"] == "ok"
    lines = shop("packages", "list").stdout.splitlines()
    assert len(lines) == 3 and lines[0].split()[0] == "ID" and "dep-one==1.5" in lines[1] + lines[2]
    rows = shop.package_layers()
    assert {tuple(r["packages"]) for r in rows} == {("demo-pkg",), ("dep_one==1.5",)}
    assert shop("packages", "prune").stdout == "removed 0 (0 B)\n"
    wrong = shop("packages", "prune", "nothing")
    assert wrong.returncode == 2 and "nothing" in wrong.stderr
    assert shop("packages", "prune", rows[0]["id"][:12]).stdout.startswith("removed 1 (")
    os.utime(shop.store / "layers" / rows[1]["id"] / "about", (1, time.time() - 3600))
    assert shop("packages", "prune", "--unused", "2h").stdout == "removed 0 (0 B)\n"
    assert shop("packages", "prune", "--unused", "30m").stdout.startswith("removed 1 (")
    assert shop.package_layers() == []
    assert shop("packages", "burn").returncode == 2


def test_prune_removes_package_layers_of_the_first_version(shop):
    """It had them in a directory of another name."""
    assert shop.json("1", "--package", "dep_one")["status"] == "ok"
    (shop.store / "layers").rename(shop.store / "shelves")
    assert shop.package_layers() == []
    result = shop.json("import dep_one; print(dep_one.one)", "--package", "dep_one")
    assert result["stdout"] == "2\n" and len(shop.package_layers()) == 1
    (old,) = (shop.store / "shelves").iterdir()
    fd = os.open(old, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    assert shop("packages", "prune").stdout == "removed 0 (0 B), 1 in use\n"
    os.close(fd)
    assert shop("packages", "prune").stdout.startswith("removed 1 (")
    assert not (shop.store / "shelves").exists() and len(shop.package_layers()) == 1
    assert shop("packages", "prune").stdout == "removed 0 (0 B)\n"


# ---- the real index ----


def test_package_of_real_index_is_installed(any_remit, stage, request):
    """A relay on loopback is used, since the real index may have any address here."""
    found = subprocess.run(
        [PYTHON, "-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"], text=True, capture_output=True, check=True
    )
    with package_index.serve(stage / "relay", real=found.stdout.strip()) as relay:
        try:
            relay.real_page("six")
        except OSError as e:
            skip_or_fail(f"no index: {e}")
        shop = Shop(any_remit, relay, request.node.name)
        code = "import pandas; print(pandas.__version__[:4], pandas.DataFrame({'a': [1, 2]}).sum().to_dict())"
        flags = ("--package", "pandas==2.2.*", "--preset", "scientific")
        first = shop.json(code, *flags, timeout=400)
        assert first["stdout"] == "2.2. {'a': 3}\n", first
        assert shop.json(code, *flags)["stdout"] == first["stdout"]
        shutil.rmtree(shop.cache, ignore_errors=True)
