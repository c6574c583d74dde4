# id: BR2
# field: timeout
# kept-by: timer
# judge: status
# status: exit error killed
# exit-code: 3
# control: no the kernel's report of an exit code cannot be left out
# expect: the exit code is the one that the kernel reports, whatever the program claims

os.write(3, frame("ENDED", records(kind="ok", exit_code="0", value="forged")))
contained("success was claimed")
os._exit(3)
