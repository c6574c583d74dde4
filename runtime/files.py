"""Reads and changes files of a session for its caller, between two cells.

This runs in the session's own process, so it can do nothing that the code could not do itself. The
functions are imported before the first cell runs, so code that later replaces them in their modules
has no effect here. The answers are claims nevertheless.
"""

from posix import (
    O_APPEND, O_CLOEXEC, O_CREAT, O_DIRECTORY, O_EXCL, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY,
    chmod, close, fstat, ftruncate, lstat, mkdir, open as open_file, pread, readlink, rename, rmdir, scandir, stat as stat_followed, symlink, unlink,
    utime, write,
)  # fmt: skip

import sys

import records

try:
    from posix import fchmod
except ImportError:  # WebAssembly has no permissions

    def fchmod(fd, mode):
        pass


PIECE = 64 * 1024
LIST_MAX = 10000
LIST_BYTES = 32 * 1024 * 1024
# As in the kernel.
LINKS_MAX = 40
# Numbers of errno, which not every session needs to import.
if sys.platform == "wasi":
    from errno import EBUSY, EINVAL, EIO, EISDIR, ELOOP, ENOMEM
else:
    EIO, ENOMEM, EBUSY, EISDIR, EINVAL, ELOOP = 5, 12, 16, 21, 22, 40
# Bits of st_mode: the type of a file.
KIND, REGULAR, FOLDER, LINK = 0o170000, 0o100000, 0o040000, 0o120000
KINDS = {REGULAR: b"file", FOLDER: b"folder", LINK: b"link"}
# Flags that avoid blocking on a FIFO or getting a terminal.
NO_WAIT = O_NONBLOCK | O_NOCTTY | O_CLOEXEC
AS_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC


class Workspace:
    """Where the workspace is for this process (`path`), and the paths by which the caller knows it.
    They differ in the tier landlock."""

    def __init__(self, path, known_as):
        self.path = path.encode("utf-8", "surrogateescape")
        self.names = [name.encode() for name in known_as]
        self.name = self.names[0]

    def below(self, path):
        """Return the rest of a path that the caller would call a path of the workspace, or None."""
        for name in self.names:
            if path == name or path.startswith(name + b"/"):
                return path[len(name) :]
        return None


class Place:
    """A path, as the caller sees it (`name`) and as this process opens it (`path`)."""

    def __init__(self, name, workspace):
        parts = []
        for part in (name if name[:1] == b"/" else workspace.name + b"/" + name).split(b"/"):
            if part == b"..":
                del parts[-1:]
            elif part not in (b"", b"."):
                parts.append(part)
        self.name = self.path = b"/" + b"/".join(parts)
        rest = workspace.below(self.name)
        self.is_root = rest == b"" or not parts
        if rest is not None:
            self.name, self.path = workspace.name + rest, workspace.path + rest


class Task:
    """A requested operation and its arguments."""

    def __init__(self, payload, workspace):
        words = payload.split(b"\0")
        values = dict(zip(words[0::2], words[1::2]))
        self.operation = values[b"op"]
        self.workspace = workspace
        self.place = Place(values[b"path"], workspace)
        self.target = values[b"to"]
        self.to = Place(self.target, workspace)
        self.missing = int(values[b"bytes"])
        self.append = values[b"append"] != b"0"
        self.gunzip = values[b"gunzip"] != b"0"
        self.offset = int(values[b"offset"])
        self.length = int(values[b"length"])
        self.depth = int(values[b"depth"])
        self.mode = int(values[b"mode"])
        self.modified = int(values[b"modified"])

    def pieces(self):
        """Yield the pieces of the data to write."""
        while self.missing:
            kind, data = records.receive()
            if kind != records.FILE_DATA:
                raise RuntimeError("the keeper did not send all of a file")
            self.missing -= len(data)
            yield data


def gunzip(pieces):
    """Decompress pieces; what does not fit on the jail's disk fails there."""
    try:  # rarely needed, and not every interpreter has it
        from zlib import MAX_WBITS, decompressobj, error
    except ImportError:
        raise OSError(EINVAL, "this interpreter has no zlib") from None
    stream = decompressobj(MAX_WBITS + 16)
    try:
        for data in pieces:
            while data and not stream.eof:
                yield stream.decompress(data, PIECE)
                data = stream.unconsumed_tail
        yield stream.flush()
    except error:
        raise OSError(EINVAL, "not gzip") from None
    if not stream.eof or stream.unused_data:
        raise OSError(EINVAL, "not exactly one complete gzip stream")


