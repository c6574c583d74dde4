# id: PR17
# field: subprocess_execution
# kept-by: seccomp
# policy: {"subprocess_execution": true, "workspace_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# leaves-out: seccomp
# machine: x86_64
# expect: a 32-bit program of the workspace is killed at its first system call, or cannot be executed at all

import subprocess

# write(1, "ran", 3) and exit(0) by the numbers of i386, which the filter's tables do not know.
TEXT = b"ran"
HEAD, WHERE = 52 + 32, 0x08048000
code = (
    b"\xb8\x04\x00\x00\x00\xbb\x01\x00\x00\x00"
    + b"\xb9" + struct.pack("<I", WHERE + HEAD + 34)
    + b"\xba\x03\x00\x00\x00\xcd\x80"
    + b"\xb8\x01\x00\x00\x00\x31\xdb\xcd\x80\x90\x90\x90"
)  # fmt: skip
assert len(code) == 34
size = HEAD + len(code) + len(TEXT)
elf = b"\x7fELF\x01\x01\x01".ljust(16, b"\0") + struct.pack(
    "<HHIIIIIHHHHHH", 2, 3, 1, WHERE + HEAD, 52, 0, 0, 52, 32, 1, 0, 0, 0
)
elf += struct.pack("<IIIIIIII", 1, 0, WHERE, WHERE, size, size, 5, 0x1000)
with open("program32", "wb") as f:
    f.write(elf + code + TEXT)
os.chmod("program32", 0o755)
try:
    run = subprocess.run(["./program32"], capture_output=True)
except OSError as e:
    if e.errno == errno.EACCES:
        raise AssertionError("the policy allows to execute the workspace")
    refused("execve", errname(e.errno))
else:
    if run.stdout == TEXT:
        went_through("a 32-bit program", "ran")
    else:
        refused("a 32-bit program", "exit code %d" % run.returncode)
report_outcome()
