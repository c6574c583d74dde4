"""Runs CPython's own tests outside and inside a jail, and compares them test by test.

    tests/cpython.py [RELEASE...]          in bare roots of Debian releases: bookworm (3.11) and trixie (3.13)
    tests/cpython.py --here [MODULE...]    with this machine's /usr/bin/python3 and its package "test"
    tests/cpython.py --show FILE           prints the table again

Outside, an ordinary user runs the tests with the jail's limits, its environment, and a network that has only loopback. Inside,
`remit run --subprocess` runs them, with --net=loopback for modules that use sockets. A test is lost if it passes outside and
not inside. Lost tests are tried again alone, and then in an interpreter that the program starts.

Results are kept after each module in build/cpython/RELEASE.json. Another run continues there; --again starts over.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import pwd
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).parents[1]
RUNNER = ROOT / "tests" / "cpython_runner.py"
RESULTS = ROOT / "build" / "cpython"
PYTHON = "/usr/bin/python3"
SUITES = {"bookworm": "libpython3.11-testsuite", "trixie": "libpython3.13-testsuite"}
USER = "newcomer"
MARK = b"\x1e"

JOBS = 2
SILENCE = 120  # seconds without a test that begins or ends: a hang
RESTARTS = 12
REFUSED = (125, 126)  # exit codes of `remit run`: no jail

GIB = 1 << 30
OPEN_FILES = 1024
FILE_SIZE = GIB
LIMITS = [
    "--timeout=2h", "--cpu=2h", "--memory=2G", "--disk=1G", "--files=100000", f"--file-size={FILE_SIZE}",
    f"--open-files={OPEN_FILES}", "--processes=1024", "--stdout-max=64M", "--stderr-max=16M", "--display-mode=none",
]
ENVIRONMENT = {
    "TMPDIR": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC", "PATH": "/usr/local/bin:/usr/bin:/bin", "MPLBACKEND": "Agg",
}

# Packages of tests that are run file by file, because their modules are long or hang.
SPLIT = re.compile(r"test_(asyncio|concurrent_futures|multiprocessing_\w+)$")
# Tests of the tests themselves, of debuggers and of displays.
LEFT_OUT = {
    "test_regrtest", "test_support", "test_gdb", "test_idle", "test_tcl", "test_tkinter", "test_ttk", "test_ttk_guionly",
    "test_ttk_textonly", "test_turtle",
}
USES_SOCKETS = re.compile(r"\b(socket|socketserver|asyncio|socket_helper|http\.server|urllib\.request|xmlrpc|_test_multiprocessing)\b")


# ---- one module on one side ----


def bring_up_loopback() -> None:
    name, up = b"lo", 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", name, up))  # SIOCSIFFLAGS


def start_outside(user: str, *command: str) -> None:
    """Becomes the user, with the jail's limits and a network that has only loopback, and executes a command."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x40000000) < 0:  # CLONE_NEWNET
        raise OSError(ctypes.get_errno(), "unshare")
    bring_up_loopback()
    entry = pwd.getpwnam(user)
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o022)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # a shell lets its background jobs ignore some
    os.setgroups([entry.pw_gid])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
    home = os.getcwd()
    os.execve(command[0], command, {**ENVIRONMENT, "HOME": home, "USER": user, "LOGNAME": user})


class Side:
    """Starts the runner for a module: outside, or in a jail."""

    def __init__(self, folder: pathlib.Path, args: argparse.Namespace, jailed: bool):
        self.folder, self.args, self.jailed = folder, args, jailed

    def argv(self, module: str, child: bool, work: str) -> list[str]:
        runner = [str(self.folder / "main.py"), *(["--child"] if child else []), module]
        if not self.jailed:
            return [PYTHON, str(RUNNER.with_name("cpython.py")), "--outside", self.args.user, PYTHON, *runner]
        net = ["--net=loopback"] if uses_sockets(module) else []
        return [str(self.args.remit), "run", f"--python={PYTHON}", "--subprocess", *net, *LIMITS, *runner]

    @contextlib.contextmanager
    def started(self, module: str, request: dict, child: bool):
        with tempfile.TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True) as work, tempfile.TemporaryFile() as errors:
            entry = pwd.getpwnam(self.args.user)
            os.chown(work, entry.pw_uid, entry.pw_gid)
            with tempfile.TemporaryFile() as asked:
                asked.write(json.dumps(request).encode())
                asked.seek(0)
                process = subprocess.Popen(
                    self.argv(module, child, work), cwd=work, stdin=asked, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
                )
            try:
                yield process, errors
            finally:
                end(process)


