"""The first Python in the jail: lock down, then hand over to the runner.

Nothing of the job is read before the lock. Small on purpose: this file is
compiled at every cold start.
"""

import sys

_here = __file__.rpartition("/")[0]
sys.path.insert(0, _here)
# Where the runner's byte code lies; without a jail there is no argument.
_compiled = sys.argv[1:]
if _compiled:
    import _remit

    _remit.lock()
    sys.pycache_prefix = _compiled[0]
import runner  # noqa: E402

sys.pycache_prefix = None
sys.dont_write_bytecode = True  # a folder of the host that code may change gets no __pycache__
del sys.path[0]
sys.exit(runner.main(jailed=bool(_compiled)))
