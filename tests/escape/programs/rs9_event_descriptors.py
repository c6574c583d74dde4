# id: RS9
# field: open_files
# kept-by: rlimit_nofile
# policy: {"open_files": 64}
# expect: pipes, pairs, epoll, event and timer descriptors share the same limit

import select
import socket

opened = []


def epoll():
    return [select.epoll()]


def event():
    return [syscall("eventfd2", 0, 0)]


def timer():
    return [syscall("timerfd_create", 1, 0)]


makers = [os.pipe, socket.socketpair, epoll, event, timer]
count = 0
stopped = 0
while count < 500 and stopped < len(makers):
    stopped = 0
    for make in makers:
        try:
            new = make()
        except OSError:
            stopped += 1
            continue
        if any(isinstance(x, tuple) and x[0] == -1 for x in new):
            stopped += 1
            continue
        opened.extend(new)
        count += len(new)
if stopped == len(makers):
    refused("descriptors", "all kinds are refused after %d" % count)
else:
    went_through("descriptors", "%d with a limit of 64" % count)
for fd in opened:
    if hasattr(fd, "close"):
        fd.close()
    else:
        os.close(fd[0] if isinstance(fd, tuple) else fd)
report_outcome()
