"""Runs every test and ends with "N passed, N failed".

    tests/run.py            all stages
    tests/run.py lint unit  only these
"""

from __future__ import annotations

import concurrent.futures
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).parents[1]
PYTHON = "/usr/bin/python3"
FUZZ_SECONDS = 4
# What is built where no test of a part runs.
PRODUCT = ("product",)


def sh(*argv: str, env: dict[str, str] | None = None, quiet: bool = True) -> subprocess.CompletedProcess:
    done = subprocess.run(
        argv, cwd=ROOT, env={**os.environ, **(env or {})}, text=True,
        stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None,
    )  # fmt: skip
    if quiet and done.returncode:
        print(done.stdout, flush=True)
    return done


def build(folder: str, *options: str, targets: tuple[str, ...] = (), env: dict[str, str] | None = None) -> bool:
    if not (ROOT / folder / "build.ninja").exists():
        if sh("meson", "setup", folder, *options, env=env).returncode:
            return False
    return sh("ninja", "-C", folder, "--quiet", *targets).returncode == 0


def meson_test(folder: str, *suites: str) -> tuple[int, int]:
    argv = ["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", "--num-processes", "2"]
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
SHORT = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=20000")]


def stage_lint() -> tuple[int, int]:
    sources = tracked("src/*.c", "runtime/*.c", "tools/*.c", "python/*.c")
    own = tracked("*.c", "*.h")
    if not build("build"):
        return 0, 1
    checks = [
        ("clang-format", ["clang-format", "--dry-run", "--Werror", *own]),
        (
            "cppcheck",
            ["cppcheck", "--quiet", "--error-exitcode=1", "--inline-suppr", "--enable=warning,portability", "-j2",
             "--suppressions-list=tests/cppcheck.txt", "-D_GNU_SOURCE", "-D__x86_64__", *(f"-I{d}" for d in ("include", "src/base")), "src"],
        ),
        ("clang-tidy", ["xargs", "-P2", "-n6", "clang-tidy", "-p", "build", "--quiet", "--extra-arg=-Wno-unknown-warning-option", *SHORT]),
        ("house", [PYTHON, "tests/house.py"]),
    ]  # fmt: skip
    results = []
    for name, argv in checks:
        done = subprocess.run(
            argv, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            input="\n".join(sources) if argv[0] == "xargs" else None,
        )  # fmt: skip
        if done.returncode:
            print(f"-- {name}\n{done.stdout[-8000:]}", flush=True)
        results.append(one(done.returncode == 0))
    return add(*results)


def stage_unit() -> tuple[int, int]:
    return meson_test("build", "unit", "fuzz") if build("build") else (0, 1)


ASAN = ("-Db_sanitize=address,undefined", "-Db_lundef=false")


def stage_sanitizers() -> tuple[int, int]:
    if not build("build-asan", *ASAN):
        return 0, 1
    return meson_test("build-asan", "unit", "fuzz")


def stage_analyzer() -> tuple[int, int]:
    """gcc's analyzer takes arrays that grow for leaks; LeakSanitizer does not."""
    options = "-Dc_args=-fanalyzer -Wno-analyzer-malloc-leak", "-Dbuildtype=debug"
    return one(build("build-analyzer", *options, targets=PRODUCT))


def fuzz_one(target: pathlib.Path) -> tuple[int, int]:
    corpus = ROOT / "tests" / "fuzz" / "corpus" / target.name.removeprefix("fuzz_")
    with tempfile.TemporaryDirectory() as found:
        argv = [str(target), f"-max_total_time={FUZZ_SECONDS}", "-timeout=10", f"-artifact_prefix={found}/", found]
        return one(sh(*argv, *([str(corpus)] if corpus.exists() else [])).returncode == 0)


