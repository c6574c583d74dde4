# id: PR1
# field: subprocess_execution
# kept-by: seccomp landlock
# expect: a program cannot be executed by its descriptor

AT_EMPTY_PATH = 0x1000
SAY = b"print('ESCAPED execveat ran another program')"
program = sys.executable or "/usr/bin/python3"
fd = os.open(program, os.O_RDONLY)
words = [program.encode(), b"-I", b"-S", b"-c", SAY]
argv = (ctypes.c_char_p * 6)(*words, None)
envp = (ctypes.c_char_p * 1)(None)
sys.stdout.flush()
ret, err = syscall("execveat", fd, b"", argv, envp, AT_EMPTY_PATH)
refused("execveat of a descriptor", errname(err))
ret, err = syscall("execveat", -100, program.encode(), argv, envp, 0)
refused("execveat of a path", errname(err))
report_outcome()
