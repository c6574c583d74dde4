"""Runs every test and ends with "N passed, N failed".

    tests/run.py            all stages but for the longest
    tests/run.py lint unit  only these

Failures are printed as they happen, and what has been done so far every few seconds. REMIT_WITHOUT leaves stages out, and
REMIT_ALSO adds others.
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
# For each fuzz target; without it, a number of inputs.
FUZZ_SECONDS = os.environ.get("REMIT_FUZZ_SECONDS")
FUZZ_RUNS = 5000
STATUS_S = 15
# On the reference machine a skip is a failure, whatever makes it.
MUST_WORK = os.environ.get("REMIT_MUST_WORK") == "all"


# ---- what is shown ----


class Progress:
    """Counts of each stage, from several threads."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.lock = threading.Lock()
        self.passed: collections.Counter[str] = collections.Counter()
        self.failed: collections.Counter[str] = collections.Counter()
        self.skipped: collections.Counter[str] = collections.Counter()
        self.total: collections.Counter[str] = collections.Counter()
        self.running: dict[str, str] = {}  # stage: what it does
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
        """In a thread: while something compiles, no test ends."""
        while True:
            time.sleep(STATUS_S)  # no test: it shows a line now and then
            with self.lock:
                self.show()

    def fail(self, stage: str, what: str, text: str) -> None:
        with self.lock:
            self.print(f"FAILED {stage}: {what}\n{text[-20000:].rstrip()}\n")
        self.count(stage, failed=1)

    def skip(self, stage: str, why: str) -> None:
        """A whole stage."""
        if MUST_WORK:
            self.fail(stage, "must work here", why)
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
            self.fail(stage, "not all of it ran", f"{done} of {self.total[stage]}, {self.skipped[stage]} of them skipped")
        with self.lock:
            self.running.pop(stage, None)
            self.print(f"{stage}: {self.passed[stage]} passed, {self.failed[stage]} failed")


PROGRESS = Progress()


def sh(stage: str, *argv: str, env: dict[str, str] | None = None, input: str | None = None) -> bool:
    """Whether it went well; if not, what it printed is shown and counts as a failure."""
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
    """Fails where git does, as in a checkout that another user owns: no files would pass every check."""
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


# Warnings are errors where the compilers are known: the next one has new warnings.
WARNINGS = "-Dwerror=true" if MUST_WORK else "-Dwerror=false"
# Builds that are only tested: half the time to compile.
QUICK = "-Doptimization=0"
PRODUCT = Build("build", ("-Dtests=true",))
HOLES = Build("build-holes", ("-Dholes=true", QUICK, "-Ddebug=false"), ("product",))
# Without what can be left out; each function has a section, for tools/trusted_lines.py.
SMALL = Build("build-small", ("-Dforeign_apis=false", QUICK, "-Ddebug=false", "-Dc_args=-ffunction-sections -fdata-sections"), ("product",))
# Sanitizers and fuzz targets in one.
SANITIZED = Build("build-asan", ("-Dtests=true", "-Dfuzz=true", "-Db_lundef=false", QUICK), compiler="clang")
# Fuzzing for minutes pays for optimization.
FUZZED = Build("build-soak", ("-Dtests=true", "-Dfuzz=true", "-Db_lundef=false", "-Doptimization=1"), compiler="clang")
# gcc's analyzer takes arrays that grow for leaks; LeakSanitizer does not.
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
    """A folder that exists, such as the product's own build, is given these options once."""
    if not build.is_configured:
        verb = "configure" if (ROOT / build.folder / "build.ninja").exists() else "setup"
        cache = "ccache " if shutil.which("ccache") else ""
        env = {"CC": cache + build.compiler} if build.compiler else {}
        if not sh(stage, "meson", verb, build.folder, WARNINGS, *build.options, env=env):
            return False
        build.is_configured = True
    return sh(stage, "ninja", "-C", build.folder, "--quiet", *build.targets)


# ---- stages that compute ----

# The patience of clang's analyzer; by default it takes four minutes for all files.
SHORT = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=4000")]
# Another version formats and warns differently.
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
    sources = "\n".join(tracked("src/*.c", "bench/*.c", "runtime/*.c", "tools/*.c", "python/*.c"))
    tidy = ["clang-tidy-19", "-p", "build", "--quiet", "--extra-arg=-Wno-unknown-warning-option", *SHORT]
    check(stage, "xargs", f"-P{CPUS}", "-n6", *tidy, input=sources)
    check(stage, PYTHON, "tests/house.py")


