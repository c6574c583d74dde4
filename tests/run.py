"""Runs every test and ends with "N passed, N failed".

    tests/run.py            all stages
    tests/run.py lint unit  only these
"""

from __future__ import annotations

import collections
import collections.abc
import concurrent.futures
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).parents[1]
PYTHON = "/usr/bin/python3"
# For each target; without it, so many inputs.
FUZZ_SECONDS = os.environ.get("REMIT_FUZZ_SECONDS")
FUZZ_RUNS = 5000
# Passed and failed, of each part of a stage.
Results = collections.abc.Iterable[tuple[int, int]]
# What is built where no test of a part runs.
PRODUCT = ("product",)


def sh(*argv: str, env: dict[str, str] | None = None, input: str | None = None) -> subprocess.CompletedProcess:
    done = subprocess.run(
        argv, cwd=ROOT, env={**os.environ, **(env or {})}, text=True, input=input,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        print(f"-- {shlex.join(argv)[:100]}\n{done.stdout[-20000:]}", flush=True)
    return done


# Several stages need the same.
BUILDING: dict[str, threading.Lock] = collections.defaultdict(threading.Lock)


def build(folder: str, *options: str, targets: tuple[str, ...] = (), env: dict[str, str] | None = None) -> bool:
    with BUILDING[folder]:
        if not (ROOT / folder / "build.ninja").exists():
            if sh("meson", "setup", folder, *options, env=env).returncode:
                return False
        return sh("ninja", "-C", folder, "--quiet", *targets).returncode == 0


def meson_test(folder: str, *suites: str) -> tuple[int, int]:
    argv = ["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", "--num-processes", "2", "--timeout-multiplier", "4"]
    for suite in suites:
        argv += ["--suite", suite]
    done = subprocess.run(argv, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    counts = {k: int(n) for k, n in re.findall(r"^(Ok|Expected Fail|Fail|Timeout|Skipped):\s+(\d+)", done.stdout, re.M)}
    failed = counts.get("Fail", 0) + counts.get("Timeout", 0) + counts.get("Skipped", 0)
    if done.returncode or failed:
        print(done.stdout, flush=True)
        failed = max(failed, 1)
    return counts.get("Ok", 0), failed


def pytest(*paths: str, env: dict[str, str] | None = None) -> tuple[int, int]:
    argv = [PYTHON, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "--tb=short", *paths]
    done = subprocess.run(
        argv, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})},
    )  # fmt: skip
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", last)}
    failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    if done.returncode:
        print(done.stdout[-20000:], flush=True)
        failed = max(failed, 1)
    elif counts.get("skipped"):
        print(f"  {counts['skipped']} skipped:", *re.findall(r"^SKIPPED.*", done.stdout, re.M), sep="\n  ")
    return counts.get("passed", 0), failed


def one(ok: bool) -> tuple[int, int]:
    return (1, 0) if ok else (0, 1)


def add(*pairs: tuple[int, int]) -> tuple[int, int]:
    return sum(p for p, _ in pairs), sum(f for _, f in pairs)


def tracked(*patterns: str) -> list[str]:
    return subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, text=True, capture_output=True).stdout.split()


# ---- the stages ----


# Of clang's analyzer: its usual patience is four minutes for all files, and gcc's looks too.
SHORT = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=4000")]


def stage_lint() -> Results:
    sources = tracked("src/*.c", "runtime/*.c", "tools/*.c", "python/*.c")
    own = tracked("*.c", "*.h")
    if not build("build"):
        return [(0, 1)]
    checks = [
        ["clang-format", "--dry-run", "--Werror", *own],
        ["cppcheck", "--quiet", "--error-exitcode=1", "--inline-suppr", "--enable=warning,portability", "-j2",
         "--suppressions-list=tests/cppcheck.txt", "-D_GNU_SOURCE", "-D__x86_64__", *(f"-I{d}" for d in ("include", "src/base")), "src"],
        ["xargs", "-P2", "-n6", "clang-tidy", "-p", "build", "--quiet", "--extra-arg=-Wno-unknown-warning-option", *SHORT],
        [PYTHON, "tests/house.py"],
    ]  # fmt: skip
    return [one(sh(*argv, input="\n".join(sources) if argv[0] == "xargs" else "").returncode == 0) for argv in checks]


def stage_unit() -> Results:
    return [meson_test("build", "unit", "fuzz") if build("build") else (0, 1)]


# Of what is only tested: it takes half as long to build.
QUICK = "-Doptimization=0"
ASAN = ("-Db_sanitize=address,undefined", "-Db_lundef=false", QUICK)


def stage_sanitizers() -> Results:
    return [meson_test("build-asan", "unit", "fuzz") if build("build-asan", *ASAN) else (0, 1)]


def stage_analyzer() -> Results:
    """gcc's analyzer takes arrays that grow for leaks; LeakSanitizer does not."""
    options = "-Dc_args=-fanalyzer -Wno-analyzer-malloc-leak", "-Dbuildtype=debug"
    return [one(build("build-analyzer", *options, targets=PRODUCT))]


def fuzz_one(target: pathlib.Path) -> tuple[int, int]:
    corpus = ROOT / "tests" / "fuzz" / "corpus" / target.name.removeprefix("fuzz_")
    with tempfile.TemporaryDirectory() as found:
        enough = f"-max_total_time={FUZZ_SECONDS}" if FUZZ_SECONDS else f"-runs={FUZZ_RUNS}"
        argv = [str(target), enough, "-timeout=30", f"-artifact_prefix={found}/", found]
        return one(sh(*argv, *([str(corpus)] if corpus.exists() else [])).returncode == 0)


