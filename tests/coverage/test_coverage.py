"""Checks that every (field, mechanism, tier) that is enforced here was tested (invariant 8).

Runs after all other tests and reads what they recorded. The product lists the
rows itself: `remit matrix --json`, as root and as an ordinary user.
"""

import json
import os

import pytest


def covered() -> set[tuple[str, str, str, str]]:
    path = os.environ.get("REMIT_COVERAGE")
    if not path or not os.path.getsize(path):
        pytest.fail("no test has recorded what it covers: run the whole suite (make test)")
    with open(path) as f:
        rows = map(json.loads, f)
        return {(r["field"], r["mechanism"], r["tier"], r["user"]) for r in rows}


def test_every_row_of_the_policy_table_was_tested(remit):
    rows = json.loads(remit("matrix", "--json").stdout)
    wanted = {(r["field"], m, r["tier"], remit.label) for r in rows if r["built"] for m in r["here"]}
    # Lists are empty by default and restrict nothing until they are used, so the matrix does not list their mechanisms.
    for field in (
        "validator", "allowed_imports", "blocked_imports", "allowed_builtins", "blocked_builtins", "allowed_os_attrs", "allowed_nodes"
    ):  # fmt: skip
        wanted |= {(field, "validator", t, remit.label) for t in ("landlock", "local", "static", "unsafe")}
    wanted |= {
        (r["field"], "openat2" if "paths" in r["field"] else "export_cap", t, remit.label)
        for r in rows if r["field"].startswith("artifact_") for t in ("local", "static")
    }  # fmt: skip
    wanted |= {(field, m, "local", remit.label) for field in ("network_access", "network_allow") for m in ("network_namespace", "proxy")}
    wanted.add(("credentials", "proxy", "local", remit.label))
    # These apply to sessions only.
    wanted |= {("session_idle", "timer", t, remit.label) for t in ("landlock", "local", "unsafe")}
    wanted |= {("cpu_seconds", "cpu_clock", t, remit.label) for t in ("landlock", "local")}
    wanted |= {("packages", m, t, remit.label) for m in ("mount_namespace", "landlock") for t in ("local", "static")}
    if not remit.by_root:  # another user could not read root's packages
        wanted.add(("packages", "landlock", "landlock", remit.label))
    missing = sorted(wanted - covered())
    assert not missing, "\n".join(map(str, missing))
    assert len(wanted) > 60
