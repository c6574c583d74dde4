"""Seeds all random generators after a fork, so that two children share no random state.

SECURITY.md has the table of what a fork shares; tests/e2e/keeper/test_shared.py has a
test for each row.
"""

import sys

import _remit


def fresh(count):
    import posix

    return posix.urandom(count)


def numpy_random(module):
    module.seed()


def openssl(module):
    module.RAND_add(fresh(32), 32.0)


def temporary_names(module):
    module._name_sequence = None


def unique_ids(module):
    module._last_timestamp = None
    module._node = None


def authentication_key(module):
    module.current_process().authkey = fresh(32)


def torch(module):
    module.seed()


# A module, and the function to call if it was imported. `random` seeds itself.
TABLE = (
    ("numpy.random", numpy_random),
    ("ssl", openssl),
    ("tempfile", temporary_names),
    ("uuid", unique_ids),
    ("multiprocessing.process", authentication_key),
    ("torch", torch),
)


def reseed():
    _remit.reseed(int.from_bytes(fresh(8), "little"))
    for name, act in TABLE:
        module = sys.modules.get(name)
        if module is not None:
            act(module)
