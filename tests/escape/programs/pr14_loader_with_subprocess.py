# id: PR14
# field: mounts
# kept-by: mount_namespace landlock
# policy: {"subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# witness: drop
# expect: with subprocesses allowed, the loader still cannot map a program from the workspace

import shutil
import subprocess

# They are found by name, since the directories above them cannot be listed.
LOADERS = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1"]
loaders = [path for path in LOADERS if os.path.exists(path)]
assert loaders, "no loader in sight"
program = os.path.realpath(sys.executable or "/usr/bin/python3")
for folder in (os.getcwd(), "/tmp", ARG["drop_dir"]):
    path = folder + "/program"
    try:
        shutil.copyfile(program, path)
        os.chmod(path, 0o755)
    except OSError as e:
        refused(folder, errname(e.errno))
        continue
    for words in ([path], [loaders[0], path]):
        try:
            run = subprocess.run(words + ["-I", "-S", "-c", "print('ran')"], capture_output=True, text=True)
        except OSError as e:
            refused(words[0], errname(e.errno))
            continue
        if run.stdout == "ran\n":
            went_through(folder, "ran " + words[0])
        else:
            refused(words[0], run.stderr[-60:].strip())
report_outcome()
