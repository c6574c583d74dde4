"""Sessions through libremit, in a process that runs as the test's user.

As a program: reads requests as JSON lines and answers each with a line. Cells run in threads, so that other requests
can be handled meanwhile. As a module: SessionClient, which starts the program.
"""

from __future__ import annotations

import ctypes as c
import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import threading

PATIENCE = 120  # not imported: this file also runs without the other modules

# Cells that write as soon as they have begun
FOREVER = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"
DEAF = """
import time
while True:
    try:
        print('begun', flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        pass
"""
# The time within which a deaf cell starts to ignore interrupts
DEAF_MS = 2000
UNTIL_INTERRUPTED = """
import time
try:
    print('begun\\n', end='', flush=True)
    while True: time.sleep(60)
except KeyboardInterrupt:
    print('interrupted')
"""


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("errno", c.c_int), ("where", c.c_char * 48), ("message", c.c_char * 1024), ("remedy", c.c_char * 512)]


class Options(c.Structure):
    _fields_ = [("keeper_path", c.c_char_p), ("private_keeper", c.c_int), ("command_path", c.c_char_p)]


class SessionOptions(c.Structure):
    _fields_ = [
        ("policy_json", c.c_char_p), ("artifacts_dir", c.c_char_p), ("tools", c.c_void_p), ("tool_count", c.c_size_t), ("forkable", c.c_int),
        ("secrets", c.c_void_p), ("secret_count", c.c_size_t), ("tenant", c.c_char_p),
    ]  # fmt: skip


class FileTask(c.Structure):
    _fields_ = [
        ("op", c.c_int), ("path", c.c_char_p), ("to", c.c_char_p), ("bytes", c.c_char_p), ("len", c.c_size_t), ("append", c.c_int), ("gunzip", c.c_int),
        ("offset", c.c_ulonglong), ("length", c.c_size_t), ("depth", c.c_uint), ("mode", c.c_uint), ("modified_ns", c.c_longlong),
    ]  # fmt: skip


class FileEntry(c.Structure):
    _fields_ = [
        ("path", c.c_char_p), ("type", c.c_int), ("mode", c.c_uint), ("size", c.c_ulonglong), ("modified_ns", c.c_longlong), ("target", c.c_char_p),
        ("resolved", c.c_char_p), ("resolved_type", c.c_int), ("resolved_mode", c.c_uint),
        ("device", c.c_ulonglong), ("inode", c.c_ulonglong),
    ]  # fmt: skip


class FileAnswer(c.Structure):
    _fields_ = [
        ("bytes", c.c_void_p), ("len", c.c_size_t), ("entries", c.POINTER(FileEntry)), ("entry_count", c.c_size_t), ("truncated", c.c_int),
    ]  # fmt: skip


OnOutput = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_void_p, c.c_size_t)

BUSY = 3
FILE_OPS = ["", "read", "write", "list", "stat", "make", "move", "remove", "link", "set"]
FILE_TYPES = ["", "file", "folder", "link", "other"]


class File(c.Structure):
    _fields_ = [("path", c.c_char_p), ("host_path", c.c_char_p), ("bytes", c.c_char_p), ("len", c.c_size_t)]


class Job(c.Structure):
    _fields_ = [
        ("code", c.c_char_p), ("code_len", c.c_size_t), ("name", c.c_char_p), ("stdin_bytes", c.c_char_p),
        ("stdin_len", c.c_size_t), ("stdin_fd", c.c_int), ("argv", c.POINTER(c.c_char_p)), ("policy_json", c.c_char_p),
        ("files", c.POINTER(File)), ("file_count", c.c_size_t), ("artifacts_dir", c.c_char_p), ("on_output", OnOutput),
        ("on_display", c.c_void_p), ("tools", c.c_void_p), ("tool_count", c.c_size_t), ("on_question", c.c_void_p), ("on_progress", c.c_void_p),
        ("interrupt_fd", c.c_int), ("on_wait", c.c_void_p), ("interactive", c.c_int),
        ("context", c.c_char_p), ("fresh", c.c_int), ("env", c.POINTER(c.c_char_p)), ("timeout_ms", c.c_ulonglong), ("tenant", c.c_char_p), ("user", c.c_void_p),
    ]  # fmt: skip


