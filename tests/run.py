"""Runs every test and ends with "N passed, N failed".

    tests/run.py            all stages except the longest
    tests/run.py lint unit  only these stages

Prints failures as they happen, and the progress every few seconds. REMIT_WITHOUT names stages to leave out, REMIT_ALSO
stages to add.
"""

from __future__ import annotations

import collections
import collections.abc
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from progress import KEPT

ROOT = pathlib.Path(__file__).parents[1]
PYTHON = "/usr/bin/python3"
CPUS = os.cpu_count() or 1
# Seconds for each fuzz target. If unset, each target runs a number of inputs.
FUZZ_SECONDS = os.environ.get("REMIT_FUZZ_SECONDS")
FUZZ_RUNS = 5000
STATUS_S = 15
# On the reference machine a skip is a failure.
MUST_WORK = os.environ.get("REMIT_MUST_WORK") == "all"


# ---- progress ----


class Progress:
    """The counts of each stage, updated by several threads."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.lock = threading.Lock()
        self.passed: collections.Counter[str] = collections.Counter()
        self.failed: collections.Counter[str] = collections.Counter()
        self.skipped: collections.Counter[str] = collections.Counter()
        self.total: collections.Counter[str] = collections.Counter()
        self.running: dict[str, str] = {}  # stage: its current activity
        self.left_out: set[str] = set()

    def print(self, text: str) -> None:
        seconds = int(time.monotonic() - self.begun)
        print(f"[{seconds // 60}:{seconds % 60:02}] {text}", flush=True)

    def enter(self, stage: str, doing: str) -> None:
        with self.lock:
            self.running[stage] = doing

    def doing(self, stage: str, doing: str) -> None:
        with self.lock:
            if stage in self.running:
                self.running[stage] = doing

    def count(self, stage: str, passed: int = 0, failed: int = 0) -> None:
        with self.lock:
            self.passed[stage] += passed
            self.failed[stage] += failed

    def keep_showing(self) -> None:
        """Prints the progress every few seconds, in a thread, since no test ends while the compiler runs."""
        while True:
            time.sleep(STATUS_S)  # not a test: prints a line periodically
            with self.lock:
                self.show()

    def fail(self, stage: str, what: str, text: str) -> None:
        with self.lock:
            self.print(f"FAILED {stage}: {what}\n{text[-20000:].rstrip()}\n")
        self.count(stage, failed=1)

    def skip(self, stage: str, why: str) -> None:
        """Skips a whole stage."""
        if MUST_WORK:
            self.fail(stage, "skipped, but REMIT_MUST_WORK=all", why)
        else:
            self.print(f"SKIPPED {stage}: {why}")
            self.left_out.add(stage)

    def show(self) -> None:
        words = []
        for stage, doing in self.running.items():
            done = self.passed[stage] + self.failed[stage]
            words.append(f"{stage} {done}/{self.total[stage]}" if self.total[stage] else f"{stage} ({doing})")
        failed = sum(self.failed.values())
        self.print(", ".join(words) + f"; {sum(self.passed.values())} passed, {failed} failed so far")

    def leave(self, stage: str) -> None:
        done = self.passed[stage] + self.failed[stage] + self.skipped[stage]
        if stage not in self.left_out and (done == self.skipped[stage] or done < self.total[stage]):
            self.fail(stage, "some tests did not run", f"{done} of {self.total[stage]} ran, {self.skipped[stage]} of them were skipped")
        with self.lock:
            self.running.pop(stage, None)
            self.print(f"{stage}: {self.passed[stage]} passed, {self.failed[stage]} failed")


PROGRESS = Progress()


def sh(stage: str, *argv: str, env: dict[str, str] | None = None, input: str | None = None) -> bool:
    """Runs a command. Returns whether it succeeded; if not, prints its output and counts a failure."""
    done = subprocess.run(
        argv, cwd=ROOT, env={**os.environ, **(env or {})}, text=True, input=input or "",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        PROGRESS.fail(stage, shlex.join(argv)[:100], done.stdout)
    return done.returncode == 0


def check(stage: str, *argv: str, **more: str) -> None:
    if sh(stage, *argv, **more):
        PROGRESS.count(stage, passed=1)


def tracked(*patterns: str) -> list[str]:
    """Returns the tracked files that match. Fails if git does, as in a checkout that another user owns: an empty list would pass
    every check."""
    return subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, text=True, check=True, stdout=subprocess.PIPE).stdout.split()


# ---- builds ----


@dataclasses.dataclass
class Build:
    folder: str
    options: tuple[str, ...]
    targets: tuple[str, ...] = ()
    compiler: str | None = None
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    is_configured: bool = False


# Warnings are errors only where the compilers are known, since a newer compiler has new warnings.
WARNINGS = "-Dwerror=true" if MUST_WORK else "-Dwerror=false"
# For builds that are only tested: it halves the time to compile.
QUICK = "-Doptimization=0"
PRODUCT = Build("build", ("-Dtests=true",))
HOLES = Build("build-holes", ("-Dholes=true", QUICK, "-Ddebug=false"), ("product",))
# Without optional parts. Each function has its section, for tools/trusted_lines.py.
SMALL = Build("build-small", ("-Dforeign_apis=false", QUICK, "-Ddebug=false", "-Dc_args=-ffunction-sections -fdata-sections"), ("product",))
# One build for the sanitizers and the fuzz targets.
SANITIZED = Build("build-asan", ("-Dtests=true", "-Dfuzz=true", "-Db_lundef=false", QUICK), compiler="clang")
# For fuzzing that takes minutes, optimization is worth its time.
FUZZED = Build("build-soak", ("-Dtests=true", "-Dfuzz=true", "-Db_lundef=false", "-Doptimization=1"), compiler="clang")
# gcc's analyzer reports growing arrays as leaks; LeakSanitizer does not.
ANALYZED = Build("build-analyzer", ("-Dc_args=-fanalyzer -Wno-analyzer-malloc-leak", "-Dbuildtype=debug"), ("product",))


def make(stage: str, *builds: Build) -> bool:
    for build in builds:
        PROGRESS.doing(stage, f"building {build.folder}")
        with build.lock:
            if not make_one(stage, build):
                return False
    PROGRESS.doing(stage, "running")
    return True


def make_one(stage: str, build: Build) -> bool:
    """Configures a build directory once, also one that exists, such as the product's build, and then builds."""
    if not build.is_configured:
        verb = "configure" if (ROOT / build.folder / "build.ninja").exists() else "setup"
        cache = "ccache " if shutil.which("ccache") else ""
        env = {"CC": cache + build.compiler} if build.compiler else {}
        if not sh(stage, "meson", verb, build.folder, WARNINGS, *build.options, env=env):
            return False
        build.is_configured = True
    return sh(stage, "ninja", "-C", build.folder, "--quiet", *build.targets)


