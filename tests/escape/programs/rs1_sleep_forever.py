# id: RS1
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# expect: a program that does nothing is also killed at the deadline

for _ in lasting(2):
    time.sleep(0.01)
escaped("slept for 2 s with a deadline of 0.5 s")
