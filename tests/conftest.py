"""Fixtures of the tests that use the product as its users do: started by root and by an ordinary user."""

from __future__ import annotations

import collections.abc
import contextlib
import fcntl
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile
import zlib

import pytest

ROOT = pathlib.Path(__file__).parents[1]
TEST_USER = "remit-test"
# Debian's interpreter, so that tests do not depend on which one comes first in PATH.
PYTHON = "/usr/bin/python3"

E2E = ROOT / "tests" / "e2e"
# Tests of one folder import helpers of another.
sys.path[:0] = [str(ROOT / "tests" / "escape"), str(ROOT / "tests"), str(E2E), *sorted({str(path.parent) for path in E2E.glob("*/*.py")})]
import mounts  # noqa: E402


def skip_or_fail(reason: str) -> None:
    """Skips the test. On the reference machine (REMIT_MUST_WORK=all) a skip is a failure."""
    if os.environ.get("REMIT_MUST_WORK") == "all":
        pytest.fail(f"skipped, but REMIT_MUST_WORK=all: {reason}")
    pytest.skip(reason)


def users() -> list[str]:
    return ["root", "user"] if os.geteuid() == 0 else ["user"]


@contextlib.contextmanager
def exclusive(file: str | pathlib.Path) -> collections.abc.Iterator[None]:
    """Locks a file, so that one of many test processes makes what all of them need while the others wait."""
    with open(file) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_test_user() -> None:
    with exclusive(__file__):
        try:
            pwd.getpwnam(TEST_USER)
        except KeyError:
            subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", TEST_USER], check=True)


# The results of these files hardly depend on the user. The two users take turns: each test runs for one of them, chosen by
# a hash of its name. With REMIT_SOAK=1, as in `make soak`, both users run every test.
ONE_USER = {
    f"test_{name}" for name in (
        "artifacts", "ask", "audit", "batch", "batch_files", "batch_resume", "cells", "charts", "displays", "docs", "e2b",
        "e2b_commands", "e2b_pause", "e2b_ports", "e2b_terminals", "e2b_watch", "e2b_workspace", "files", "instructions", "ipython", "mcp", "mcp_ask",
        "mcp_clients", "mcp_http", "missing_module", "network_ask", "network_changes", "network_credentials", "network_credentials_tls",
        "network_entries", "network_proxy", "network_warm", "openapi", "openapi_edges", "package_installation", "packages", "policy",
        "python", "releases", "repl", "schema", "scientific", "serve", "serve_audit", "serve_tls", "session_commands", "session_files", "shared",
        "small_apis", "steps", "tools", "validator", "warm",
    )
}  # fmt: skip
# Two users and two kinds of start make four pairs. These files run two of the four, so that each user and each kind is tested.
ONE_PAIR = ONE_USER | {f"test_{name}" for name in ("denials", "fork", "fork_hostile", "sessions", "workspace", "write_protected", "write_roots")}
PAIRS = {frozenset(pair) for pair in (("user", "cold"), ("user", "private"), ("root", "warm"), ("root", "shared"))}
WORDS = frozenset().union(*PAIRS)


# Tests with downloaded clients, browsers and frameworks, and others that take minutes. `make soak` and CI run them.
LONGER = {f"test_{name}" for name in ("container", "e2b_clients", "mcp_clients", "openapi", "playground")}

# Every user runs every hostile program with the released product. In the tier landlock, in the warm variants, and in those that
# show that a program is hostile or that one mechanism alone contains it, the users take turns.
ONE_CALLER = {
    "test_bare_contains", "test_control_escapes", "test_single_mechanism_contains", "test_warm_contains", "test_warm_control_escapes",
    "test_warm_single_mechanism_contains",
}  # fmt: skip


def is_turn_of_other_user(name: str, user: str) -> bool:
    return user != ("root", "user")[zlib.crc32(name.encode()) % 2]