# ---- stages that compute ----

# Limits clang's analyzer, which takes four minutes for all files by default.
SHORT = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=4000")]
# Other versions format and warn differently.
CLANG = 19


def stage_lint(stage: str) -> None:
    if not shutil.which(f"clang-format-{CLANG}"):
        PROGRESS.skip(stage, f"clang-format-{CLANG} and clang-tidy-{CLANG} are not installed")
        return
    if not make(stage, PRODUCT):
        return
    check(stage, f"clang-format-{CLANG}", "--dry-run", "--Werror", *tracked("*.c", "*.h"))
    check(
        stage, "cppcheck", "--quiet", "--error-exitcode=1", "--inline-suppr", "--enable=warning,portability", f"-j{CPUS}",
        "--suppressions-list=tests/cppcheck.txt", "-D_GNU_SOURCE", "-D__x86_64__", "-Iinclude", "-Isrc", "src", "bench",
    )  # fmt: skip
    # The files of the guest are compiled for another machine, with another C library.
    sources = "\n".join(tracked("src/*.c", "bench/*.c", "runtime/*.c", "tools/*.c", "python/*.c", ":!runtime/guest/*"))
    tidy = ["clang-tidy-19", "-p", "build", "--quiet", "--extra-arg=-Wno-unknown-warning-option", *SHORT]
    check_tidy(stage, ["xargs", f"-P{CPUS}", "-n6", *tidy], sources)
    check(stage, PYTHON, "tests/house.py")
    check_prose(stage)


