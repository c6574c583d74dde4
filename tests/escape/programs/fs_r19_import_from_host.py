# id: FS-R19
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# witness: canary
# expect: a module of the host's site-packages is not found

import importlib
import importlib.util

sys.path.insert(0, ARG["site_dir"])
importlib.invalidate_caches()
try:
    leak("import", importlib.import_module(ARG["module"]).CANARY)
except ImportError as e:
    refused("import", str(e))
try:
    spec = importlib.util.spec_from_file_location("x", ARG["site_dir"] + "/" + ARG["module"] + ".py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    leak("load by path", module.CANARY)
except OSError as e:
    refused("load by path", errname(e.errno))
report_outcome()