def stage_fuzz() -> Results:
    wanted = tuple(f"tests/fuzz/{pathlib.Path(path).stem}" for path in tracked("tests/fuzz/fuzz_*.c"))
    # Who fuzzes for long wants quick code.
    folder, level = ("build-soak", "-Doptimization=1") if FUZZ_SECONDS else ("build-fuzz", QUICK)
    if not build(folder, "-Dfuzz=true", "-Db_lundef=false", level, targets=wanted, env={"CC": "clang"}):
        return [(0, 1)]
    targets = [
        target
        for target in sorted((ROOT / folder / "tests" / "fuzz").glob("fuzz_*"))
        if os.access(target, os.X_OK) and not target.is_dir() and "replay" not in target.name
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(fuzz_one, targets)) or [(0, 1)]


# Hostile programs keep processors busy; what tests the whole waits more than it works. More at once would only make
# each other late.
BUSY = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
WAITING = concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1))
# What takes longest begins first.
LONGEST = ("packages", "sessions", "network_warm", "warm", "fork_hostile", "bench", "tools", "fork", "artifacts", "shared", "landlock", "network", "network_ask", "write_roots", "steps", "sanitized")


def build_all() -> bool:
    """What the tests of the whole need."""
    return build("build") and build("build-holes", "-Dholes=true", QUICK, "-Ddebug=false", targets=PRODUCT) and build("build-asan", *ASAN)


def pytest_part(part: tuple[str, ...]) -> tuple[int, int]:
    begun = time.monotonic()
    result = pytest(*part)
    print(f"  {time.monotonic() - begun:4.0f} s", *part, flush=True)
    return result


def pytest_parts(workers: concurrent.futures.Executor, *parts: tuple[str, ...]) -> Results:
    """They take them in this order, after those of the stages before."""
    return workers.map(pytest_part, parts)


def stage_guest() -> Results:
    """Another kernel, in an emulator."""
    if not build_all():
        return [(0, 1)]
    counts = re.findall(r"^(\d+) passed, (\d+) failed$", sh(PYTHON, "tests/guest/guest.py").stdout, re.M)
    return [tuple(map(int, counts[-1])) if counts else (0, 1)]


def stage_escape() -> Results:
    if not build_all():
        return [(0, 1)]
    files = sorted(tracked("tests/escape/test_*.py"), key=lambda path: "escape.py" not in path)
    return pytest_parts(BUSY, *((path, "-k", who) for path in files for who in ("user", "not user")))


def stage_python() -> Results:
    """The Python package: a wheel, and everything in environments that have it."""
    return pytest_parts(WAITING, ("tests/python",)) if build("build") else [(0, 1)]


def stage_e2e() -> Results:
    if not build_all():
        return [(0, 1)]
    files = tracked(*(f"tests/e2e/test_{name}.py" for name in LONGEST))
    files += [path for path in tracked("tests/e2e/test_*.py") if path not in files]
    return pytest_parts(WAITING, *((path,) for path in files))


def stage_coverage() -> Results:
    """Rule 8, when everything else has run."""
    return [pytest("tests/coverage")]


STAGES = {
    name.removeprefix("stage_"): f
    for name, f in list(globals().items())
    if name.startswith("stage_")
}


# What only computes gets what the tests leave, which wait for each other's moments.
COMPUTING, EMULATING = (concurrent.futures.ThreadPoolExecutor(1, initializer=os.nice, initargs=(10,)) for _ in range(2))
BESIDE = {
    **dict.fromkeys(("unit", "sanitizers"), concurrent.futures.ThreadPoolExecutor(1)),
    **dict.fromkeys(("lint", "analyzer", "fuzz"), COMPUTING),
    "guest": EMULATING,
}
# It counts what the others have tested.
LAST = "coverage"


def begin(name: str) -> collections.abc.Callable[[], Results]:
    if name in BESIDE:
        return BESIDE[name].submit(STAGES[name]).result
    results = STAGES[name]()
    return lambda: results


def run_stages(names: list[str]) -> tuple[int, int]:
    """All of them are begun before the first is waited for, and those beside last: what is built for several is not
    built patiently."""
    begun = time.monotonic()
    print("==", *names, flush=True)
    started = {name: begin(name) for name in sorted(names, key=BESIDE.__contains__)}
    results = []
    for name in names:
        results.append(add(*started[name]()))
        print(f"== {name}: {results[-1][0]} passed, {results[-1][1]} failed ({time.monotonic() - begun:.0f} s)", flush=True)
    return add(*results)


def main() -> int:
    # A shell makes what it starts in the background deaf to these, and the tests send them.
    for key in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(key) == signal.SIG_IGN:
            signal.signal(key, signal.SIG_DFL)
    chosen = list(dict.fromkeys(sys.argv[1:] or STAGES))
    with tempfile.TemporaryDirectory(prefix="remit-test-") as folder:
        coverage = pathlib.Path(folder, "coverage")
        coverage.touch()
        os.chmod(folder, 0o755)
        os.environ.setdefault("REMIT_COVERAGE", str(coverage))
        groups = [name for name in chosen if name != LAST], [name for name in chosen if name == LAST]
        try:
            totals = add(*(run_stages(names) for names in groups if names))
        except BaseException:  # Ctrl-C: what has not begun never will
            for executor in (BUSY, WAITING, *BESIDE.values()):
                executor.shutdown(wait=False, cancel_futures=True)
            raise
    print(f"{totals[0]} passed, {totals[1]} failed")
    return 1 if totals[1] or not totals[0] else 0


sys.exit(main())