def end(process: subprocess.Popen) -> None:
    """Ends a run that hangs. It has a separate session, so its children end with it; a jail ends as a whole."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def lines(process: subprocess.Popen):
    """Yields the runner's lines until it ends. Raises TimeoutError after a long silence."""
    rest = b""
    while True:
        if not select.select([process.stdout], [], [], SILENCE)[0]:
            raise TimeoutError
        data = os.read(process.stdout.fileno(), 1 << 16)
        if not data:
            return
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            if line.startswith(MARK):
                yield json.loads(line[1:])


def tail(file) -> str:
    file.seek(0)
    return file.read()[-1500:].decode(errors="replace").strip()


def run_once(side: Side, module: str, request: dict, child: bool, found: dict) -> bool:
    """Adds outcomes to `found`. Returns whether the module came to its end."""
    running = None
    with side.started(module, request, child) as (process, errors):
        try:
            for line in lines(process):
                if "start" in line:
                    running = line["start"]
                elif "end" in line:
                    running = None
                    found[line["end"]] = [line["outcome"], line["why"]]
                else:
                    return True
            code = process.wait(60)
            if side.jailed and code in REFUSED:
                sys.exit(f"cpython: {module}: {tail(errors)}")
            outcome = "crash"
        except (TimeoutError, subprocess.TimeoutExpired):
            outcome = "hang"
        found[running or f"{module}: {outcome} before or after its tests"] = [outcome, tail(errors)]
    return running is None


def run_module(side: Side, module: str, only: list[str] | None = None, child: bool = False) -> dict[str, list[str]]:
    """Returns the outcome of each test and its reason. After a hang or a crash the tests that are left run again."""
    found: dict[str, list[str]] = {}
    for _ in range(RESTARTS):
        if run_once(side, module, {"only": only, "skip": list(found)}, child, found):
            break
    return found


# ---- modules ----


def suite_folder() -> pathlib.Path:
    found = subprocess.run([PYTHON, "-c", "import test, sys; print(test.__path__[0])"], text=True, capture_output=True, cwd="/")
    folder = pathlib.Path(found.stdout.strip() or "/nonexistent")
    if not (folder / "test_grammar.py").exists():
        sys.exit(f"cpython: the tests of {PYTHON} are not installed. Install the Debian package {' or '.join(SUITES.values())}.")
    return folder


def modules() -> list[str]:
    folder = suite_folder()
    names = []
    for path in sorted(folder.glob("test_*")):
        if path.stem in LEFT_OUT or path.suffix not in (".py", ""):
            continue
        if path.is_dir() and SPLIT.match(path.name):
            names += [f"{path.name}.{part.stem}" for part in sorted(path.glob("test_*.py"))]
        elif path.is_file() or (path / "__init__.py").exists():
            names.append(path.stem)
    return names


def uses_sockets(module: str) -> bool:
    path = suite_folder().joinpath(*module.split("."))
    # Some modules only start another, such as _test_eintr.py.
    started = path.with_name(f"_{path.name}.py")
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py"), *([started] if started.exists() else [])]
    return any(USES_SOCKETS.search(file.read_text(errors="replace")) for file in files) or "multiprocessing" in module


# ---- comparing ----


def compare(outside: dict, inside: dict) -> dict[str, list[str]]:
    """Returns the tests that pass outside and not inside, with what happened to them."""
    gone = ["missing", next((why for what, why in inside.values() if what in ("crash", "hang", "fail")), "")]
    return {name: inside.get(name, gone) for name, (what, _) in outside.items() if what == "ok" and inside.get(name, gone)[0] != "ok"}


def measure(module: str, sides: tuple[Side, Side], alone: threading.Lock) -> dict:
    begun = time.monotonic()
    outside = run_module(sides[0], module)
    middle = time.monotonic()
    inside = run_module(sides[1], module)
    ended = time.monotonic()
    lost = compare(outside, inside)
    in_child: dict[str, list[str]] = {}
    if lost:
        with alone:
            # A loaded machine is a reason to fail; a second time it is not.
            again = run_module(sides[1], module, only=list(lost))
            lost = {name: again.get(name, why) for name, why in lost.items() if again.get(name, why)[0] != "ok"}
            slow = [name for name, (what, _) in lost.items() if what == "hang"]
            quick = [name for name in lost if name not in slow]
            in_child = run_module(sides[1], module, only=quick, child=True) if quick else {}
    return {
        "outside": collections.Counter(what for what, _ in outside.values()),
        "inside": collections.Counter(what for what, _ in inside.values()),
        "lost": {name: {"outcome": what, "child": in_child.get(name, ["missing"])[0], "why": why} for name, (what, why) in lost.items()},
        "seconds": [round(middle - begun, 1), round(ended - middle, 1)],
    }


