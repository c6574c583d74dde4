"""Puts the files of a job into the workspace, before its program runs."""

import posix

import records


def make_folders(path):
    """Create the missing parents of a path; earlier files may have created some."""
    at = path.find("/", 1)
    while at > 0:
        try:
            posix.mkdir(path[:at], 0o755)
        except FileExistsError:
            pass
        at = path.find("/", at + 1)


def create(path):
    """Create a new file, replacing one that an earlier cell may have left."""
    make_folders(path)
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC
    try:
        return posix.open(path, flags, 0o644)
    except FileExistsError:
        posix.unlink(path)
        return posix.open(path, flags, 0o644)


def write(fd, data):
    while data:
        data = data[posix.write(fd, data) :]


def pieces(missing):
    while missing:
        kind, data = records.receive()
        if kind != records.FILE_DATA:
            raise RuntimeError("the keeper did not send all of a file")
        missing -= len(data)
        yield data


def receive_one(folder):
    """Receive one file. Return an exception or None. The data is read completely even after an error."""
    head = dict(records.receive_records(records.FILE))
    data = pieces(int(head["size"]))
    try:
        fd = create(folder + "/" + head["path"])
        try:
            for piece in data:
                write(fd, piece)
        finally:
            posix.close(fd)
    except OSError as exc:
        for _ in data:
            pass
        # posix.write() does not know the name of the file.
        return OSError(exc.errno, exc.strerror, head["path"])


def receive(folder="."):
    """Receive files into a directory. Return the first exception, or None."""
    problem = None
    while records.peek() == records.FILE:
        found = receive_one(folder)
        problem = problem or found
    return problem