def follow(path):
    """Return the path of a file without links in it."""
    done, rest, links = b"", path.split(b"/")[::-1], LINKS_MAX
    while rest and links:
        part = rest.pop()
        if part == b"..":
            done = done[: done.rfind(b"/")]
        elif part not in (b"", b"."):
            found = done + b"/" + part
            if lstat(found).st_mode & KIND != LINK:
                done = found
                continue
            links -= 1
            target = readlink(found)
            if target[:1] == b"/":
                done = b""
            rest += target.split(b"/")[::-1]
    if rest:
        raise OSError(ELOOP, "too many links")
    return done or b"/"


def resolved(path, workspace):
    """Describe what a link leads to, as records; none if it leads nowhere."""
    try:
        found, path = stat_followed(path), follow(path)
    except OSError:
        return b""
    if path == workspace.path or path.startswith(workspace.path + b"/"):
        path = workspace.name + path[len(workspace.path) :]
    return b"resolved\0%b\0resolved_type\0%b\0resolved_mode\0%d\0" % (path, KINDS.get(found.st_mode & KIND, b"other"), found.st_mode & 0o7777)


def entry(task, name, path, found):
    """Describe a file as records, as src/client/files/file_task.h expects them."""
    kind = found.st_mode & KIND
    text = b"path\0%b\0type\0%b\0mode\0%d\0size\0%d\0modified\0%d\0device\0%d\0inode\0%d\0" % (
        name, KINDS.get(kind, b"other"), found.st_mode & 0o7777, found.st_size, max(found.st_mtime_ns, 0),
        found.st_dev, found.st_ino,
    )  # fmt: skip
    if kind == LINK:
        text += b"target\0%b\0" % readlink(path) + resolved(path, task.workspace)
    return text


def make_folders(path):
    """Create the missing parents of a path."""
    at = path.find(b"/", 1)
    while at > 0:
        try:
            mkdir(path[:at], 0o755)
        except FileExistsError:
            pass
        at = path.find(b"/", at + 1)


def open_regular(path, flags):
    fd = open_file(path, flags | NO_WAIT, 0o644)
    kind = fstat(fd).st_mode & KIND
    if kind != REGULAR:
        close(fd)
        raise OSError(EISDIR if kind == FOLDER else EINVAL, "not a regular file")
    return fd


# ---- operations: each returns the records of its answer ----


def read(task):
    fd = open_regular(task.place.path, O_RDONLY)
    try:
        at, left = task.offset, task.length
        while left:
            data = pread(fd, min(left, PIECE), at)
            if not data:
                break
            records.put(records.frame(records.FILE_BYTES, data))
            at += len(data)
            left -= len(data)
        return entry(task, task.place.name, task.place.path, fstat(fd))
    finally:
        close(fd)


def open_new(path):
    """Create a file whose permissions do not depend on what the code has set with umask. Those who
    watch the folder see the change of permissions, as with E2B."""
    fd = open_file(path, O_WRONLY | O_CREAT | O_EXCL | NO_WAIT, 0o644)
    try:
        fchmod(fd, 0o644)
    except PermissionError:  # in the tier landlock
        pass
    return fd


def replace(task):
    make_folders(task.place.path)
    try:
        fd = open_new(task.place.path)
    except FileExistsError:  # perhaps a link to a file that does not exist
        fd = open_regular(task.place.path, O_WRONLY | O_CREAT | (O_APPEND if task.append else 0))
    try:
        if not task.append and fstat(fd).st_size:
            ftruncate(fd, 0)
        for data in gunzip(task.pieces()) if task.gunzip else task.pieces():
            while data:
                data = data[write(fd, data) :]
        return entry(task, task.place.name, task.place.path, fstat(fd))
    finally:
        close(fd)


def stat(task):
    return entry(task, task.place.name, task.place.path, lstat(task.place.path))


def make(task):
    make_folders(task.place.path)
    mkdir(task.place.path, 0o755)
    return stat(task)


def link(task):
    """Make a symbolic link. Its target is text, and need not exist."""
    make_folders(task.place.path)
    symlink(task.target, task.place.path)
    return stat(task)


