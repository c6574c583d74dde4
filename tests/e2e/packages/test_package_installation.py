"""package_installation: code asks for packages while it runs, and the keeper mounts them in its jail, read-only."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import subprocess

import package_index
import pytest
from conftest import PYTHON, enforced, skip_or_fail
from leftovers import processes, remaining
from package_index import Wheel
from session_client import SessionClient
from shared_keeper import SharedKeeper
from test_packages import Shop, index  # noqa: F401
from waiting import until

SLOT = "/.remit/installed"
# The part of the runner that makes calls, as hostile code finds it
TOOLS = 'display.__globals__["own_module"]("tools")'
SHOW = "import demo_pkg; print(demo_pkg.value, demo_pkg.__file__)"


@pytest.fixture
def shop(remit, index, request):  # noqa: F811
    made = Shop(remit, index, request.node.name.partition("[")[0])
    yield made
    shutil.rmtree(made.cache, ignore_errors=True)


@pytest.fixture
def any_shop(any_remit, index, request):  # noqa: F811
    made = Shop(any_remit, index, request.node.name.partition("[")[0])
    yield made
    shutil.rmtree(made.cache, ignore_errors=True)


def policy(shop, **more):
    return {"python": PYTHON, "package_index": shop.index.url, "package_installation": True, **more}


class Client(SessionClient):
    def __init__(self, shop, forkable=0, **more):
        super().__init__(shop.remit, env=shop.env)
        self.open(policy=policy(shop, **more), forkable=forkable)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()


def by_request(shop, names, have=(), **more):
    """What the keeper answers to a program that sends it these names as they are."""
    code = f"""
tools = {TOOLS}
try:
    print(tools.request_packages({names!r}, {list(have)!r}))
except RuntimeError as e:
    print("refused:", e)
"""
    return shop.json(code, "--package-installation", **more)


# ---- what it is for ----


def test_cell_installs_packages_and_later_cells_import_them(shop, covers):
    with Client(shop) as client:
        first = client.run("%pip install Demo.pkg 'dep_one<2'\n" + SHOW)
        assert first["status"] == "ok", first
        lines = first["stdout"].splitlines()
        assert lines[-1] == f"42 {SLOT}/0/demo_pkg/__init__.py"
        assert "Successfully installed demo.pkg-1.0 dep-one-1.5" in lines and any(line.startswith("Collecting") for line in lines), lines
        assert "wheels" not in first["stdout"] and "downloaded" not in first["stdout"]
        assert sorted(first["installed"]) == ["demo.pkg==1.0", "dep-one==1.5"]
        assert enforced(first, "package_installation") == ["mount_namespace", "network_namespace", "seccomp"]
        again = client.run("%pip install demo.pkg\n" + SHOW)
        assert again["stdout"].splitlines()[0].startswith("Requirement already satisfied") and again["installed"] == []
        covers(shop.remit, "package_installation", "mount_namespace")


def test_program_installs_packages(shop):
    result = shop.json(f"print(install_packages('dep_one<2', 'demo-pkg'))\n{SHOW}", "--package-installation")
    assert result["status"] == "ok", result
    assert result["stdout"].splitlines()[-2:] == ["['demo.pkg==1.0', 'dep-one==1.5']", f"42 {SLOT}/0/demo_pkg/__init__.py"]
    assert sorted(result["installed"]) == ["demo.pkg==1.0", "dep-one==1.5"]


def test_warm_jails_of_one_keeper_install_apart(shop):
    """Their roots are clones of one template, and their mounts are not."""
    look = f"import os; print(os.listdir('{SLOT}/0'))"
    flags = (*shop.source, "--package-installation")
    with contextlib.closing(SharedKeeper(shop.remit, env=shop.env)) as keeper:
        keeper.until(lambda: keeper.json("1", *flags)["start"] == "warm")
        for module in ("dep_one", "demo_pkg"):
            keeper.until(lambda: keeper.json(look, *flags)["start"] == "warm")
            result = keeper.json(f"install_packages({module!r})\nimport {module}; print({module}.__file__.startswith('{SLOT}/0/'))\n{look}", *flags)
            assert result["start"] == "warm" and result["status"] == "ok", result
            assert result["stdout"].splitlines()[-2] == "True" and module in result["stdout"].splitlines()[-1]
            assert keeper.json(look, *flags)["stdout"] == "[]\n"


def test_what_is_there_is_neither_fetched_again_nor_replaced(any_shop):
    shop = any_shop
    Wheel("needs_two", requires=("dep_one>=2",)).add("needs_two.py").write(shop.index.folder)
    with Client(shop, packages=["dep_one<2"]) as client:
        since = len(shop.index.asked)
        done = client.run("import dep_one\n!pip install -q demo_pkg\n" + SHOW + "\nprint(dep_one.__file__)")
        assert done["stdout"].splitlines() == [f"42 {SLOT}/0/demo_pkg/__init__.py", "/.remit/packages/dep_one.py"], done
        assert done["installed"] == ["demo.pkg==1.0"]
        assert not [path for path in shop.downloads(since) if "dep_one" in path]
        refused = client.run("%pip install -q needs_two")["error"]
        assert refused["name"] == "RuntimeError" and "dep" in refused["value"], refused
        # By name it is replaced, for what is imported from now on.
        assert "dep_one: imported before" in client.out("%pip install 'dep_one>=2'\nprint(dep_one.one)")
        newer = client.run("%pip install -q 'dep_one>=2'\ndel __import__('sys').modules['dep_one']\nimport dep_one; print(dep_one.one)")
        assert newer["stdout"] == "Requirement already satisfied: dep_one>=2 (2.0)\n2\n", newer


def test_same_packages_are_installed_once(any_shop):
    shop = any_shop
    with Client(shop) as one, Client(shop) as two:
        assert one.out("%pip install -q dep_one\nimport dep_one") == ""
        since = len(shop.index.asked)
        assert two.out("%pip install -q dep_one\nimport dep_one; print(dep_one.one)") == "2\n"
        assert len(shop.index.asked) == since
    assert len(shop.package_layers()) == 1


def test_missing_module_names_the_line(any_shop):
    shop = any_shop
    with Client(shop) as client:
        assert "Write %pip install umap-learn" in client.run("import umap")["error"]["remedy"]
    assert 'Call install_packages("umap-learn")' in shop.json("import umap", "--package-installation")["error"]["remedy"]


def test_children_see_packages(any_shop):
    code = """
