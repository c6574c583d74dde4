# id: IN9
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# judge: status
# status: error
# control: no the harness searches every result for paths of the host, in every run
# expect: tracebacks, warnings and dumps name no path outside the jail

import faulthandler
import traceback
import warnings

warnings.warn("provoked")
for attack in ("1/0", "open('/nonexistent')", "import nothing_of_that_name", "def broken(:"):
    try:
        exec(compile(attack, "<provoked>", "exec"))
    except BaseException:
        traceback.print_exc()
faulthandler.dump_traceback(file=2)
print(sys.argv[0], sys.path, sys.executable, sys.prefix, os.getcwd(), os.environ)
print(globals().get("__file__"), __name__, traceback.extract_stack()[0].filename)
for value in list(sys.modules.values()):
    print(getattr(value, "__file__", None), file=sys.stderr)
print("CONTAINED the last error is still to come", flush=True)
raise RuntimeError("provoked")
