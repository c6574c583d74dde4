# id: RS18
# field: timeout
# kept-by: timer
# policy: {"timeout": "2s"}
# judge: status
# status: timeout
# expect: refusals that wait for the keeper's answer do not delay the deadline

for _ in lasting(4):
    syscall("unshare", 0)
escaped("made refused calls for 4 s with a deadline of 2 s")
