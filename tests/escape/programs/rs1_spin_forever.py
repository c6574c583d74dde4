# id: RS1
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# expect: a program that computes for ever is killed at the deadline, with status timeout

for _ in lasting(2):
    pass
escaped("spun for 2 s with a deadline of 0.5 s")
