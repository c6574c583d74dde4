"""Runs the cells of a session, one after the other, in one interpreter.

Between cells only threads of the code run. An interrupt affects the running cell: one that arrives
just before the first line is kept for the cell, and one that arrives after the last line is
dropped.
"""

import _signal
import builtins
import posix
import sys

import cell
import records
import runner

_pending = False


def note_interrupt(_number, _frame):
    """Handle an interrupt that arrives outside a cell."""
    global _pending
    _pending = True


def allow_interrupts():
    """Let interrupts raise KeyboardInterrupt, also one that has already arrived."""
    global _pending
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    if _pending:
        _pending = False
        raise KeyboardInterrupt


def defer_interrupts():
    _signal.signal(_signal.SIGINT, note_interrupt)


_tools = None  # the tools that the cells may call


def next_frame():
    return cell.own_module("tools").next_frame() if cell.has_loaded("tools") else records.receive()


class Job:
    """The next request: a cell, a fork, a file operation, a helper for commands, or the end of the session."""

    def __init__(self, folder):
        self.problem = None  # an exception about one of its files
        self.tools = None  # the tools of the session, sent once before its first cell
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
        self.has_commands = kind == records.COMMANDS
        if kind == records.JOB:
            self.parse(records.parse(payload))
        elif not self.closes and self.forks is None and self.file is None and not self.has_commands:
            raise RuntimeError(f"the keeper sent frame {kind} and not a job")

    def parse(self, pairs):
        values = dict(pairs)
        self.name = values["name"]
        self.argv = [value for key, value in pairs if key == "argv"]
        self.is_typed = "interactive" in values
        # The last cell was interrupted, perhaps after it had ended.
        self.was_interrupted = "stirred" in values
        self.context = values.get("context", "main")
        self.is_fresh = "fresh" in values
        cell.limits["display_mode"] = values["display_mode"]
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
    """Return a standard input that requests a line from the caller when it is read."""
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
    """Return the program, an exception, or None if the code is incomplete."""
    if not job.is_typed or job.problem is not None:
        return with_notebook_lines(job, cell.compiled(job))
    import codeop

    cell.sources[job.name] = job.code
    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= cell.TOP_LEVEL_AWAIT
    try:
        program = compiler(job.code.decode(), job.name, "single")
    except BaseException as exc:
        return with_notebook_lines(job, exc, compiler)
    return program and [program]


def with_notebook_lines(job, program, compiler=None):
    """A cell that is not Python may have notebook lines."""
    if not cell.has_shell or not isinstance(program, SyntaxError) or program is job.problem:
        return program
    notebook = cell.own_module("notebook")
    return notebook.typed(job, program, compiler) if compiler else notebook.compiled(job, program)


def give_shell():
    builtins.get_ipython = cell.get_ipython
    cell.has_shell = True


def execute(program, module, name, reserve):
    """Run a cell. Return the claim and the exit code, whenever interrupts arrive."""
    outcome = None
    while True:
        try:
            if outcome is None:
                allow_interrupts()
                outcome = cell.run(program, module, name, reserve)
            defer_interrupts()
            return outcome
        except KeyboardInterrupt as exc:  # before the first line, or after the last
            if outcome is None:
                outcome = cell.describe_error(exc, name)


class Environment:
    """Environment variables of one cell; their old values are restored afterwards."""

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
    """Namespaces by name. Each is the __main__ of its cells and has its own current directory."""

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
        except FileNotFoundError:  # the directory was removed
            self.folders.pop(self.current, None)
        self.current = context
        try:
            posix.chdir(self.folders.get(context, self.folder))
        except OSError:  # removed, or no longer accessible
            posix.chdir(self.folder)

    def give_tools(self):
        for module in self.modules.values():
            _tools.give(module.__dict__)

    def clear(self):
        for module in self.modules.values():
            module.__dict__.clear()


def perform(task, job, module, reserve):
    """Run one cell. Return None if it was rejected before it began."""
    global _pending
    if job.was_interrupted:
        _pending = False
    sys.argv[:] = [job.name, *job.argv]
    # A new object, since the old one may have input buffered for the last cell.
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


class Session:
    """The state of a session from its first request to its end."""

    def __init__(self, task, module, reserve):
        self.task = task
        self.reserve = reserve
        self.process = posix.getpid()
        self.folder = posix.getcwd()
        self.contexts = Contexts(module, self.folder)
        sys.modules["__main__"] = module
        self.files = cell.own_module("files")  # loaded before the code can change anything
        self.workspace = self.files.Workspace(self.folder, task.many["workspace"])
        self.before = runner.old_collections()
        if not task.checked:  # the validator reads Python
            give_shell()
        defer_interrupts()
        records.send(records.WARM)

    def receive(self):
        if cell.has_loaded("tools"):
            cell.own_module("tools").give_up("the cell is over")
        with records.read_lock:  # a thread of the last cell may still be reading
            return Job(self.folder)

    def handle(self, job):
        """Handle one request that does not end the session."""
        if job.forks is not None:
            cell.own_module("branch").fork(job.forks)
        elif job.file is not None:
            self.files.perform(job.file, self.workspace)
        elif job.has_commands:
            cell.own_module("commands").begin(self.folder)
        else:
            self.run(job)

    def run(self, job):
        global _tools
        if job.tools is not None:
            _tools = job.tools
            self.contexts.give_tools()
        cell.add_program_folder(job.name, self.folder, self.task.many["workspace"])
        with Environment(job.env):
            outcome = perform(self.task, job, self.contexts.find(job), self.reserve)
        runner.flush()
        if posix.getpid() != self.process:  # a forked child of the code must not send a claim
            posix._exit(outcome[1] & 0xFF)
        if outcome:
            records.put(runner.ended(*outcome))

    def step(self):
        """Handle one request. Return whether the session goes on."""
        job = self.receive()
        if job.closes:
            runner.wind_down(self.contexts.clear, self.before)
            return False
        self.handle(job)
        return True

    def serve(self):
        """Handle requests until the keeper closes the session."""
        while self.step():
            pass
        runner.claim_and_exit(cell.OK, 0)

    def serve_arrived(self):
        """Handle requests until the next has not begun to arrive (runtime/guest)."""
        while self.step():
            if not records.has_begun():
                return
        runner.claim_and_exit(cell.OK, 0)