def passed(row: dict) -> tuple[int, int]:
    outside = row["outside"].get("ok", 0)
    return outside, outside - len(row["lost"])


def show(results: dict) -> None:
    rows = results["modules"]
    print(f"Python {results['python']}: {len(rows)} modules")
    print(f"{'module':44} {'outside':>8} {'inside':>8}  lost")
    for name, row in sorted(rows.items()):
        if row["lost"]:
            outside, inside = passed(row)
            print(f"{name:44} {outside:8} {inside:8}  {len(row['lost'])}")
            for test, lost in row["lost"].items():
                why = (lost["why"].strip().splitlines() or [""])[-1]
                print(f"    {test}: {lost['outcome']}{' (passes in a child)' if lost['child'] == 'ok' else ''}: {why[:160]}")
    outside = sum(passed(row)[0] for row in rows.values())
    inside = sum(passed(row)[1] for row in rows.values())
    same = sum(not row["lost"] for row in rows.values())
    child = sum(lost["child"] == "ok" for row in rows.values() for lost in row["lost"].values())
    print(f"{inside} of {outside} tests that pass outside pass inside: {100 * inside / max(1, outside):.2f} %")
    print(f"{child} of the {outside - inside} lost tests pass in a child; {same} of {len(rows)} modules lose nothing")


def measure_here(args: argparse.Namespace) -> None:
    version = subprocess.run([PYTHON, "-c", "import platform; print(platform.python_version())"], text=True, capture_output=True, check=True)
    results = {"python": version.stdout.strip(), "modules": {}}
    out = pathlib.Path(args.out)
    if out.exists() and not args.again:
        results = json.loads(out.read_text())
    wanted = [name for name in args.names or modules() if args.names or name not in results["modules"]]
    alone = threading.Lock()
    with tempfile.TemporaryDirectory(prefix="remit-cpython-", dir="/var/tmp", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        shutil.copy(RUNNER, folder / "main.py")
        sides = (Side(folder, args, False), Side(folder, args, True))
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            jobs = {pool.submit(measure, module, sides, alone): module for module in wanted}
            for job in concurrent.futures.as_completed(jobs):
                row = results["modules"][jobs[job]] = job.result()
                print(f"{jobs[job]:44} {'%d %d' % passed(row):>12}  {row['seconds']}", flush=True)
                unfinished = out.with_suffix(".unfinished")
                unfinished.write_text(json.dumps(results, indent=1))
                unfinished.rename(out)
    show(results)


# ---- machines ----


def measure_in_machine(release: str, args: argparse.Namespace) -> None:
    """Makes a machine of this release, builds Remit in it, and measures there."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "newcomer")]
    from machine import TO_BUILD, Machine

    RESULTS.mkdir(parents=True, exist_ok=True)
    kept = RESULTS / f"{release}.json"
    # netbase has the names of ports; no package has that of 127.0.0.1.
    with Machine(release, f"{TO_BUILD},netbase,{SUITES[release]}") as machine:
        (machine.root / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
        machine.add_user(USER)
        machine.put_checkout("root")
        machine.run("root", "make")
        inside = machine.home("root") / "results.json"
        if kept.exists() and not args.again:
            shutil.copy(kept, inside)
        enter = [sys.executable, str(ROOT / "tests/newcomer/enter.py"), str(machine.root), "root"]
        command = ["/usr/bin/python3", "remit/tests/cpython.py", "--here", f"--user={USER}", f"--jobs={args.jobs}", "--out=/root/results.json"]
        with subprocess.Popen([*enter, *command], stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                print(line, end="", flush=True)
                if inside.exists():
                    shutil.copy(inside, kept)
        if process.returncode:
            sys.exit(process.returncode)


def main() -> None:
    if sys.argv[1:2] == ["--outside"]:
        start_outside(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a release, or with --here a module")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--show", metavar="FILE")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--user", default=USER, help="who runs the tests outside")
    parser.add_argument("--remit", default=ROOT / "build" / "remit")
    parser.add_argument("--out", default=ROOT / "build" / "cpython.json")
    args = parser.parse_args()
    if args.show:
        show(json.loads(pathlib.Path(args.show).read_text()))
    elif os.geteuid() != 0:
        sys.exit("cpython: only root can give the tests outside their own user and network. Run it as root.")
    elif args.here:
        measure_here(args)
    else:
        for release in args.names or SUITES:
            measure_in_machine(release, args)


if __name__ == "__main__":
    main()
