"""Runs one program as __main__ and reports to the keeper how it ended.

The report is a claim: the keeper marks it as reported, and gets exit code, signal and usage from
the kernel.
"""

import atexit
import gc
import posix
import sys
from time import sleep

import _remit
import cell
import records
from cell import own_module

RESERVE = 6 * 1024 * 1024
# Whether gc.collect(1) examines all objects that are not in the oldest of three generations.
GENERATIONS = sys.version_info < (3, 14)
# Milliseconds to wait to be killed: a keeper that has read the claim acts sooner.
EXIT_WAIT_MS = 200
# Modules that programs are likely to import; a zygote adds those it preloads.
likely_imports = ["sys"]
# A typical program that leaves no trace: it ends by an exception, like many. warm_up() runs two
# more, an import in one line and a short call.
WARM_UP = b"""
import sys
class Thing:
    def __init__(self, n): self.n = n
    def __repr__(self): return f"Thing({self.n!r})"
things = [Thing(i) for i in range(50)]
print(len({t.n: str(t) for t in things}), max(things, key=lambda t: t.n), 1.5, sep=" ")
raise SystemExit(0)
"""


# The lists of the validator.
RULES = ("allowed_imports", "blocked_imports", "allowed_builtins", "blocked_builtins", "allowed_os_attrs", "allowed_nodes")


class Task:
    """What all jobs of a plan have in common."""

    def __init__(self):
        self.one = {}
        self.many = {key: [] for key in ("env", "path", "preload", "pth", "grant", "workspace", *RULES)}
        self.checked = False

    def fill(self, pairs):
        for key, value in pairs:
            if key in self.many:
                self.many[key].append(value)
            else:
                self.one[key] = value
        # The code is checked, and the keeper decides before it runs.
        self.checked = self.one["tier"] == "static" or "validator" in self.one or any(self.many[key] for key in RULES)


class Job:
    """One program and its arguments."""

    def __init__(self, channel, begun):
        self.problem = None  # an exception about one of its files
        got = _remit.job(channel, begun)
        self.tools = None  # the tools that it may call
        if isinstance(got, bytes):  # tools and files come first; these are their first bytes
            records.give_back(got)
            if records.peek() == records.TOOLS:
                self.tools = own_module("tools").receive()
            self.problem = own_module("inputs").receive()
            got = _remit.job(channel, records.left_over())
        self.name, self.argv, self.code, cell.limits["display_mode"] = got


_environment = None


def set_environment(pairs):
    """Set exactly these variables. A zygote's child often finds them set already."""
    global _environment
    if pairs == _environment:
        return
    _environment = pairs
    # The interpreter may have set LC_CTYPE itself.
    for name in list(posix.environ):
        posix.unsetenv(name)
    posix.environ.clear()
    for pair in pairs:
        name, _, value = pair.partition("=")
        raw = name.encode("utf-8", "surrogateescape"), value.encode("utf-8", "surrogateescape")
        posix.environ[raw[0]] = raw[1]
        posix.putenv(*raw)
    if "os" in sys.modules:
        import os

        os.environ.clear()
        os.environ.update(pair.partition("=")[::2] for pair in pairs)


def set_interpreter(task):
    """Do what `site` would do: importing `site` would take half of the start-up time."""
    sys.path[:] = task.many["path"]
    sys.prefix = task.one["prefix"]
    sys.exec_prefix = task.one["exec_prefix"]
    sys.executable = task.one["executable"]
    set_builtins()


def set_builtins():
    import builtins

    import _sitebuiltins

    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")
    builtins.help = _sitebuiltins._Helper()
    builtins.display = cell.display
    cell.Watcher.begin()


def give_installer():
    import builtins

    builtins.install_packages = cell.install_packages


def passes_validator(task, job, program):
    """Send the validator's findings; the keeper decides whether the program may run."""
    problem = own_module("validator").check(task, job, program)
    records.send(records.CHECKED, problem or ())
    return not problem and records.receive()[0] == records.GO


def run_import_lines(task):
    """Run import lines of editable installs: untrusted code, so only after the start."""
    for line in task.many["pth"]:
        try:
            exec(line, {})
        except Exception as e:  # like the module site: report the error and continue
            print(f"{line.strip()!r} of a .pth file failed: {e!r}", file=sys.stderr)


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # it is closed, replaced or full: ignored, as when Python ends
            continue


def has_threads():
    threading = sys.modules.get("threading")
    return threading is not None and (len(threading._active) > 1 or bool(getattr(threading, "_threading_atexits", None)))


def old_collections():
    return [generation["collections"] for generation in gc.get_stats()[1:]]


def clear_and_flush(clear, before):
    """Clear the program's variables, which flushes files that were never closed."""
    clear()
    # If no old generation was collected since `before`, all objects of the program are still young,
    # and collecting generation 1 is enough. A full collection takes longer than many programs.
    gc.collect(1 if GENERATIONS and old_collections() == before else 2)
    flush()


def keep_exit_functions():
    """Run no exit functions, but touch the memory of atexit for children of the zygote."""
    atexit.unregister(None)


def wind_down(clear, before, is_warm_up=False):
    """Do what Python does at its end, except freeing memory. A warm-up skips what can be done only
    once."""
    try:
        cell.end_tasks()
        if has_threads() and not is_warm_up:
            sys.modules["threading"]._shutdown()
    finally:
        keep_exit_functions() if is_warm_up else atexit._run_exitfuncs()
        clear_and_flush(clear, before)


