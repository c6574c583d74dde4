# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# within: 6
# expect: a call into C that never gives the interpreter back is killed in time

# PyDLL keeps the lock: no Python code, handler or thread can run meanwhile.
held = ctypes.PyDLL(None)
held.sleep(2)
escaped("held the interpreter for 2 s with a deadline of 0.5 s")
