# id: RS6
# field: file_bytes
# kept-by: rlimit_fsize
# policy: {"file_bytes": "1M"}
# expect: EFBIG beyond the limit, for writing and for extending a file

import signal

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
fd = os.open("large", os.O_RDWR | os.O_CREAT)


def write():
    for _ in range(64):
        os.write(fd, bytes(65536))


attempt("write", write)
attempt("ftruncate", os.ftruncate, fd, 4 << 20)
attempt("write at an offset", os.pwrite, fd, b"x", 4 << 20)
report_outcome()
