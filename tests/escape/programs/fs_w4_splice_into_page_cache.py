# id: FS-W4
# field: mounts
# kept-by: seccomp
# leaves-out: seccomp
# expect: ENOSYS: no page of a file can be put into a pipe (Dirty Pipe)

source = os.open(os.__file__, os.O_RDONLY)
out, into = os.pipe()
# Fill and drain the pipe, so that every slot carries the "can merge" flag.
os.set_blocking(into, False)
try:
    while True:
        os.write(into, bytes(4096))
except BlockingIOError:
    pass
os.set_blocking(out, False)
try:
    while os.read(out, 65536):
        pass
except BlockingIOError:
    pass
offset = ctypes.c_int64(1)
reach("splice", "splice", source, offset, into, None, 1, 0)
report_outcome()
