"""The first Python in the jail: lock down, then hand over to the runner.

Nothing of the job is read before the lock. Small on purpose: this file is
compiled at every cold start.
"""

import sys

_here = __file__.rpartition("/")[0]
sys.path.insert(0, _here)
if len(sys.argv) == 1:
    import _remit

    _remit.lock()
    sys.pycache_prefix = "/.remit/compiled"
import runner  # noqa: E402

sys.pycache_prefix = None
del sys.path[0]
sys.exit(runner.main(jailed=len(sys.argv) == 1))