def check_tidy(stage: str, argv: list[str], sources: str) -> None:
    """Without the lines about progress, which would hide the findings."""
    done = subprocess.run(argv, cwd=ROOT, text=True, input=sources, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 0:
        PROGRESS.count(stage, passed=1)
        return
    noise = re.compile(r"(\[\d+/\d+\] Processing file .*|\d+ warnings? generated\.)$")
    found = [line for line in done.stdout.splitlines() if not noise.match(line)]
    PROGRESS.fail(stage, "clang-tidy", "\n".join([f"exit code {done.returncode}", *found]))


def check_prose(stage: str) -> None:
    """Retired words are a failure; suggestions for changed lines are only shown."""
    done = subprocess.run([PYTHON, "tests/prose.py"], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        PROGRESS.fail(stage, "tests/prose.py", done.stdout)
        return
    if done.stdout:
        PROGRESS.print(done.stdout.rstrip())
    PROGRESS.count(stage, passed=1)


def meson_test(stage: str, folder: str) -> None:
    argv = ["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", f"--num-processes={CPUS}", "--timeout-multiplier=4"]
    done = subprocess.run([*argv, "--suite", "unit", "--suite", "fuzz"], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    counts = {k: int(n) for k, n in re.findall(r"^(Ok|Expected Fail|Fail|Timeout|Skipped):\s+(\d+)", done.stdout, re.M)}
    failed = counts.get("Fail", 0) + counts.get("Timeout", 0) + counts.get("Skipped", 0)
    if done.returncode or failed:
        PROGRESS.fail(stage, folder, done.stdout)
        failed = max(failed - 1, 0)  # fail() has counted one
    PROGRESS.count(stage, passed=counts.get("Ok", 0), failed=failed)


def stage_unit(stage: str) -> None:
    if make(stage, PRODUCT):
        meson_test(stage, PRODUCT.folder)


def stage_sanitizers(stage: str) -> None:
    """Runs the unit tests and a keeper under load with sanitizers."""
    if make(stage, PRODUCT, SANITIZED):
        meson_test(stage, SANITIZED.folder)
        pytest(1, stages={stage: "tests/sanitized"})


def fuzz_one(stage: str, target: pathlib.Path) -> None:
    corpus = ROOT / "tests" / "fuzz" / "corpus" / target.name.removeprefix("fuzz_")
    with tempfile.TemporaryDirectory() as found:
        enough = f"-max_total_time={FUZZ_SECONDS}" if FUZZ_SECONDS else f"-runs={FUZZ_RUNS}"
        argv = [str(target), enough, "-timeout=30", f"-artifact_prefix={found}/", found]
        check(stage, *argv, *([str(corpus)] if corpus.exists() else []))


def stage_fuzz(stage: str) -> None:
    build = FUZZED if FUZZ_SECONDS else SANITIZED
    if not make(stage, build):
        return
    targets = [ROOT / build.folder / "tests" / "fuzz" / pathlib.Path(path).stem for path in tracked("tests/fuzz/fuzz_*.c")]
    PROGRESS.total[stage] = len(targets)
    with concurrent.futures.ThreadPoolExecutor(CPUS) as pool:
        list(pool.map(lambda target: fuzz_one(stage, target), targets))


def stage_analyzer(stage: str) -> None:
    """Runs gcc's analyzer; clang's is part of lint."""
    if make(stage, ANALYZED):
        PROGRESS.count(stage, passed=1)


def stage_guest(stage: str) -> None:
    """Runs tests with another kernel, in an emulator."""
    if not make(stage, PRODUCT, HOLES):
        return
    done = subprocess.run([PYTHON, "tests/guest/guest.py"], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    counts = re.findall(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    passed, failed = map(int, counts[-1]) if counts else (0, 1)
    if done.returncode or failed:
        PROGRESS.fail(stage, "tests/guest/guest.py", done.stdout)
        failed = max(failed - 1, 0)  # fail() has counted one
    PROGRESS.count(stage, passed, failed)


# ---- stages of pytest ----


def read_events(reader: int, stage_of: collections.abc.Callable[[str], str]) -> None:
    """Reads the reports of tests/progress.py until every process of pytest has ended."""
    seen: set[str] = set()
    with open(reader) as lines:
        for event in map(json.loads, lines):
            if "collected" in event:
                new = set(event["collected"]) - seen
                seen |= new
                PROGRESS.total.update(map(stage_of, new))
                continue
            stage, name = stage_of(event["test"]), event["test"]
            if event["outcome"] == "failed":
                PROGRESS.fail(stage, name if event["when"] == "call" else f"{name} ({event['when']})", event["text"])
            elif event["outcome"] == "skipped" and MUST_WORK:
                PROGRESS.fail(stage, f"{name}: skipped, but REMIT_MUST_WORK=all", event["text"])
            elif event["outcome"] == "skipped":
                PROGRESS.skipped[stage] += 1
                PROGRESS.print(f"SKIPPED {stage}: {name}: {event['text']}")
            else:
                PROGRESS.count(stage, passed=1)


def pytest(workers: int, *options: str, stages: dict[str, str]) -> None:
    """Runs pytest in the folder of each stage of `stages`."""
    names = {path: stage for stage, path in stages.items()}
    reader, writer = os.pipe()
    argv = [PYTHON, "-m", "pytest", "-q", "--no-header", "--no-summary", "-p", "no:cacheprovider", "-p", "progress", "--tb=short", f"-n{workers}"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT / "tests"), "REMIT_PROGRESS": str(writer)}
    process = subprocess.Popen(
        [*argv, *options, *stages.values()], cwd=ROOT, env=env, pass_fds=[writer], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    os.close(writer)
    output: list[str] = []
    drain = threading.Thread(target=lambda: output.extend(process.stdout))
    drain.start()
    # A report of no test, such as a failed worker, counts for the first stage.
    read_events(reader, lambda test: names.get("/".join(test.split("/")[:2]), next(iter(stages))))
    drain.join()
    failed = sum(PROGRESS.failed[stage] for stage in stages)
    # pytest itself failed, and no test reported a failure.
    if process.wait() not in (0, 1) or (process.returncode and not failed):
        PROGRESS.fail(next(iter(stages)), f"pytest, exit code {process.returncode}", "".join(output))


# The folder of each stage.
PYTEST = {name: f"tests/{name}" for name in ("newcomer", "python", "e2e", "deb", "escape")}
# Hostile programs keep the processors busy, so only a few run at once. The other tests mostly wait.
BUSY = {"escape"}


def stage_escape(stage: str) -> None:
    """Distributes single tests over the workers, whichever file they are in."""
    if make(stage, PRODUCT, HOLES):
        pytest(CPUS, "--dist=load", stages={stage: PYTEST[stage]})


def run_waiting(stages: list[str]) -> None:
    """Distributes whole files over the workers, since tests of a file share a server or a machine."""
    if make(stages[0], PRODUCT, HOLES, *([SMALL] if "e2e" in stages else [])):
        if "e2e" in stages and not (ROOT / PRODUCT.folder / "wasm" / "remit-wasm").exists():
            PROGRESS.print("e2e: remit-wasm is not built (make wasm), so no code runs in the tier wasm, and coverage does not ask for it")
        pytest(2 * CPUS, "--dist=loadfile", stages={stage: PYTEST[stage] for stage in stages})


def stage_coverage(stage: str) -> None:
    """Checks, after all other tests, that every enforced field was tested."""
    pytest(1, stages={stage: "tests/coverage"})


# ---- all of them ----

STAGES = ("unit", "escape", "python", "e2e", "newcomer", "coverage")
# `make soak` runs these too, and CI names them in REMIT_ALSO.
LONGER = ("lint", "sanitizers", "fuzz", "analyzer", "deb", "guest")
# These stages only compute. They get the processor time that the waiting tests leave.
COMPUTING = ("unit", "sanitizers", "fuzz", "lint", "analyzer")


def run_stage(stage: str) -> None:
    PROGRESS.enter(stage, "running")
    globals()[f"stage_{stage}"](stage)
    PROGRESS.leave(stage)


def run_computing(stages: list[str]) -> None:
    os.nice(10)  # for this thread and the processes it starts
    for stage in stages:
        run_stage(stage)


def run_all(stages: list[str]) -> None:
    waiting = [name for name in stages if name in PYTEST and name not in BUSY]
    computing = [name for name in COMPUTING if name in stages]
    jobs: list[collections.abc.Callable[[], None]] = []
    if waiting:
        jobs.append(lambda: run_together(waiting))
    if "escape" in stages:
        jobs.append(lambda: run_stage("escape"))
    if computing:
        jobs.append(lambda: run_computing(computing))
    if "guest" in stages:
        jobs.append(lambda: run_computing(["guest"]))
    with concurrent.futures.ThreadPoolExecutor(max(len(jobs), 1)) as pool:
        for job in [pool.submit(job) for job in jobs]:
            job.result()
    if "coverage" in stages:
        run_stage("coverage")


def run_together(stages: list[str]) -> None:
    for stage in stages:
        PROGRESS.enter(stage, "building")
    run_waiting(stages)
    for stage in stages:
        PROGRESS.leave(stage)


def chosen_stages(names: list[str]) -> list[str]:
    also, left_out = (os.environ.get(name, "").split() for name in ("REMIT_ALSO", "REMIT_WITHOUT"))
    unknown = sorted({*names, *also, *left_out} - {*STAGES, *LONGER})
    if unknown:
        sys.exit(f"tests/run.py: unknown stage: {' '.join(unknown)}. The stages are: {' '.join((*STAGES, *LONGER))}")
    return [name for name in dict.fromkeys([*(names or STAGES), *also]) if name not in left_out]


def main() -> int:
    # A shell makes its background jobs ignore these signals, which the tests send.
    for key in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(key) == signal.SIG_IGN:
            signal.signal(key, signal.SIG_DFL)
    stages = chosen_stages(sys.argv[1:])
    # Clones of the repository share the compiler cache.
    os.environ.setdefault("CCACHE_NOHASHDIR", "1")
    os.environ.setdefault("CCACHE_IGNOREOPTIONS", "-Werror")
    PROGRESS.print("stages: " + " ".join(stages))
    threading.Thread(target=PROGRESS.keep_showing, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="remit-test-") as folder:
        coverage = pathlib.Path(folder, "coverage")
        coverage.touch()
        os.chmod(folder, 0o755)
        os.environ.setdefault("REMIT_COVERAGE", str(coverage))
        os.environ["REMIT_TEST_TIMES"] = shutil.copy(KEPT, folder) if KEPT.exists() else str(pathlib.Path(folder, "none"))
        run_all(stages)
    passed, failed = sum(PROGRESS.passed.values()), sum(PROGRESS.failed.values())
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