def set_attributes(task):
    """Set the permissions and times of a file or directory. A link is refused rather than followed."""
    if lstat(task.place.path).st_mode & KIND == LINK:
        raise OSError(ELOOP, "a symbolic link")
    utime(task.place.path, ns=(task.modified, task.modified))
    chmod(task.place.path, task.mode & 0o777)
    return stat(task)


def move(task):
    make_folders(task.to.path)
    rename(task.place.path, task.to.path)
    return b""


def children(path):
    """Return the entries of a directory sorted by name, at most one more than an answer may have."""
    found = []
    with scandir(path) as entries:
        for one in entries:
            found.append(one)
            if len(found) > LIST_MAX:
                break
    found.sort(key=lambda one: one.name, reverse=True)
    return found


def inside(one, name, depth):
    """Return the entries of a nested directory, or nothing if it cannot be read."""
    try:
        return [(deeper, name + b"/" + deeper.name, depth) for deeper in children(one.path)]
    except OSError:
        return []


def list_folder(task):
    base = task.place.name.rstrip(b"/")
    rest = [(one, base + b"/" + one.name, 1) for one in children(task.place.path)]
    listed, size = [], 0
    while rest:
        one, name, depth = rest.pop()
        try:
            text = entry(task, name, one.path, one.stat(follow_symlinks=False))
        except FileNotFoundError:  # a thread of the code has removed it
            continue
        size += len(text)
        if len(listed) == LIST_MAX or size > LIST_BYTES:
            send_pieces(b"".join(listed))
            return b"truncated\0yes\0"
        listed.append(text)
        if depth < task.depth and one.is_dir(follow_symlinks=False):
            rest += inside(one, name, depth + 1)
    send_pieces(b"".join(listed))
    return b""


def send_pieces(data):
    for at in range(0, len(data), PIECE):
        records.put(records.frame(records.FILE_BYTES, data[at : at + PIECE]))


def remove(task):
    path = task.place.path
    if task.place.is_root:
        raise OSError(EBUSY, "the workspace itself stays")
    if lstat(path).st_mode & KIND == FOLDER:
        remove_below(path)
        rmdir(path)
    else:
        unlink(path)
    return b""


def remove_files(fd):
    """Remove everything but directories. Return the first directory that is left, or None."""
    with scandir(fd) as entries:
        for one in entries:
            if one.is_dir(follow_symlinks=False):
                return one.name
            unlink(one.name, dir_fd=fd)
    return None


def remove_below_path(path):
    """The same as remove_below() where no directory can be listed by its descriptor. No other code
    runs meanwhile: WebAssembly has no threads."""
    paths = [path]
    while paths:
        with scandir(paths[-1]) as entries:
            found = [(one.path, one.is_dir(follow_symlinks=False)) for one in entries]
        for name, is_folder in found:
            if not is_folder:
                unlink(name)
        folders = [name for name, is_folder in found if is_folder]
        if folders:
            paths.append(folders[0])
        else:
            done = paths.pop()
            if paths:
                rmdir(done)


def remove_below(path):
    """Remove the contents of a directory of any depth, with one descriptor and a list of names."""
    if sys.platform == "wasi":
        remove_below_path(path)
        return
    fd = open_file(path, AS_FOLDER)
    names = []
    try:
        while True:
            name = remove_files(fd)
            if name is None and not names:
                return
            other = open_file(name or "..", AS_FOLDER, dir_fd=fd)
            close(fd)
            fd = other
            if name is not None:
                names.append(name)
            else:
                rmdir(names.pop(), dir_fd=fd)
    finally:
        close(fd)


OPERATIONS = {
    b"read": read,
    b"write": replace,
    b"list": list_folder,
    b"stat": stat,
    b"make": make,
    b"move": move,
    b"remove": remove,
    b"link": link,
    b"set": set_attributes,
}


def perform(payload, workspace):
    """Perform one operation and send its answer."""
    task = Task(payload, workspace)
    try:
        answer = OPERATIONS[task.operation](task)
    except OSError as exc:
        answer = b"errno\0%d\0" % records.linux_errno(exc.errno or EIO)
    except MemoryError:
        answer = b"errno\0%d\0" % records.linux_errno(ENOMEM)
    for _ in task.pieces():  # skip the data of a failed write
        pass
    records.put(records.frame(records.FILE_ANSWER, answer))
