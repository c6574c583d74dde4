# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# expect: a C call that never releases the interpreter is killed in time

# PyDLL keeps the interpreter lock: no Python code, handler or thread can run meanwhile.
locking_libc = ctypes.PyDLL(None)
locking_libc.sleep(5)
escaped("held the interpreter for 5 s with a deadline of 0.5 s")
