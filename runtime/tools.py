"""Calls from the program to tools of its caller, and requests for packages, over the channel to the keeper.

Nothing here is trusted: the caller checks every call, and the keeper counts them. A call begins at
once. With a running event loop it returns an awaitable; otherwise it waits and returns the result.
If several threads wait, the one with the read lock reads for all.
"""

import sys
from _collections import deque
from _thread import allocate_lock
from posix import getpid

import records

PIECE = 64 * 1024
BYTES_MAX = 64 * 1024 * 1024
# The name of a call for packages, which the keeper answers (src/keeper/session/bridge.h).
INSTALL = "%pip"
INSTALLED = "/.remit/installed/"


class ToolError(Exception):
    """A tool failed, did not accept its arguments, or was not allowed."""

    def __init__(self, tool, message, denied=False):
        super().__init__(f"{tool}: {message}")
        self.tool = tool
        self.message = message
        self.denied = denied


ToolError.__module__ = "__main__"


class Call:
    """One call, from its beginning to its answer."""

    __slots__ = ("tool", "text", "lines", "done", "value", "error", "loop", "future")

    def __init__(self, tool, text):
        self.tool = tool
        self.text = text
        self.lines = deque()  # what arrives before the answer
        self.done = False
        self.value = self.error = self.loop = self.future = None

    def outcome(self):
        if self.error is not None:
            raise self.error
        return self.value

    def settle(self):
        """Set the result of the future, in the thread of the event loop."""
        if self.future.done():  # cancelled
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)


class NotAwaited:
    """A call that has begun: await it, make a task of it, or use its result(). For asyncio it is a
    coroutine."""

    __slots__ = ("_bridge", "_call", "_steps")

    def __init__(self, bridge, call):
        self._bridge = bridge
        self._call = call
        self._steps = None

    def __await__(self):
        return self._call.future.__await__()

    def send(self, value):
        if self._steps is None:
            self._steps = self.__await__()
        return self._steps.send(value)

    def throw(self, *what):
        if self._steps is None:
            self._steps = self.__await__()
        return self._steps.throw(*what)

    def close(self):
        if self._steps is not None:
            self._steps.close()

    def result(self):
        """Wait for the result. The event loop is blocked meanwhile."""
        self._bridge.wait(self._call)
        return self._call.outcome()

    def __repr__(self):
        return f"<a call of {self._call.tool}: write `await` before it>"


