# id: BR2
# field: timeout
# kept-by: timer
# judge: status
# status: exit error killed
# exit-code: 3
# control: no the parser of frames is not a mechanism of the policy table and cannot be left out
# expect: a second claim of an end breaks the protocol, and neither claim changes a fact

for kind in ("ok", "error", "timeout", "memory_limit", "refused", "internal"):
    try:
        os.write(3, frame("ENDED", records(kind=kind, status=kind, signal="9", exit_code="0")))
    except OSError as e:
        refused(kind, errname(e.errno))
contained("six endings were claimed")
os._exit(3)
