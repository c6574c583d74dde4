# id: RS9
# field: open_files
# kept-by: rlimit_nofile
# policy: {"open_files": 64}
# expect: EMFILE at the limit

held = []
try:
    while len(held) < 500:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as e:
    refused("open", "%s after %d" % (errname(e.errno), len(held)))
else:
    went_through("open", "%d with a limit of 64" % len(held))
for fd in held:
    os.close(fd)
report_outcome()