install_packages('dep_one')
import os, subprocess, sys
pid = os.fork()
if not pid:
    import dep_one; print(dep_one.one, flush=True); os._exit(0)
os.wait()
subprocess.run([sys.executable, '-c', 'import dep_one; print(dep_one.__file__)'])
"""
    flags = ("--package-installation", "--subprocess", "--memory-fallback", "per_process", "--cpu-fallback", "per_process")
    assert any_shop.json(code, *flags)["stdout"].splitlines()[-2:] == ["2", f"{SLOT}/0/dep_one.py"]


# ---- what the keeper refuses ----

HOSTILE = [
    "--index-url=http://127.0.0.1/", "-r requirements.txt", "-e .", "git+https://example.org/x", "x @ file:///etc/passwd", "x@https://example.org/x.whl",
    "../../etc", "/etc/passwd", "./x", "x.whl", "x\n--index-url=http://127.0.0.1/", "x;python_version>'3'", "x==1 --hash=a", "", " ", "x y", "$(id)", "\ud800", "x" * 5000,
]  # fmt: skip


def test_hostile_names_are_refused_and_noted(any_shop):
    since = len(any_shop.index.asked)
    for name in HOSTILE:
        result = by_request(any_shop, [name])
        assert result["status"] == "ok" and result["stdout"].startswith("refused:"), result
        (row,) = [d for d in result["denials"] if d["source"] == "keeper"]
        assert row["what"].startswith("install ") and row["field"] is None, row
        # A good name next to it is not installed either.
        result = by_request(any_shop, ["dep_one", name])
        assert result["stdout"].startswith("refused:") and result["installed"] == [], result
    assert len(any_shop.index.asked) == since and not any_shop.package_layers()


def test_hostile_reports_of_what_is_there_are_ignored(any_shop):
    have = ["--index-url==http", "x @ file:///etc/passwd", "../..==1", "a==1,b==2", "a>=1", "a==1\n-r==x", "zz==*", "dep-one==0.1", "other==1+local"]
    result = by_request(any_shop, ["dep_one"], have)
    assert result["stdout"].splitlines()[-1] == "{'slot': 0, 'wheels': ['dep-one==2.0']}", result


def test_other_frames_of_the_name_change_nothing(any_shop):
    """A program without tools cannot call another one by this way, and too much at once is refused."""
    code = """
tools = TOOLS
bridge = tools.shared_bridge()
for name, pairs in (("%pop", [("package", "x")]), ("%pip", [("have", "x==1")]), ("%pip", [("package", "p")] * 65), ("%pip", [("package", "p" * 70000)]), ("%pip", [])):
    try: print(bridge.request(name, pairs, print))
    except Exception as e: print(type(e).__name__, e)
