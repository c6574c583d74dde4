"""Runs commands beside the cells of a session, in a helper process that is forked before the first cell.

The helper has its own channel to the keeper (src/wire/command.h). It can do nothing that the code
could not do itself, and everything it sends is a claim. It starts programs, forwards their input
and output, and reports how they ended.
"""

import posix

import _remit
import records

CHANNEL = 3
PIECE = 32 * 1024
# While more bytes wait for the keeper, the output of commands stays in their pipes.
QUEUE = 256 * 1024
# The output of a command that has ended is read up to this many bytes: more than a pipe contains.
# What its background processes write later is discarded.
REST = 1024 * 1024
LINGERING = 64
KILL_SECONDS = 0.5
EXITED, SIGNALLED, FAILED = 1, 2, 3
STDOUT, STDERR, TERMINAL = 1, 2, 3
SIGKILL = 9
TEXT = 400


def begin(folder):
    """Fork the helper. It becomes a child of pid 1, so that the code does not wait for it."""
    channel = _remit.passed()
    if channel < 0:
        raise RuntimeError("the keeper sent no descriptor for commands")
    try:
        child = posix.fork()
    except OSError:  # too many processes: the keeper reports that there is no helper
        child = 0
    else:
        if child == 0:
            become_helper(channel, folder)
        posix.waitpid(child, 0)
    posix.close(channel)


def become_helper(channel, folder):
    """Does not return."""
    try:
        if posix.fork() == 0:
            close_others(channel)
            Helper(folder).run()
    finally:
        posix._exit(0)


def close_others(channel):
    null = posix.open("/dev/null", posix.O_RDWR)
    for fd in range(3):
        posix.dup2(null, fd)
    posix.dup2(channel, CHANNEL, False)
    posix.closerange(CHANNEL + 1, 65536)
    posix.set_blocking(CHANNEL, False)


def number(n):
    return (n & 0xFFFFFFFF).to_bytes(4, "little")


def number_at(payload, at):
    return int.from_bytes(payload[at : at + 4], "little")


def close_all(fds):
    for fd in fds:
        posix.close(fd)


def take_terminal():
    """Make the standard input of this new session its controlling terminal."""
    from fcntl import ioctl
    from termios import TIOCSCTTY

    ioctl(0, TIOCSCTTY, 0)


class Command:
    """A program that was started."""

    def __init__(self, name, values, folder):
        import os
        import subprocess

        self.name = name
        self.streams = {}  # descriptor: stream
        self.input = -1
        self.pending = bytearray()
        self.closes_input = False
        self.code = None
        self.rest = REST
        self.is_terminal = "columns" in values["one"]
        theirs = self.open_terminal(values["one"]) if self.is_terminal else self.open_pipes("input" in values["one"])
        environment = os.environ.copy()
        environment.update(pair.partition("=")[::2] for pair in values["env"])
        try:
            self.process = subprocess.Popen(
                values["argv"], stdin=theirs[0], stdout=theirs[1], stderr=theirs[2], cwd=values["one"].get("cwd", folder),
                env=environment, start_new_session=True, preexec_fn=take_terminal if self.is_terminal else None,
            )  # fmt: skip
        except BaseException:
            self.close()
            raise
        finally:
            close_all(set(theirs))

    def open_terminal(self, values):
        import os

        self.input, theirs = os.openpty()
        self.streams = {self.input: TERMINAL}
        posix.set_blocking(self.input, False)
        self.resize(int(values["columns"]), int(values["rows"]))
        return (theirs,) * 3

    def resize(self, columns, rows):
        from fcntl import ioctl
        from termios import TIOCSWINSZ

        size = b"".join(n.to_bytes(2, "little") for n in (rows, columns, 0, 0))
        ioctl(self.input, TIOCSWINSZ, size)

    def open_pipes(self, reads):
        given = posix.pipe() if reads else (posix.open("/dev/null", posix.O_RDONLY | posix.O_CLOEXEC), -1)
        out, err = posix.pipe(), posix.pipe()
        self.input = given[1]
        self.streams = {out[0]: STDOUT, err[0]: STDERR}
        for fd in (self.input, out[0], err[0]):
            if fd >= 0:
                posix.set_blocking(fd, False)
        return given[0], out[1], err[1]

    def close(self):
        """Close a terminal, which hangs it up, or what was opened for a program that could not start."""
        self.close_input()
        close_all(self.streams)
        self.streams = {}

    def close_input(self):
        if self.input >= 0 and self.input not in self.streams:
            posix.close(self.input)
        self.input = -1
        self.pending.clear()

    def write_input(self):
        try:
            del self.pending[: posix.write(self.input, self.pending)]
        except BlockingIOError:
            return
        except OSError:  # it has closed its input
            if self.is_terminal:
                self.pending.clear()
            else:
                self.close_input()
            return
        if not self.pending and self.closes_input:
            self.close_input()

    def signal(self, which):
        for kill in (posix.killpg, posix.kill):
            try:
                kill(self.process.pid, which)
            except OSError:  # it has ended
                continue

    def wait_for_end(self):
        """Wait for a killed program, but not for ever: the kernel may keep it until its input or output is done."""
        import subprocess

        try:
            self.process.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            pass


