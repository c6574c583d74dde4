# id: RS9
# field: open_files
# kept-by: rlimit_nofile
# policy: {"open_files": 64}
# expect: EMFILE at the limit

opened = []
try:
    while len(opened) < 500:
        opened.append(os.open("/dev/null", os.O_RDONLY))
except OSError as e:
    refused("open", "%s after %d" % (errname(e.errno), len(opened)))
else:
    went_through("open", "%d with a limit of 64" % len(opened))
for fd in opened:
    os.close(fd)
report_outcome()