"""
    lines = any_shop.json(code.replace("TOOLS", TOOLS), "--package-installation")["stdout"].splitlines()
    assert len(lines) == 5 and all(line.startswith("ToolError") for line in lines), lines
    assert "no tools" in lines[0] and "empty" in lines[1] and "64" in lines[2] and "too long" in lines[3], lines


def test_malformed_request_costs_only_the_channel(any_shop):
    code = """
tools = TOOLS
bridge = tools.shared_bridge()
bridge.prepare()
call = tools.Call("%pip", b"package\\0x")
bridge.begin(call)
try: bridge.wait(call)
except tools.ToolError as e: print(e)
print(2)
"""
    result = any_shop.json(code.replace("TOOLS", TOOLS), "--package-installation")
    assert result["status"] in ("ok", "exit") and result["stdout"].splitlines() == ["%pip: the keeper no longer answers", "2"], result


def test_without_permission_the_remedy_is_an_option_and_the_denial_is_noted(any_shop):
    with Client(any_shop, package_installation=False) as client:
        result = client.run("%pip install dep_one")
        assert "--package dep_one" in result["error"]["value"], result
        (row,) = [d for d in result["denials"] if d["source"] == "keeper"]
        assert (row["what"], row["field"], row["flag"]) == ('install "dep_one"', "package_installation", "--package-installation")
        assert client.out("print('install_packages' in dir(__builtins__))") == "False\n"
    assert not any_shop.package_layers()


@pytest.mark.parametrize("flags", [("--preset", "landlock"), ("--tier", "static"), ("--tier", "unsafe"), ("--offline",)])
def test_what_cannot_install_is_refused_by_name(any_shop, flags):
    result = any_shop.json("print('never')", *flags, "--package-installation")
    assert result["status"] == "refused" and result["error"]["where"] == "package_installation" and result["error"]["remedy"], result


def test_number_of_installations_is_limited(any_shop):
    shop = any_shop
    for n in range(17):
        Wheel(f"many{n}").add(f"many{n}.py", f"n = {n}\n").write(shop.index.folder)
    with Client(shop) as client:
        for n in range(16):
            assert client.out(f"%pip install -q many{n}\nimport many{n}; print(many{n}.n)") == f"{n}\n"
        error = client.run("%pip install -q many16")["error"]
        assert "16 times" in error["value"], error
        assert client.out("import many0, many15; print(many0.n, many15.n)") == "0 15\n"


def test_size_of_all_installations_together_is_limited(any_shop):
    shop = any_shop
    for name in ("big_one", "big_two"):
        Wheel(name).add(f"{name}.py", f"n = 1\n#{'x' * (3 << 20)}\n").write(shop.index.folder)
    with Client(shop, package_bytes="5M") as client:
        assert client.out("%pip install -q big_one\nimport big_one; print(big_one.n)") == "1\n"
        error = client.run("%pip install -q big_two")["error"]
        assert "together more than 5 MiB" in error["value"], error
        assert client.run("import big_two")["error"]["name"] == "ModuleNotFoundError"


def test_number_of_requests_is_limited(any_shop):
    code = "n = 0\nfor i in range(70):\n    try: install_packages('x y')\n    except RuntimeError as e: n += 'limits are' in str(e)\nprint(n)"
    assert any_shop.json(code, "--package-installation")["stdout"] == "6\n"


def test_failure_has_the_reason_and_the_code_goes_on(any_shop):
    with Client(any_shop) as client:
        error = client.run("%pip install no_such_thing")["error"]
        assert error["name"] == "RuntimeError" and "No matching distribution found for no-such-thing" in error["value"], error
        assert client.out("%pip install -q dep_one\nimport dep_one; print(dep_one.one)") == "2\n"


# ---- walls ----


@pytest.mark.longer
def test_layer_with_too_many_names_is_not_mounted(shop):
    """A mount that nothing counts would stay in the jail, block the place of the next one, and could be pruned."""
    names = [f"w{n:03}{'x' * 208}" for n in range(300)]
    for name in names:
        Wheel(name).write(shop.index.folder)
    Wheel("many_names", requires=tuple(names)).write(shop.index.folder)
    with Client(shop) as client:
        error = client.run("%pip install -q many_names")["error"]
        assert "the packages are too many" in error["value"], error
        assert client.out(f"import os; print(os.listdir('{SLOT}/0'))") == "[]\n"
        done = client.run("%pip install -q dep_one\nimport dep_one; print(dep_one.one)")
        assert done["stdout"] == "2\n" and done["installed"] == ["dep-one==2.0"], done


def test_failed_requests_tell_nothing_to_other_runs(any_shop):
    """Otherwise one run could write messages for another: bits in what it says that it has."""
    for have in (["bit==1"], []):
        told = [by_request(any_shop, ["no-such-thing"], have)["stdout"] for _ in range(2)]
        assert "refused: " in told[0] and "attempted" not in told[1] and told[0] == told[1], told
    assert not any((any_shop.cache / "remit" / "packages" / "failed").glob("*")), "a request of code left a file"


def test_code_cannot_change_packages(shop):
    code = f"""%pip install -q demo_pkg