def plain(value):
    """Convert numpy's numbers and arrays to Python's numbers and lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"an argument has the type {type(value).__name__}, which JSON cannot represent")


class Bridge:
    """All calls of the program."""

    def __init__(self, concurrency):
        self.concurrency = concurrency
        self.pid = getpid()
        self.lock = allocate_lock()  # protects the following members
        self.last = 0
        self.pending = {}
        self.queue = deque()
        self.reply = None  # the reply being received: its call, outcome, missing bytes, parts
        self.encode = self.decode = self.poll = None

    # ---- calls

    def prepare(self):
        if self.encode is None:
            import json

            self.encode = json.JSONEncoder(allow_nan=False, default=plain).encode
            self.decode = json.JSONDecoder().decode

    def text(self, tool, arguments):
        self.prepare()
        try:
            text = self.encode(arguments).encode()
        except (TypeError, ValueError, RecursionError) as e:
            raise ToolError(tool, f"the arguments cannot be converted to JSON: {e}") from None
        if len(text) > BYTES_MAX:
            raise ToolError(tool, f"the arguments have {len(text)} bytes: {BYTES_MAX} are the most")
        return text

    def check_process(self, tool):
        if getpid() != self.pid:
            raise ToolError(tool, "tools can be called only by the first process of the program")

    def request(self, name, pairs, show):
        """Make a call with records as its arguments, and wait for the answer. `show` is called with each line that
        arrives before it."""
        self.check_process(name)
        self.prepare()
        call = Call(name, records.encode(records.CALL, pairs)[8:])
        self.begin(call)
        while not call.done:
            self.wait_once(call)
            while call.lines:  # without the lock: the program may have replaced what prints
                show(call.lines.popleft())
        return call.outcome()

    def call(self, tool, arguments):
        self.check_process(tool)
        call = Call(tool, self.text(tool, arguments))
        asyncio = sys.modules.get("asyncio")
        loop = asyncio._get_running_loop() if asyncio is not None else None
        if loop is None:
            self.begin(call)
            if not call.done:
                self.wait(call)
            return call.outcome()
        call.loop = loop
        call.future = loop.create_future()
        self.begin(call)
        self.watch(loop)
        return NotAwaited(self, call)

    def begin(self, call):
        with self.lock:
            if len(self.pending) < self.concurrency:
                self.send(call)
            else:
                self.queue.append(call)

    def send(self, call):
        text = call.text
        call.text = None
        self.last += 1
        self.pending[self.last] = call
        head = b"id\0%d\0name\0%b\0bytes\0%d\0" % (self.last, call.tool.encode("utf-8", "replace"), len(text))
        data = records.frame(records.CALL, head)
        for at in range(0, len(text), PIECE):
            data += records.frame(records.CALL_DATA, text[at : at + PIECE])
        records.put(data)

    # ---- answers

    def wait(self, call):
        while not call.done:
            self.wait_once(call)

    def wait_once(self, call):
        with records.read_lock:
            if not call.done:
                self.receive(call.tool)

    def receive(self, tool):
        """Receive a frame, and all frames that arrived with it: poll() would not report them."""
        try:
            self.receive_frame()
            while records.has_frame():
                self.receive_frame()
        except (EOFError, OSError):
            raise ToolError(tool, "the keeper no longer answers") from None

    def receive_frame(self):
        if records.peek() not in (records.REPLY, records.REPLY_DATA):
            raise EOFError("the program is over")
        kind, payload = records.receive()
        if kind == records.REPLY:
            _, number, _, outcome, _, missing, _ = payload.split(b"\0")
            self.reply = [int(number), outcome, int(missing), []]
            return
        self.reply[2] -= len(payload)
        self.reply[3].append(payload)
        if not self.reply[2]:
            number, outcome, _, parts = self.reply
            self.reply = None
            self.finish(number, outcome, b"".join(parts).decode("utf-8", "replace"))

    def finish(self, number, outcome, text):
        if outcome == b"progress":
            call = self.pending.get(number)
            if call is not None:
                call.lines.append(text)
            return
        with self.lock:
            call = self.pending.pop(number, None)
            if self.queue:
                self.send(self.queue.popleft())
        if call is None:  # a call of an earlier cell
            return
        if outcome == b"ok":
            try:
                call.value = self.decode(text)
            except (ValueError, RecursionError) as e:
                call.error = ToolError(call.tool, f"the result cannot be read: {e}")
        else:
            call.error = ToolError(call.tool, text, outcome == b"denied")
        call.done = True
        if call.loop is not None:
            self.notify(call)

    # ---- event loops

    def notify(self, call):
        if sys.modules["asyncio"]._get_running_loop() is call.loop:
            call.settle()
            return
        try:
            call.loop.call_soon_threadsafe(call.settle)
        except RuntimeError:  # the loop is closed, so nothing waits for the call
            return

    def watch(self, loop):
        loop.add_reader(records.CHANNEL, self.on_readable, loop)

    def on_readable(self, loop):
        """Receive from the channel, unless another thread is receiving now."""
        if records.read_lock.acquire(False):
            try:
                self.receive_ready()
            except ToolError as e:
                self.give_up(e.message)
            finally:
                records.read_lock.release()
        with self.lock:
            waits = any(c.loop is loop for c in (*self.pending.values(), *self.queue))
        if not waits:
            loop.remove_reader(records.CHANNEL)

    def receive_ready(self):
        if self.poll is None:
            import select

            self.poll = select.poll()
            self.poll.register(records.CHANNEL, select.POLLIN)
        while records.has_frame() or self.poll.poll(0):
            self.receive("tools")

    def give_up(self, why):
        with self.lock:
            calls = [*self.pending.values(), *self.queue]
            self.pending.clear()
            self.queue.clear()
        for call in calls:
            call.error = ToolError(call.tool, why)
            call.done = True
            if call.loop is not None:
                self.notify(call)


class Tools:
    """The tools of a job, as the program sees them."""

    def __init__(self, pairs):
        self.all = []  # name, help, and parameters with whether they are required
        concurrency = 1
        for key, value in pairs:
            if key == "concurrency":
                concurrency = int(value)
            elif key == "tool":
                self.all.append([value, "", []])
            elif key == "help":
                self.all[-1][1] = value
            else:
                self.all[-1][2].append((value, key == "parameter"))
        self.bridge = shared_bridge()
        self.bridge.concurrency = concurrency

    def give(self, namespace):
        """Add the tools to the namespace of a program. A tool does not hide a builtin of the same name."""
        import builtins

        bridge = self.bridge

        def call_tool(name, /, **arguments):
            """Call a tool of this program's caller by its name."""
            if not isinstance(name, str):
                raise TypeError("the name of a tool must be a string")
            return bridge.call(name, arguments)

        namespace["call_tool"] = named(call_tool, "call_tool", call_tool.__doc__)
        namespace["ToolError"] = ToolError
        for name, text, parameters in self.all:
            if not hasattr(builtins, name):
                namespace[name] = function(bridge, name, text, parameters)


