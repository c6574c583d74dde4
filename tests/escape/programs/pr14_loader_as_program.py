# id: PR14
# field: subprocess_execution
# kept-by: seccomp landlock
# expect: the dynamic loader cannot be executed to start a program of the workspace

# They are found by name, since the directories above them cannot be listed.
LOADERS = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1"]
loaders = [path for path in LOADERS if os.path.exists(path)]
assert loaders, "no loader in sight"
program = sys.executable or "/usr/bin/python3"
sys.stdout.flush()
for loader in loaders:
    words = [loader, program, "-I", "-S", "-c", "print('ESCAPED the loader ran a program')"]
    try:
        os.execve(loader, words, {})
    except OSError as e:
        refused(loader, errname(e.errno))
report_outcome()