import os
def attempt(f, *a, **k):
    try: f(*a, **k); print("through", f, a)
    except OSError as e: print(e.errno)
for path in ("{SLOT}/0/x", "{SLOT}/0/demo_pkg/__init__.py", "{SLOT}/1/x", "{SLOT}/x", "{SLOT}/0/demo_pkg"):
    attempt(open, path, "w")
attempt(os.rename, "{SLOT}/0", "{SLOT}/2")
attempt(os.rmdir, "{SLOT}/1")
attempt(os.unlink, "{SLOT}/0/dep_one.py")
attempt(os.symlink, "/workspace", "{SLOT}/1/link")
attempt(os.link, "{SLOT}/0/dep_one.py", "/workspace/x")
attempt(os.chmod, "{SLOT}/0/dep_one.py", 0o777)
attempt(os.utime, "{SLOT}/0/dep_one.py")
print(oct(os.statvfs("{SLOT}/0").f_flag & (os.ST_RDONLY | os.ST_NOSUID | os.ST_NODEV)))
print(sorted(os.listdir("{SLOT}/1")))
"""
    with Client(shop) as client:
        lines = client.out(code).splitlines()
        assert "through" not in str(lines) and lines[-2:] == ["0o7", "[]"], lines


def test_links_and_devices_of_a_package_do_not_arrive(any_shop):
    Wheel("linked").add("linked/__init__.py", "").add("linked/out", "/etc", mode=0o120777).add("linked/s", "x", mode=0o104755).write(any_shop.index.folder)
    code = """%pip install -q linked
import os, stat
for name in ("out", "s"):
    st = os.lstat("/.remit/installed/0/linked/" + name)
    print(stat.S_ISREG(st.st_mode), oct(st.st_mode & 0o7000))
"""
    with Client(any_shop) as client:
        assert client.out(code) == "True 0o0\nTrue 0o0\n"


def mounts():
    return pathlib.Path("/proc/self/mountinfo").read_text()


def test_neither_host_nor_other_jails_see_the_mount(shop):
    """The tests' mounts are shared, as under systemd."""
    before = mounts()
    with Client(shop) as one, Client(shop) as two:
        one.out("%pip install -q dep_one\nimport dep_one")
        look = f"import os; print(os.listdir('{SLOT}/0'))"
        assert "dep_one.py" in one.out(look) and two.out(look) == "[]\n"
        assert shop.json(look, "--package-installation")["stdout"] == "[]\n"
        assert mounts() == before
    assert mounts() == before


def test_layer_in_use_is_not_pruned(any_shop):
    with Client(any_shop) as client:
        client.out("%pip install -q dep_one")
        any_shop("packages", "prune", "--all")
        assert len(any_shop.package_layers()) == 1
        assert client.out("import dep_one; print(dep_one.one)") == "2\n"


def test_changed_layer_is_not_mounted(any_shop):
    shop = any_shop
    with Client(shop) as client:
        client.out("%pip install -q dep_one")
        (site,) = (shop.store / "layers").glob("*/site")
    (site / "dep_one.py").chmod(0o644)
    (site / "dep_one.py").write_text("one = 666\n")
    with Client(shop) as client:
        assert client.out("%pip install -q dep_one\nimport dep_one; print(dep_one.one)") == "2\n"


def test_branches_see_packages_of_their_session_and_install_their_own(any_shop):
    with Client(any_shop, forkable=1) as client:
        client.out("%pip install -q dep_one")
        client.request("fork", branch="b")
        assert client.out("import dep_one; print(dep_one.one)", session="b") == "2\n"
        assert client.out(f"%pip install -q demo_pkg\n{SHOW}", session="b") == f"43 {SLOT}/1/demo_pkg/__init__.py\n"
        assert client.run("import demo_pkg")["error"]["name"] == "ModuleNotFoundError"
        assert client.out(f"import os; print(os.listdir('{SLOT}/1'))") == "[]\n"
        client.request("drop")


