"""The first Python code in the jail: locks down, then starts the runner.

No part of the job is read before the lock-down. This file is small on purpose: it is compiled at
every cold start.
"""

import sys

_here = __file__.rpartition("/")[0]
sys.path.insert(0, _here)
# The directory with the runner's byte code; without a jail there is no argument.
_compiled = sys.argv[1:]
if _compiled:
    import _remit

    _remit.lock()
    sys.pycache_prefix = _compiled[0]
import runner  # noqa: E402

sys.pycache_prefix = None
sys.dont_write_bytecode = True  # no __pycache__ in writable directories of the host
del sys.path[0]
_code = runner.main(jailed=bool(_compiled))
if _code is not None:  # else requests come later (runtime/guest)
    sys.exit(_code)