class Helper:
    def __init__(self, folder):
        import select
        import signal

        self.select = select
        self.folder = folder
        self.inbox = b""
        self.outbox = bytearray()
        self.commands = {}
        self.lingering = []  # pipes of commands that have ended
        self.wake, wakes = posix.pipe()
        for fd in (self.wake, wakes):
            posix.set_blocking(fd, False)
        # Handlers, since a program would inherit that a signal is ignored.
        for which in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(which, lambda *_: None)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)

    def send(self, kind, payload):
        self.outbox += records.frame(kind, payload)

    def end(self, name, kind, value=0, text=""):
        self.send(records.COMMAND_ENDED, number(name) + number(kind) + number(value) + text.encode("utf-8", "replace")[:TEXT])

    # ---- frames of the keeper ----

    def start(self, payload):
        pairs = records.parse(payload)
        values = {"one": dict(pairs), **{key: [value for name, value in pairs if name == key] for key in ("argv", "env")}}
        name = int(values["one"]["id"])
        try:
            self.commands[name] = command = Command(name, values, self.folder)
        except Exception as exc:  # no such program or folder, no memory, too many processes
            self.end(name, FAILED, text=str(exc) or type(exc).__name__)
        else:
            self.send(records.COMMAND_STARTED, number(name) + number(command.process.pid))

    def take_input(self, payload):
        command = self.commands.get(number_at(payload, 0))
        if command is None or command.input < 0:
            return
        command.pending += payload[4:]
        command.closes_input |= len(payload) == 4 and not command.is_terminal
        if command.pending:
            command.write_input()
        elif command.closes_input:
            command.close_input()

    def take_signal(self, payload):
        command = self.commands.get(number_at(payload, 0))
        if command is None:
            return
        which = number_at(payload, 4)
        command.signal(which)
        if which == SIGKILL:  # the client's next command must not find this one alive
            command.wait_for_end()

    def take_size(self, payload):
        command = self.commands.get(number_at(payload, 0))
        if command is not None and command.is_terminal and command.input >= 0:
            command.resize(int.from_bytes(payload[4:6], "little"), int.from_bytes(payload[6:8], "little"))

    def receive(self):
        """Handle frames. Return False when the keeper has closed the channel."""
        try:
            data = posix.read(CHANNEL, 65536)
        except BlockingIOError:
            return True
        if not data:
            return False
        self.inbox += data
        while len(self.inbox) >= 8:
            end = 8 + int.from_bytes(self.inbox[:4], "little")
            if len(self.inbox) < end:
                break
            kind, payload = self.inbox[4], self.inbox[8:end]
            self.inbox = self.inbox[end:]
            HANDLERS[kind](self, payload)
        return True

    # ---- output ----

    def flush(self):
        try:
            del self.outbox[: posix.write(CHANNEL, self.outbox)]
        except BlockingIOError:
            return

    def read_output(self, command, fd):
        """Forward a piece. Return False if there is no more."""
        try:
            data = posix.read(fd, PIECE)
        except BlockingIOError:
            return False
        except OSError:  # nobody has the terminal open
            data = b""
        if not data:
            del command.streams[fd]
            # A program may close its terminal long before it ends. Closing the other side would kill it (SIGHUP).
            if fd != command.input:
                posix.close(fd)
            return False
        self.send(records.COMMAND_OUTPUT, number(command.name) + bytes((command.streams[fd],)) + data)
        if command.code is not None:
            command.rest -= len(data)
        return True

    def discard(self, fd):
        try:
            if posix.read(fd, PIECE):
                return
        except BlockingIOError:
            return
        self.lingering.remove(fd)
        posix.close(fd)

    def keep_reading(self, fd):
        """Discard what background processes of a command that has ended still write, and close the oldest pipe beyond a maximum."""
        self.lingering.append(fd)
        if len(self.lingering) > LINGERING:
            posix.close(self.lingering.pop(0))

    # ---- the end ----

    def reap(self):
        for command in list(self.commands.values()):
            if command.code is None:
                command.code = command.process.poll()
            if command.code is not None:
                self.finish(command)

    def finish(self, command):
        """Forward the rest of the output, as far as there is space, and then the end."""
        if command.is_terminal and command.input >= 0:
            command.streams[command.input] = TERMINAL  # the program may have opened it again
        for fd in list(command.streams):
            while command.rest > 0 and len(self.outbox) < QUEUE and self.read_output(command, fd):
                pass
        if len(self.outbox) >= QUEUE and command.rest > 0:
            return
        kind = SIGNALLED if command.code < 0 else EXITED
        self.end(command.name, kind, abs(command.code))
        del self.commands[command.name]
        if command.is_terminal:
            command.close()
            return
        command.close_input()
        for fd in command.streams:
            self.keep_reading(fd)

    # ---- the loop ----

    def wait(self):
        """Return the descriptors that are ready."""
        poll = self.select.poll()
        wanted = {CHANNEL: self.select.POLLIN, self.wake: self.select.POLLIN}
        if self.outbox:
            wanted[CHANNEL] |= self.select.POLLOUT
        for fd in self.lingering:
            wanted[fd] = self.select.POLLIN
        for command in self.commands.values():
            if len(self.outbox) < QUEUE:
                for fd in command.streams:
                    wanted[fd] = self.select.POLLIN
            if command.pending:
                wanted[command.input] = wanted.get(command.input, 0) | self.select.POLLOUT
        for fd, events in wanted.items():
            poll.register(fd, events)
        return dict(poll.poll())

    def handle(self, ready):
        """Handle what is ready. Return False when the keeper has closed the channel."""
        if self.wake in ready:
            posix.read(self.wake, 4096)
        for fd in [fd for fd in self.lingering if fd in ready]:
            self.discard(fd)
        for command in list(self.commands.values()):
            if command.pending and ready.get(command.input, 0) & ~self.select.POLLIN:
                command.write_input()
            for fd in [fd for fd in command.streams if ready.get(fd, 0) & ~self.select.POLLOUT]:
                self.read_output(command, fd)
        self.reap()
        if self.outbox:
            self.flush()
        return CHANNEL not in ready or self.receive()

    def run(self):
        try:
            while self.handle(self.wait()):
                pass
        finally:
            for command in self.commands.values():
                command.signal(9)


HANDLERS = {
    records.COMMAND: Helper.start,
    records.COMMAND_INPUT: Helper.take_input,
    records.COMMAND_SIGNAL: Helper.take_signal,
    records.COMMAND_SIZE: Helper.take_size,
}