def program_and_caller(item: pytest.Item) -> tuple[str, str]:
    """Returns both of a test of tests/escape that has both, or else empty strings."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    # A parameter of an empty set, as without a build, is pytest's NOTSET.
    if "program" not in params or not isinstance(params.get("caller_label"), str):
        return "", ""
    return params["program"].name, params["caller_label"]


def wasm_is_built() -> bool:
    build = pathlib.Path(os.environ.get("REMIT", ROOT / "build" / "remit")).parent
    return (build / "wasm" / "remit-wasm").exists()


def is_left_out(item: pytest.Item) -> bool:
    if (item.path.stem in LONGER or item.get_closest_marker("longer")) and not os.environ.get("REMIT_LONGER"):
        return True
    mark = item.get_closest_marker("wasm_is_built")
    if mark and mark.args[0] != wasm_is_built():
        return True
    # The coverage test counts each user.
    if "covers" in item.fixturenames:
        return False
    if os.geteuid() != 0:
        return False
    program, caller = program_and_caller(item)
    if program and item.originalname in ONE_CALLER:
        # Some programs apply to one user only.
        others = set(item.callspec.params["program"].users) & set(users())
        return len(others) == 2 and is_turn_of_other_user(program, caller)
    words = WORDS.intersection(item.callspec.id.split("-")) if hasattr(item, "callspec") else frozenset()
    if len(words) == 2:
        return item.path.stem in ONE_PAIR and words not in PAIRS
    return item.path.stem in ONE_USER and len(words) == 1 and is_turn_of_other_user(item.originalname, *words)


def pytest_configure(config: pytest.Config) -> None:
    # Mounts are shared on an ordinary machine with systemd, but not in most containers.
    if os.geteuid() == 0:
        mounts.enter_shared()
    config.addinivalue_line("markers", "longer: takes minutes, and runs only in `make soak` and in CI")
    config.addinivalue_line("markers", "wasm_is_built(yes): runs only if remit-wasm is built, or only if it is not")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("REMIT_SOAK"):
        return
    # Tests of the same program share the result of its first run, so they must be adjacent.
    items.sort(key=lambda item: (str(item.path), *program_and_caller(item)))
    left_out = [item for item in items if is_left_out(item)]
    items[:] = [item for item in items if not is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="module", autouse=True)
def leaves_mounts_alone():
    """Checks that no mount of a jail reaches the host or remains after the tests of a module."""
    before = mounts.listed()
    yield
    after = mounts.listed()
    assert after == before, sorted(set(after) ^ set(before))


class Remit:
    """The `remit` command, started by one user."""

    def __init__(self, label: str, folder: pathlib.Path):
        self.label = label
        self.folder = folder  # a folder that the user owns
        self.command = str(folder.parent / "bin" / "remit")
        self.by_root = label == "root"

    def argv(self, *args: str) -> list[str]:
        return [self.command, *args]

    def identity(self) -> dict:
        """Returns the arguments with which subprocess changes to that user."""
        if self.by_root or os.geteuid() != 0:
            return {}
        entry = pwd.getpwnam(TEST_USER)
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}

    def env(self, extra: dict[str, str] | None = None) -> dict[str, str]:
        # The test user exists only where root runs the tests.
        home = os.environ["HOME"] if os.geteuid() != 0 else "/root" if self.by_root else pwd.getpwnam(TEST_USER).pw_dir
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, **(extra or {})}

    def __call__(self, *args, input=None, env=None, timeout=300, text=True, **more):
        if input is None and "stdin" not in more:
            more["stdin"] = subprocess.DEVNULL
        return subprocess.run(
            self.argv(*map(str, args)),
            input=input,
            env=self.env(env),
            cwd=self.folder,
            capture_output=True,
            text=text,
            timeout=timeout,
            **self.identity(),
            **more,
        )

    def popen(self, *args, env=None, **more):
        return subprocess.Popen(
            self.argv(*map(str, args)), env=self.env(env), cwd=self.folder, **self.identity(), **more
        )

    def json(self, code: str, *flags, **more) -> dict:
        """Runs a program and returns its result."""
        done = self("run", "--json", *flags, "-c", code, **more)
        assert done.stdout.count("\n") == 1, (done.stdout, done.stderr)
        return json.loads(done.stdout)

    def file(self, name: str, content: str | bytes = "") -> pathlib.Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.own(path)
        return path

    def own(self, path: pathlib.Path) -> None:
        if not self.by_root and os.geteuid() == 0:
            shutil.chown(path, TEST_USER, TEST_USER)


def copy_wasm(build: pathlib.Path, to: pathlib.Path) -> None:
    """Copies the interpreter of the tier wasm, which is built only on request (make wasm)."""
    if (build / "wasm" / "remit-wasm").exists():
        shutil.copytree(build / "wasm", to / "wasm", ignore=shutil.ignore_patterns("*.p", "*.a"))


@pytest.fixture(scope="session")
def stage():
    """Copies the build to a place where every user can read it."""
    build = pathlib.Path(os.environ.get("REMIT", ROOT / "build" / "remit")).parent
    folder = pathlib.Path(tempfile.mkdtemp(prefix="remit-e2e-", dir="/var/tmp"))
    folder.chmod(0o755)
    (folder / "bin").mkdir()
    for name in ("remit", "remit-bench"):
        shutil.copy2(build / name, folder / "bin" / name)
    shutil.copytree(build / "runtime", folder / "bin" / "runtime", ignore=shutil.ignore_patterns("*.p"))
    copy_wasm(build, folder / "bin")
    if os.geteuid() == 0:
        make_test_user()
    # Removes what keepers left that were killed before these tests began.
    subprocess.run([folder / "bin" / "remit", "doctor", "--clean"], check=True, capture_output=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def make_remit(label: str, stage: pathlib.Path) -> Remit:
    folder = stage / label
    folder.mkdir(exist_ok=True)
    remit = Remit(label, folder)
    remit.own(folder)
    return remit


@pytest.fixture(params=users())
def remit(request, stage) -> Remit:
    return make_remit(request.param, stage)


@pytest.fixture
def any_remit(stage) -> Remit:
    """For tests whose result does not depend on the user."""
    return make_remit(users()[-1], stage)


@pytest.fixture
def holes(remit, stage) -> Remit:
    """The test build, in which mechanisms can be left out and steps can be made to fail, with shorter timeouts."""
    build = pathlib.Path(os.environ.get("REMIT_HOLES_BUILD", ROOT / "build-holes" / "remit")).parent
    folder = stage / "holes" / "bin"
    if not folder.exists():
        folder.mkdir(parents=True)
        shutil.copy2(build / "remit", folder / "remit")
        shutil.copytree(build / "runtime", folder / "runtime", ignore=shutil.ignore_patterns("*.p"))
        copy_wasm(build, folder)
    own = stage / "holes" / remit.label
    own.mkdir(exist_ok=True)
    other = Remit(remit.label, own)
    other.own(own)
    other.json("pass")  # fills the cache of what the host can do, before a step is made to fail
    return other


@pytest.fixture
def covers():
    """Returns a function that records that (field, mechanism, tier) was tested for a user."""

    def record(remit: Remit, field: str, *mechanisms: str, tier: str = "local") -> None:
        path = os.environ.get("REMIT_COVERAGE")
        if not path:
            return
        with open(path, "a") as f:
            for mechanism in mechanisms:
                row = {"field": field, "mechanism": mechanism, "tier": tier, "user": remit.label}
                f.write(json.dumps(row) + "\n")

    return record


def enforced(result: dict, field: str) -> list[str]:
    """Returns the mechanisms that enforced a field in this run."""
    (row,) = [r for r in result["enforcement"] if r["field"] == field]
    return row["mechanisms"]