def meson_test(stage: str, folder: str) -> None:
    argv = ["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", f"--num-processes={CPUS}", "--timeout-multiplier=4"]
    done = subprocess.run([*argv, "--suite", "unit", "--suite", "fuzz"], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    counts = {k: int(n) for k, n in re.findall(r"^(Ok|Expected Fail|Fail|Timeout|Skipped):\s+(\d+)", done.stdout, re.M)}
    failed = counts.get("Fail", 0) + counts.get("Timeout", 0) + counts.get("Skipped", 0)
    if done.returncode or failed:
        PROGRESS.fail(stage, folder, done.stdout)
        failed = max(failed - 1, 0)  # one is counted
    PROGRESS.count(stage, passed=counts.get("Ok", 0), failed=failed)


def stage_unit(stage: str) -> None:
    if make(stage, PRODUCT):
        meson_test(stage, PRODUCT.folder)


def stage_sanitizers(stage: str) -> None:
    """The unit tests, and a keeper under load."""
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
    """gcc's analyzer; clang's is part of lint."""
    if make(stage, ANALYZED):
        PROGRESS.count(stage, passed=1)


def stage_guest(stage: str) -> None:
    """Another kernel, in an emulator."""
    if not make(stage, PRODUCT, HOLES):
        return
    done = subprocess.run([PYTHON, "tests/guest/guest.py"], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    counts = re.findall(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    passed, failed = map(int, counts[-1]) if counts else (0, 1)
    if done.returncode or failed:
        PROGRESS.fail(stage, "tests/guest/guest.py", done.stdout)
        failed = max(failed - 1, 0)  # one is counted
    PROGRESS.count(stage, passed, failed)


# ---- stages of pytest ----


def read_events(reader: int, stage_of: collections.abc.Callable[[str], str]) -> None:
    """What tests/progress.py sends, until all of pytest is gone."""
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
                PROGRESS.fail(stage, f"{name}: must work here", event["text"])
            elif event["outcome"] == "skipped":
                PROGRESS.skipped[stage] += 1
                PROGRESS.print(f"SKIPPED {stage}: {name}: {event['text']}")
            else:
                PROGRESS.count(stage, passed=1)


def pytest(workers: int, *options: str, stages: dict[str, str]) -> None:
    """`stages`: folder of each."""
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
    # What is of no test, as a worker that failed, counts for the first.
    read_events(reader, lambda test: names.get("/".join(test.split("/")[:2]), next(iter(stages))))
    drain.join()
    failed = sum(PROGRESS.failed[stage] for stage in stages)
    # pytest itself failed, and no test has said so.
    if process.wait() not in (0, 1) or (process.returncode and not failed):
        PROGRESS.fail(next(iter(stages)), f"pytest, exit code {process.returncode}", "".join(output))


# The folder of each.
PYTEST = {name: f"tests/{name}" for name in ("newcomer", "python", "e2e", "deb", "escape")}
# Hostile programs keep the processors busy, so there are few at once; what tests the whole waits more than it works.
BUSY = {"escape"}


def stage_escape(stage: str) -> None:
    """One hostile program after the other, whatever file it is in."""
    if make(stage, PRODUCT, HOLES):
        pytest(CPUS, "--dist=load", stages={stage: PYTEST[stage]})


def run_waiting(stages: list[str]) -> None:
    """The others, by whole files: several of their tests share a server or a machine."""
    if make(stages[0], PRODUCT, HOLES, *([SMALL] if "e2e" in stages else [])):
        pytest(2 * CPUS, "--dist=loadfile", stages={stage: PYTEST[stage] for stage in stages})


def stage_coverage(stage: str) -> None:
    """Rule 8, when everything else has run."""
    pytest(1, stages={stage: "tests/coverage"})


# ---- all of them ----

STAGES = ("unit", "escape", "python", "e2e", "newcomer", "coverage")
# `make soak` names them, and CI does in REMIT_ALSO.
LONGER = ("lint", "sanitizers", "fuzz", "analyzer", "deb", "guest")
# What only computes gets what the tests leave over, which wait for each other's moments.
COMPUTING = ("unit", "sanitizers", "fuzz", "lint", "analyzer")


def run_stage(stage: str) -> None:
    PROGRESS.enter(stage, "running")
    globals()[f"stage_{stage}"](stage)
    PROGRESS.leave(stage)


def run_computing(stages: list[str]) -> None:
    os.nice(10)  # of this thread, and of what it starts
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
        sys.exit(f"tests/run.py: no such stage: {' '.join(unknown)}. There are: {' '.join((*STAGES, *LONGER))}")
    return [name for name in dict.fromkeys([*(names or STAGES), *also]) if name not in left_out]


def main() -> int:
    # A shell makes what it starts in the background deaf to these, and the tests send them.
    for key in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(key) == signal.SIG_IGN:
            signal.signal(key, signal.SIG_DFL)
    stages = chosen_stages(sys.argv[1:])
    # Clones of one tree share what they compile.
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