class Stage:
    """Everything that a program needs and that can be prepared before it arrives."""

    def __init__(self, task, reserve, is_warm_up=False):
        self.task = task
        self.module = cell.fresh_module()
        self.reserve = reserve
        self.folder = posix.getcwd()
        self.is_warm_up = is_warm_up
        self.before = old_collections()

    def perform(self, job):
        """Run one program from its arrival to its end. Return the claim and the exit code, or None
        if it may not run."""
        sys.argv[:] = [job.name, *job.argv]
        cell.add_program_folder(job.name, self.folder, self.task.many["workspace"])
        program = cell.compiled(job)
        if self.task.checked and not passes_validator(self.task, job, program):
            return None
        if self.task.many["pth"]:
            run_import_lines(self.task)
        cell.become_main(self.module, job)
        if job.tools is not None:
            job.tools.give(self.module.__dict__)
        outcome = cell.run(program, self.module, job.name, self.reserve)
        try:
            wind_down(self.module.__dict__.clear, self.before, self.is_warm_up)
        except BaseException as exc:  # an interrupt while waiting for threads
            outcome = cell.describe_error(exc, job.name)
        return outcome


def ended(claim, code):
    return records.encode(records.ENDED, (*claim, ("exit", str(code & 0xFF))))


OK_FRAME = ended(cell.OK, 0)


def claim_end(channel, claim, code, wait_ms):
    """Send the claim and wait for the keeper to kill this process, which is faster than exiting.
    The wait is limited: if the program wrote half a frame, the keeper reads the claim as its
    rest."""
    _remit.part(channel, OK_FRAME if claim is cell.OK else ended(claim, code), wait_ms)


def claim_and_exit(claim, code):
    claim_end(records.CHANNEL, claim, code, EXIT_WAIT_MS)
    posix._exit(code & 0xFF)


# ---- the warm-up ----


def warm_up_one(code, task, own):
    """Do everything that a run does, with a pipe as the channel."""
    pipe = posix.pipe()
    head = records.encode(records.JOB, (("name", "main.py"), ("code_bytes", str(len(code))), ("display_mode", "all")))
    posix.write(pipe[1], head + records.frame(records.CODE, code))
    claim, code = Stage(task, [], is_warm_up=True).perform(Job(pipe[0], b""))
    if claim[0][1] == "error" or posix.getpid() != own:
        raise RuntimeError(f"the warm-up failed: {claim}")
    claim_end(pipe[1], claim, code, 0)
    posix.close(pipe[0])
    posix.close(pipe[1])


class Silence:
    """Discards output before a program starts."""

    def __enter__(self):
        self.kept = posix.dup(1), posix.dup(2)
        null = posix.open("/dev/null", posix.O_WRONLY)
        posix.dup2(null, 1)
        posix.dup2(null, 2)
        posix.close(null)

    def __exit__(self, *_):
        flush()
        for to, fd in zip((1, 2), self.kept):
            posix.dup2(fd, to)
            posix.close(fd)


def warm_up():
    """Run typical programs, so that the memory pages that programs touch are already private or shared."""
    task = Task()
    own = posix.getpid()
    with Silence():
        for code in WARM_UP, b"import " + ", ".join(likely_imports).encode() + b"; print(1)", b"print(1)":
            warm_up_one(code, task, own)
    cell.sources.clear()


def preload(modules):
    """Import modules of packages: untrusted code, which runs in the jail like the program. Return
    the error as text, or ""."""
    for module in modules:
        try:
            with Silence():
                __import__(module)
        except BaseException as e:
            return f"importing {module} failed: {type(e).__name__}: {e}"
    return ""


def prepare(task):
    """Do what can be done before the program is known: import modules of packages and warm up."""
    if task.many["preload"]:
        problem = preload(task.many["preload"])
        if problem:
            records.put(records.frame(records.WARM, problem.encode("utf-8", "replace")[:1000]))
            sleep(EXIT_WAIT_MS / 1000)  # the keeper must read it before it notices the end
            posix._exit(1)
    if "warm_up" in task.one:
        warm_up()
    elif not task.many["preload"]:
        return
    if "session" not in task.one:
        records.send(records.WARM)


def main(jailed=True):
    own = cell.process = posix.getpid()
    cell.hide()
    task = Task()
    task.fill(records.receive_records(records.TASK))
    cell.limits = task.one
    if jailed:
        set_environment(task.many["env"])
        if "executable" in task.one:  # missing for a zygote's child, which has it already
            set_interpreter(task)
        elif task.many["path"]:  # with the directory of packages, which a zygote does not have
            sys.path[:] = task.many["path"]
    else:
        set_builtins()
    if "installs" in task.one:
        give_installer()
    # If address space is limited, reserve some for reporting an error. It is not touched; a
    # bytearray would be.
    reserve = [bytes(RESERVE)] if "address_space" in task.one else []
    prepare(task)
    if "session" in task.one:
        session = own_module("session").Session(task, cell.fresh_module(), reserve)
        if not hasattr(_remit, "on_step"):
            session.serve()
        _remit.on_step(session.serve_arrived)  # the guest waits without a stack (runtime/guest)
        return None
    stage = Stage(task, reserve)
    outcome = stage.perform(Job(records.CHANNEL, records.left_over()))
    if outcome is None:
        sleep(EXIT_WAIT_MS / 1000)  # the keeper must read the findings before it notices the end
        return 1
    if posix.getpid() == own:
        claim_and_exit(*outcome)
    posix._exit(outcome[1] & 0xFF)  # a forked child of the program must not send a claim
