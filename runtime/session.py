"""The cells of a session, one after the other, in one interpreter.

Between cells nothing of the code runs but its threads. An interrupt is for the
cell that runs; one that comes just before its first line is kept for it, and
one that comes after its last is dropped.
"""

import _signal
import posix
import sys

import cell
import records
import runner

_pending = False


def note_interrupt(_number, _frame):
    """An interrupt outside of a cell."""
    global _pending
    _pending = True


def allow_interrupts():
    """From here on an interrupt is an exception."""
    global _pending
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    if _pending:
        _pending = False
        raise KeyboardInterrupt


def defer_interrupts():
    _signal.signal(_signal.SIGINT, note_interrupt)


_tools = None  # that the cells may call


def next_frame():
    return records.receive() if _tools is None else _tools.next_frame()


class Job:
    """The next cell's, or the last one's, which has no code."""

    def __init__(self, folder):
        self.problem = None  # with one of its files
        self.tools = None  # if they are told now
        kind, payload = next_frame()
        if kind == records.TOOLS:
            self.tools = cell.own_module("tools").Tools(records.parse(payload))
            kind, payload = next_frame()
        if kind == records.FILE:
            records.give_back(records.frame(kind, payload))
            self.problem = cell.own_module("inputs").receive(folder)
            kind, payload = records.receive()
        self.closes = kind == records.CLOSE
        self.forks = payload if kind == records.FORK else None
        self.file = payload if kind == records.FILE_TASK else None
        if kind == records.JOB:
            self.parse(records.parse(payload))
        elif not self.closes and self.forks is None and self.file is None:
            raise RuntimeError(f"the keeper sent frame {kind} and not a job")

    def parse(self, pairs):
        values = dict(pairs)
        self.name = values["name"]
        self.argv = [value for key, value in pairs if key == "argv"]
        self.is_typed = "interactive" in values
        # The last cell was interrupted, perhaps when it was over.
        self.was_interrupted = "stirred" in values
        self.context = values.get("context", "main")
        self.is_fresh = "fresh" in values
        self.env = [value.partition("=")[::2] for key, value in pairs if key == "env"]
        self.code = receive_code(int(values["code_bytes"]))


def receive_code(missing):
    code = b""
    while len(code) < missing:
        kind, piece = records.receive()
        if kind != records.CODE:
            raise RuntimeError("the keeper did not send all of the code")
        code += piece
    return code


def typed_input():
    """Standard input that somebody types: asked for when it is read."""
    import io

    class Typed(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, place):
            records.send(records.ASK)
            data = posix.read(0, len(place))
            place[: len(data)] = data
            return len(data)

    return io.TextIOWrapper(io.BufferedReader(Typed()), "utf-8")


def given_input():
    return open(0, encoding="utf-8", errors="strict", closefd=False)


def compiled(job):
    """The program, what was wrong with it, or None: more is to be typed."""
    if not job.is_typed or job.problem is not None:
        return cell.compiled(job)
    import codeop

    cell.sources[job.name] = job.code
    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= cell.TOP_LEVEL_AWAIT
    try:
        program = compiler(job.code.decode(), job.name, "single")
    except BaseException as exc:
        return exc
    return program and [program]


def execute(program, module, name, reserve):
    """Run it. What to claim and the exit code, whenever interrupts come."""
    outcome = None
    while True:
        try:
            if outcome is None:
                allow_interrupts()
                outcome = cell.run(program, module, name, reserve)
            defer_interrupts()
            return outcome
        except KeyboardInterrupt as exc:  # before its first line, or after its last
            if outcome is None:
                outcome = cell.describe_error(exc, name)


class Environment:
    """Variables of one cell. What they were before, they are after."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __enter__(self):
        if self.pairs:
            import os

            self.variables = os.environ
            self.before = {name: os.environ.get(name) for name, _ in self.pairs}
            os.environ.update(self.pairs)

    def __exit__(self, *_):
        for name, _ in self.pairs:
            if self.before[name] is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = self.before[name]


class Contexts:
    """Namespaces by name, each the __main__ of its cells, with a current folder of
    its own."""

    def __init__(self, main, folder):
        self.modules = {"main": main}
        self.current = "main"
        self.folder = folder
        self.folders = {}

    def find(self, job):
        self.enter(job.context)
        module = self.modules.get(job.context)
        if module is None or job.is_fresh:
            module = self.modules[job.context] = cell.fresh_module()
            if _tools is not None:
                _tools.give(module.__dict__)
        sys.modules["__main__"] = module
        return module

    def enter(self, context):
        if context == self.current:
            return
        try:
            self.folders[self.current] = posix.getcwd()
        except FileNotFoundError:  # it was removed
            self.folders.pop(self.current, None)
        self.current = context
        try:
            posix.chdir(self.folders.get(context, self.folder))
        except OSError:  # likewise, or may be entered no more
            posix.chdir(self.folder)

    def give_tools(self):
        for module in self.modules.values():
            _tools.give(module.__dict__)

    def clear(self):
        for module in self.modules.values():
            module.__dict__.clear()


def perform(task, job, module, reserve):
    """One cell. None if it was turned away before it began."""
    global _pending
    if job.was_interrupted:
        _pending = False
    sys.argv[:] = [job.name, *job.argv]
    # What the last cell has read ahead is not this one's.
    sys.stdin = typed_input() if job.is_typed else given_input()
    module.__file__ = job.name
    module.__loader__ = cell.Source(job.code)
    program = compiled(job)
    if program is None:
        return (*cell.OK, ("incomplete", "yes")), 0
    if task.checked and not runner.passes_validator(task, job, program):
        return None
    if task.many["pth"]:
        runner.run_import_lines(task)
        task.many["pth"].clear()
    return execute(program, module, job.name, reserve)


def serve(task, module, reserve):
    """Until the keeper says that it was the last one."""
    global _tools
    own = posix.getpid()
    folder = posix.getcwd()
    contexts = Contexts(module, folder)
    sys.modules["__main__"] = module
    files = cell.own_module("files")  # before the code can change anything
    workspace = folder.encode("utf-8", "surrogateescape")
    before = runner.old_collections()
    defer_interrupts()
    records.send(records.WARM)
    while True:
        if _tools is not None:
            _tools.bridge.give_up("the cell is over")
        with records.read_lock:  # a thread of the last cell may still read
            job = Job(folder)
        if job.closes:
            runner.wind_down(contexts.clear, before)
            return cell.OK, 0
        if job.forks is not None:
            cell.own_module("branch").fork(job.forks)
            continue
        if job.file is not None:
            files.perform(job.file, workspace)
            continue
        if job.tools is not None:
            _tools = job.tools
            contexts.give_tools()
        cell.add_program_folder(job.name, folder)
        with Environment(job.env):
            outcome = perform(task, job, contexts.find(job), reserve)
        runner.flush()
        if posix.getpid() != own:  # a fork of the code: its end is its own affair
            posix._exit(outcome[1] & 0xFF)
        if outcome:
            records.put(runner.ended(*outcome))