# ---- the channel that all calls share ----

_bridge = None


def shared_bridge():
    """The bridge of this process, in which all calls are numbered."""
    global _bridge
    if _bridge is None:
        _bridge = Bridge(1)
    return _bridge


def next_frame():
    """Receive the next frame that is not a reply. Called between cells, with the read lock."""
    while records.peek() in (records.REPLY, records.REPLY_DATA):
        shared_bridge().receive_frame()
    return records.receive()


def give_up(why):
    if _bridge is not None:
        _bridge.give_up(why)


# ---- packages ----


def installed():
    """The distributions that the program can import, as NAME==VERSION."""
    import importlib.metadata

    found = {}
    for one in importlib.metadata.distributions():
        try:
            found.setdefault(one.metadata["Name"], one.version)
        except Exception:  # an incomplete one
            continue
    return [f"{name}=={version}" for name, version in sorted(found.items(), key=str) if name and version]


def is_of_packages(entry):
    return entry.startswith("/.remit/") or "site-packages" in entry or "dist-packages" in entry


def add_to_path(entry):
    """After the standard library, and before all packages; also for interpreters that the program starts."""
    import importlib
    import os

    places = [at for at, one in enumerate(sys.path) if isinstance(one, str) and is_of_packages(one) and "/.remit/lib" not in one]
    sys.path.insert(min(places, default=len(sys.path)), entry)
    importlib.invalidate_caches()
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (entry, os.environ.get("PYTHONPATH"))))


def request_packages(names, have=(), show=print):
    pairs = [("package", name) for name in names] + [("have", one) for one in have]
    try:
        return shared_bridge().request(INSTALL, pairs, show)
    except ToolError as e:
        raise RuntimeError(e.message) from None


def show_progress(line):
    """Print a line of pip, but not those about files of the installation."""
    if not line.startswith(("Saved ", "Successfully downloaded ", "Processing ./present/", "Compiling")):
        print(line)


def note_imported(wheels):
    names = [name for name in (one.partition("==")[0].replace("-", "_") for one in wheels) if name in sys.modules]
    if names:
        print(f"{', '.join(names)}: imported before, so this program keeps the old version")


def install_packages(*names, quiet=False):
    """Have packages installed by name and version, if the policy allows it. Returns what was installed, as a list
    of NAME==VERSION."""
    answer = request_packages(names, installed(), (lambda _line: None) if quiet else show_progress)
    add_to_path(f"{INSTALLED}{answer['slot']}")
    if not quiet:
        note_imported(answer["wheels"])
    return answer["wheels"]


def named(function, name, text):
    function.__name__ = function.__qualname__ = name
    function.__module__ = "__main__"
    function.__doc__ = text
    return function


def function(bridge, name, text, parameters):
    """Make a function that calls a tool. Positional arguments are the properties of the schema, in
    its order."""
    names = [parameter for parameter, _ in parameters]

    def tool(*values, **arguments):
        if len(values) > len(names):
            raise TypeError(f"{name}() takes {len(names)} arguments, not {len(values)}")
        for parameter, value in zip(names, values):
            if parameter in arguments:
                raise TypeError(f"{name}() got multiple values for argument {parameter!r}")
            arguments[parameter] = value
        return bridge.call(name, arguments)

    shown = ", ".join(parameter if needed else f"{parameter}=..." for parameter, needed in parameters)
    return named(tool, name, f"{name}({shown})\n\n{text}".rstrip())


def receive():
    """Receive the tools of a job from the keeper."""
    return Tools(records.receive_records(records.TOOLS))
