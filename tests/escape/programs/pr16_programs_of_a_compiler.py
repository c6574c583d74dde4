# id: PR16
# field: mounts
# kept-by: mount_namespace landlock
# policy: {"subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process", "processes": 32}
# witness: drop
# expect: what the host's compiler makes cannot be run or loaded, and its helpers cannot be changed

import shutil
import subprocess

SOURCE = """
#include <unistd.h>
int main(void) { return write(1, "ran\\n", 4) != 4; }
__attribute__((constructor)) static void loaded(void) { main(); }
"""
compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
if compiler is None:
    refused("compiler", "there is none")
for folder in (os.getcwd(), "/tmp", ARG["drop_dir"]):
    program, library = folder + "/compiled", folder + "/compiled.so"
    try:
        with open(folder + "/compiled.c", "w") as f:
            f.write(SOURCE)
    except OSError as e:
        refused(folder, errname(e.errno))
        continue
    for words in ([program], [library, "-shared", "-fPIC"]):
        done = subprocess.run([compiler, folder + "/compiled.c", "-o", *words], capture_output=True, text=True)
        refused("compile", "%d %s" % (done.returncode, done.stderr[-80:].strip()))
    # As a program, as a library of this process, and as one that a program of the host is told to load.
    for label, words, more in (
        ("run", [program], {}),
        ("load", [sys.executable, "-c", "import ctypes; ctypes.CDLL(%r)" % library], {}),
        ("preload", ["/usr/bin/true"], {"LD_PRELOAD": library}),
    ):
        try:
            run = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **more})
        except OSError as e:
            refused(label, errname(e.errno))
            continue
        if run.stdout.startswith("ran\n"):
            went_through(folder, label)
        else:
            refused(label, run.stderr[-60:].strip())
report_outcome()