def test_reset_session_has_no_packages(any_shop):
    with Client(any_shop) as client:
        client.out("%pip install -q dep_one\nimport dep_one")
        client.request("reset")
        assert client.run("import dep_one")["error"]["name"] == "ModuleNotFoundError"
        assert client.out("%pip install -q dep_one\nimport dep_one; print(dep_one.__file__)") == f"{SLOT}/0/dep_one.py\n"


# ---- time ----


def test_clock_is_paused_for_as_long_as_package_time(any_shop):
    """The index keeps the installer waiting for longer than the cell may run."""
    more = {"timeout": 3, "tool_wait": 0.5, "package_time": 5}
    with Client(any_shop, **more) as client:
        any_shop.index.delay.set()
        try:
            result = client.run("try:\n    %pip install -q dep_one\nexcept RuntimeError as e:\n    print(e)")
        finally:
            any_shop.index.delay.clear()
        assert result["status"] == "ok" and "package_time" in result["stdout"], result
        assert result["usage"]["wall_ms"] > 5000 and result["usage"]["tool_wait_ms"] > 4000
        # The time that is left of it is no time for the code.
        assert client.run("while True: pass")["status"] == "timeout"


RUNNING_MAX = 64  # KEEPER_RUNNING_MAX of src/keeper/keeper.h


def test_full_keeper_has_room_for_the_installer(any_shop):
    """Programs that wait for packages leave their places to the runs of the installer."""
    shop = any_shop
    code = "input()\ntry: install_packages('dep_one')\nexcept RuntimeError as e: print(e)\nelse:\n    import dep_one; print(dep_one.one)"
    flags = (*shop.source, "--package-installation", "--package-time", "60s", "--timeout", "60s")
    with contextlib.closing(SharedKeeper(shop.remit, env=shop.env)) as keeper, contextlib.ExitStack() as stack:
        programs = []
        for _ in range(RUNNING_MAX):
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            program = shop.remit.popen("run", *flags, "-c", code, env={**shop.env, **keeper.env}, text=True, **pipes)
            programs.append(stack.enter_context(program))
        keeper.until(lambda: keeper.status()["running"] == RUNNING_MAX)
        for program in programs:
            program.stdin.write("\n")
            program.stdin.flush()
        assert {program.communicate(timeout=100)[0].splitlines()[-1] for program in programs} == {"2"}
        keeper.until(lambda: keeper.status()["running"] == 0)


def test_interrupt_ends_the_installation(any_shop):
    with Client(any_shop) as client:
        any_shop.index.delay.set()
        try:
            since = len(any_shop.index.asked)
            answer = client.begin_cell("print('begun', flush=True)\n%pip install -q dep_one")
            until(lambda: any_shop.downloads(since), "nothing is fetched")
            client.request("interrupt")
            assert answer()["status"] in ("error", "interrupted")
        finally:
            any_shop.index.delay.clear()
        assert client.out("%pip install -q dep_one\nimport dep_one; print(dep_one.one)") == "2\n"


def test_session_that_leaves_ends_the_installation(any_shop):
    any_shop.index.delay.set()
    try:
        client = Client(any_shop)
        since = len(any_shop.index.asked)
        client.begin_cell("print('begun', flush=True)\n%pip install -q dep_one")
        until(lambda: any_shop.downloads(since), "nothing is fetched")
        client.leave()
        assert not remaining(lambda: processes(any_shop.remit.command))
    finally:
        any_shop.index.delay.clear()


# ---- the real index ----


def test_shared_libraries_of_a_real_package_load(any_remit, stage, request):
    """A relay on loopback is used, since the real index may have any address here."""
    with package_index.serve(stage / "relay", real="https://pypi.org/simple") as relay:
        try:
            relay.real_page("markupsafe")
        except OSError as e:
            skip_or_fail(f"the index cannot be reached: {e}")
        shop = Shop(any_remit, relay, request.node.name)
        with Client(shop) as client:
            code = "%pip install -q MarkupSafe\nimport markupsafe._speedups as s; print(s.__file__.startswith('/.remit/installed/0/'), s.__file__[-3:])"
            result = client.run(code)
            assert result["stdout"] == "True .so\n", result
        shutil.rmtree(shop.cache, ignore_errors=True)