def text(value):
    return value.encode() if isinstance(value, str) else value


class Failed(Exception):
    pass


class Library:
    def __init__(self, library: str, command: str):
        self.lib = c.CDLL(library)
        self.lib.remit_result_json.restype = c.c_char_p
        self.remit = c.c_void_p()
        self.sessions: dict[str, c.c_void_p] = {}
        self.check("remit_open", c.byref(self.remit), c.byref(Options(command_path=text(command))))

    def check(self, name: str, *args) -> None:
        err = Error()
        if getattr(self.lib, name)(*args, c.byref(err)) < 0:
            raise Failed({"code": err.code, "errno": err.errno, "where": err.where.decode(), "message": err.message.decode(), "remedy": err.remedy.decode()})

    def take(self, result: c.c_void_p) -> dict:
        doc = json.loads(self.lib.remit_result_json(result))
        self.lib.remit_result_free(result)
        return doc

    def open(self, session="s", policy=None, artifacts=None, forkable=0):
        handle = c.c_void_p()
        options = SessionOptions(text(json.dumps(policy)) if policy else None, text(artifacts), forkable=forkable)
        self.check("remit_session_open", self.remit, c.byref(options), c.byref(handle))
        self.sessions[session] = handle
        return {}

    def run(self, code, session="s", name=None, stdin=None, argv=(), files=(), interactive=0, context=None, fresh=0, timeout_ms=0, env=(), on_output=None):
        code = text(code)
        job = Job(code=code, code_len=len(code), name=text(name), stdin_fd=-1, interrupt_fd=-1, interactive=interactive)
        job.context, job.fresh, job.timeout_ms = text(context), fresh, timeout_ms
        if stdin is not None:
            job.stdin_bytes, job.stdin_len = text(stdin), len(text(stdin))
        job.argv = (c.c_char_p * (len(argv) + 1))(*map(text, argv), None)
        job.files = (File * len(files))(*[File(text(p), None, text(b), len(text(b))) for p, b in files])
        job.file_count = len(files)
        if on_output:
            job.on_output = OnOutput(lambda *_: on_output())
        if env:
            job.env = (c.c_char_p * (len(env) + 1))(*map(text, env), None)
        result = c.c_void_p()
        self.check("remit_session_run", self.sessions[session], c.byref(job), c.byref(result))
        return self.take(result)

    def file(self, op, path, session="s", data="", size=None, hex=None, **more):
        """`size`: write this many zeros instead of `data`. Of a long answer only the length is returned."""
        content = bytes.fromhex(hex) if hex is not None else text(data) if size is None else bytes(size)
        task = FileTask(op=FILE_OPS.index(op), path=os.fsencode(path), bytes=content, len=len(content))
        task.to = text(more.pop("to", None))
        for name, value in more.items():
            setattr(task, name, value)
        answer = c.POINTER(FileAnswer)()
        self.check("remit_session_file", self.sessions[session], c.byref(task), c.byref(answer))
        reply = answer.contents
        entries = [
            {"path": os.fsdecode(e.path), "type": FILE_TYPES[e.type], "mode": e.mode, "size": e.size, "modified_ns": e.modified_ns,
             "target": e.target and os.fsdecode(e.target),
             "resolved": e.resolved and [os.fsdecode(e.resolved), FILE_TYPES[e.resolved_type], e.resolved_mode], "file": [e.device, e.inode]}
            for e in reply.entries[: reply.entry_count]
        ]  # fmt: skip
        content = c.string_at(reply.bytes, reply.len) if reply.bytes else b""
        self.lib.remit_file_answer_free(answer)
        shown = content.decode("latin-1") if len(content) < 100_000 else None
        return {"bytes": shown, "len": len(content), "entries": entries, "truncated": reply.truncated}

    def fork(self, branch, session="s", artifacts=None):
        handle = c.c_void_p()
        self.check("remit_session_fork", self.sessions[session], text(artifacts), c.byref(handle))
        self.sessions[branch] = handle
        return {}

    def interrupt(self, session="s"):
        self.lib.remit_session_interrupt(self.sessions[session])
        return {}

    def reset(self, session="s"):
        self.check("remit_session_reset", self.sessions[session])
        return {}

    def network(self, policy, session="s"):
        self.check("remit_session_network", self.sessions[session], policy.encode() if isinstance(policy, str) else json.dumps(policy).encode())
        return {}

    def commit(self, session="s"):
        result = c.c_void_p()
        self.check("remit_session_commit", self.sessions[session], c.byref(result))
        return self.take(result)

    def close(self, session="s"):
        result = c.c_void_p()
        handle = self.sessions.pop(session)
        try:
            self.check("remit_session_close", handle, c.byref(result))
        except Failed as e:
            if e.args[0]["code"] == BUSY:
                self.sessions[session] = handle
            raise
        return self.take(result)

    def drop(self, session="s"):
        self.lib.remit_session_drop(self.sessions.pop(session))
        return {}


