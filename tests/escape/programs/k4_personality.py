# id: K4
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM for any change: addresses stay random, data stays not executable

READ_IMPLIES_EXEC, ADDR_NO_RANDOMIZE = 0x0400000, 0x0040000
for name, value in (("READ_IMPLIES_EXEC", READ_IMPLIES_EXEC), ("ADDR_NO_RANDOMIZE", ADDR_NO_RANDOMIZE),
                    ("PER_LINUX32", 8), ("zero", 0)):
    reach(name, "personality", value)
report_outcome()