def stage_fuzz() -> tuple[int, int]:
    wanted = tuple(f"tests/fuzz/{pathlib.Path(path).stem}" for path in tracked("tests/fuzz/fuzz_*.c"))
    if not build("build-fuzz", "-Dfuzz=true", "-Db_lundef=false", targets=wanted, env={"CC": "clang"}):
        return 0, 1
    targets = [
        target
        for target in sorted((ROOT / "build-fuzz" / "tests" / "fuzz").glob("fuzz_*"))
        if os.access(target, os.X_OK) and not target.is_dir() and "replay" not in target.name
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return add(*pool.map(fuzz_one, targets)) if targets else (0, 1)


BUILDING = threading.Lock()


def build_all() -> bool:
    """What the tests of the whole need, one stage at a time."""
    with BUILDING:
        return build("build") and build("build-holes", "-Dholes=true", targets=PRODUCT) and build("build-asan", *ASAN)


def pytest_parts(*parts: tuple[str, ...]) -> tuple[int, int]:
    """Side by side: they wait more than they work."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return add(*pool.map(lambda part: pytest(*part), parts))


# Each takes as long as the others, and as all that are in none.
SIDES = (
    ("denials", "faults", "landlock", "shared", "steps", "warm"),
    ("network*", "packages"),
    ("cells", "charts", "displays", "fork*", "repl", "sessions", "tools", "validator"),
    ("e2b*", "mcp*", "playground", "serve*"),
    ("artifacts", "batch*", "bench", "files", "write_roots"),
)


def stage_e2e() -> tuple[int, int]:
    if not build_all():
        return 0, 1
    sides = [tuple(tracked(*(f"tests/e2e/test_{name}.py" for name in side))) for side in SIDES]
    others = set(tracked("tests/e2e/test_*.py")).difference(*sides)
    return pytest_parts(*sides, tuple(sorted(others)))


def stage_escape() -> tuple[int, int]:
    return pytest_parts(("tests/escape", "-k", "user"), ("tests/escape", "-k", "not user")) if build_all() else (0, 1)


def stage_guest() -> tuple[int, int]:
    """Another kernel, in an emulator. What it needs most is patience: it gets
    what the stages beside it leave."""
    if not build_all():
        return 0, 1
    done = subprocess.run(["nice", PYTHON, "tests/guest/guest.py"], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    counts = re.findall(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    passed, failed = map(int, counts[-1]) if counts else (0, 1)
    if failed or not passed:
        print(done.stdout[-20000:], flush=True)
    return passed, failed


def stage_python() -> tuple[int, int]:
    """The Python package: a wheel, and everything in environments that have it."""
    return pytest("tests/python") if build("build") else (0, 1)


def stage_coverage() -> tuple[int, int]:
    """Rule 8, when everything else has run."""
    return pytest("tests/coverage")


STAGES = {
    name.removeprefix("stage_"): f
    for name, f in list(globals().items())
    if name.startswith("stage_")
}


# They wait, each for something else, and do not meet.
TOGETHER = ("e2e", "escape", "guest", "python")


def run_stage(name: str) -> tuple[int, int]:
    begun = time.monotonic()
    print(f"== {name}", flush=True)
    result = STAGES[name]()
    print(f"== {name}: {result[0]} passed, {result[1]} failed ({time.monotonic() - begun:.0f} s)", flush=True)
    return result


def main() -> int:
    # A shell makes what it starts in the background deaf to these, and the tests send them.
    for key in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(key) == signal.SIG_IGN:
            signal.signal(key, signal.SIG_DFL)
    chosen = sys.argv[1:] or list(STAGES)
    with tempfile.TemporaryDirectory(prefix="remit-test-") as folder:
        coverage = pathlib.Path(folder, "coverage")
        coverage.touch()
        os.chmod(folder, 0o755)
        os.environ.setdefault("REMIT_COVERAGE", str(coverage))
        totals = (0, 0)
        while chosen:
            together = list(itertools.takewhile(TOGETHER.__contains__, chosen)) or chosen[:1]
            with concurrent.futures.ThreadPoolExecutor() as pool:
                totals = add(totals, *pool.map(run_stage, together))
            del chosen[: len(together)]
    print(f"{totals[0]} passed, {totals[1]} failed")
    return 1 if totals[1] or not totals[0] else 0


sys.exit(main())