def main(library: str, command: str) -> None:
    remit = Library(library, command)
    lock = threading.Lock()

    def send_reply(number, reply):
        with lock:
            print(json.dumps([number, reply]), flush=True)

    def answer(number, what, arguments):
        if arguments.pop("watched", False):
            once = iter([{"begun": True}])
            arguments["on_output"] = lambda: [send_reply(number, word) for word in once]
        try:
            reply = getattr(remit, what)(**arguments)
        except Failed as e:
            reply = {"failed": e.args[0]}
        send_reply(number, reply)

    for line in sys.stdin:
        threading.Thread(target=answer, args=json.loads(line), daemon=True).start()
    os._exit(0)


class SessionClient:
    """A process with sessions that runs as the test's user."""

    shared = None  # its keeper, if that is shared

    def __init__(self, remit, env=None):
        build = pathlib.Path(os.environ.get("REMIT", pathlib.Path(__file__).parents[2] / "build" / "remit")).parent
        bin_dir = pathlib.Path(remit.command).parent
        for source in (build / "libremit.so.0", pathlib.Path(__file__)):
            if not (bin_dir / source.name).exists():
                shutil.copy(source, bin_dir / source.name)
        self.process = subprocess.Popen(
            ["/usr/bin/python3", str(bin_dir / "session_client.py"), str(bin_dir / "libremit.so.0"), remit.command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=remit.folder, env=remit.env(env), **remit.identity(),
        )  # fmt: skip
        self.count = 0
        self.waiting: dict[int, queue.Queue] = {}
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in self.process.stdout:
            number, reply = json.loads(line)
            self.waiting[number].put(reply)
        for q in list(self.waiting.values()):
            q.put({"failed": {"message": "the client process has ended"}})

    def begin(self, what: str, **arguments):
        """Send a request and return a function that waits for the answer."""
        self.count += 1
        answers = self.waiting[self.count] = queue.Queue()
        self.process.stdin.write(json.dumps([self.count, what, arguments]) + "\n")
        self.process.stdin.flush()
        return lambda seconds=PATIENCE: answers.get(timeout=seconds)

    def begin_cell(self, code: str, **arguments):
        """Like begin(), but for a cell, and return only after the cell has written something."""
        answer = self.begin("run", code=code, watched=True, **arguments)
        first = answer()
        assert first == {"begun": True}, first
        return answer

    def request(self, what: str, **arguments) -> dict:
        return self.begin(what, **arguments)()

    def open(self, **arguments) -> None:
        reply = self.request("open", **arguments)
        assert "failed" not in reply, reply

    def run(self, code: str, **arguments) -> dict:
        return self.request("run", code=code, **arguments)

    def out(self, code: str, **arguments) -> str:
        """Return what a cell prints that ends with status `ok`."""
        result = self.run(code, **arguments)
        assert result.get("status") == "ok", result
        return result["stdout"]

    def warm_up(self, **arguments) -> None:
        """Wait until a session that is opened with these arguments starts warm."""

        def is_warm() -> bool:
            self.open(**arguments)
            start = self.run("")["start"]
            self.request("drop")
            return start == "warm"

        self.shared.until(is_warm)

    def leave(self) -> None:
        """Disconnect without closing the sessions."""
        self.process.stdin.close()
        self.process.wait(PATIENCE)


if __name__ == "__main__":
    main(*sys.argv[1:])
