"""remit.compat: the names of mellea, with every field of its policy enforced."""

from __future__ import annotations

import dataclasses
import os
import sysconfig
import time
import warnings
from pathlib import Path

import pytest
import remit
from remit.compat import (
    COMPATIBILITY_MATRIX,
    DOCKER_POLICY,
    LOCAL_POLICY,
    Artifact,
    CapabilityPolicy,
    Environment,
    ExecutionResult,
    make_execution_environment,
    to_policy,
)
from waiting import DEFAULT_TIMEOUT_S, EVENT_TIMEOUT_S

MELLEA = [
    "filesystem_read_roots", "filesystem_write_roots", "network_access", "package_installation", "subprocess_execution",
    "env_var_access", "timeout", "stdout_max_bytes", "stderr_max_bytes", "artifact_export_paths", "packages",
]  # fmt: skip
FIELDS = [f.name for f in dataclasses.fields(CapabilityPolicy)]


def run(code: str, **fields) -> ExecutionResult:
    return Environment(policy=CapabilityPolicy(**fields)).execute(code)


def refused(code: str, **fields) -> bool:
    """Whether the attempt fails in the jail, without ending the program."""
    wrapped = f"try:\n    {code}\n    print('it worked')\nexcept Exception as e:\n    print('refused', type(e).__name__)"
    shown = run(wrapped, **fields)
    assert shown.success, shown
    return shown.stdout.startswith("refused")


# ---- every field is enforced ----


def proof_filesystem_read_roots(folder):
    (folder / "secret").write_text("x")
    attempt = f"open({str(folder / 'secret')!r}).read()"
    return refused(attempt) and refused(attempt, filesystem_read_roots=[]) and not refused(attempt, filesystem_read_roots=[folder])


def proof_filesystem_write_roots(folder):
    attempt = f"open({str(folder / 'new')!r}, 'w').write('x')"
    is_refused = refused(attempt) and refused(attempt, filesystem_read_roots=[folder]) and not (folder / "new").exists()
    return is_refused and not refused(attempt, filesystem_write_roots=[folder]) and (folder / "new").read_text() == "x"


def proof_network_access(folder):
    attempt = "__import__('socket').socket()"
    return refused(attempt) and not refused(attempt, network_access=True)


def proof_package_installation(folder):
    """The code itself cannot install packages into the interpreter's folders."""
    site = sysconfig.get_paths()["purelib"]
    return refused(f"open({site + '/planted.py'!r}, 'w')", package_installation=True) and not os.path.exists(site + "/planted.py")


def proof_subprocess_execution(folder):
    attempt = "__import__('subprocess').run(['/bin/true'], check=True)"
    return refused(attempt) and not refused(attempt, subprocess_execution=True)


def proof_env_var_access(folder):
    os.environ["REMIT_TEST_SECRET"] = "x"
    attempt = "__import__('os').environ['REMIT_TEST_SECRET']"
    return refused(attempt, env_var_access=True) and refused(attempt, env_var_access=False)


def proof_timeout(folder):
    begun = time.monotonic()
    r = run("while True: pass", timeout=1)
    return r.timed_out and r.skipped and r.stdout is None and "timed out" in r.skip_message and time.monotonic() - begun < DEFAULT_TIMEOUT_S


def proof_stdout_max_bytes(folder):
    r = run("print('x' * 100000)", stdout_max_bytes=30)
    return r.stdout == "x" * 15 + "... [truncated]" and run("print('xyz')", stdout_max_bytes=2).stdout == "xy"


def proof_stderr_max_bytes(folder):
    r = run("import sys; print('x' * 100000, file=sys.stderr)", stderr_max_bytes=2000)
    return len(r.stderr.encode()) == 2000 and r.stderr.endswith("... [truncated]")


def proof_artifact_export_paths(folder):
    code = "open('a.txt', 'w').write('a'); open('b.txt', 'w').write('b')"
    environment = Environment(policy=CapabilityPolicy(artifact_export_paths=[Path("/workspace/a.txt")]), export_dir=folder)
    (artifact,) = environment.execute(code).artifacts
    return isinstance(artifact, Artifact) and artifact.path.name == "a.txt" and folder in artifact.path.parents and artifact.size_bytes == 1


def proof_packages(folder):
    """A package that cannot be installed gives a skipped result, and the code does not run."""
    for _ in range(2):
        r = run("print('never')", packages=["remit-has-no-such-package==1"], package_installation=True)
        if not (r.skipped and r.stdout is None and r.skip_message.startswith("Package installation failed")):
            return False
    return True


def proof_env(folder):
    return run("import os; print(os.environ['A'])", env={"A": "b"}).stdout == "b"


def proof_network_allow(folder):
    ask = "__import__('socket').gethostbyname('{}')".format
    allowed = dict(network_allow=["api.example.com:443"])
    return refused(ask("other.example.com"), **allowed) and not refused(ask("api.example.com"), **allowed)


def proof_memory_bytes(folder):
    r = run("x = bytearray(1 << 30)", memory_bytes="300M", disk_bytes="16M")
    return not r.success and (r.exit_code == -9 or "MemoryError" in r.stderr)


def proof_cpu_seconds(folder):
    begun = time.monotonic()
    r = run("while True: pass", cpu_seconds=0.5, timeout=600)
    return not r.success and time.monotonic() - begun < EVENT_TIMEOUT_S


def proof_processes(folder):
    start = "__import__('subprocess').run(['/bin/true'], check=True)"
    return refused(start, subprocess_execution=True, processes=1)


def proof_disk_bytes(folder):
    write = "open('x', 'wb').write(b'x' * 20_000_000)"
    return refused(write, disk_bytes="1M") and not refused(write)


PROOFS = {name.removeprefix("proof_"): proof for name, proof in list(globals().items()) if name.startswith("proof_")}


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_is_enforced(name, tmp_path):
    assert PROOFS[name](tmp_path)


def test_no_field_is_unenforced():
    policy = CapabilityPolicy()
    assert policy.unenforced_capabilities() == [] and policy.enforced_capabilities() == FIELDS == list(PROOFS)
    assert Environment().unenforced_capabilities() == []


def test_subclass_can_declare_an_unenforced_field():
    class More(CapabilityPolicy):
        ENFORCED_gpu = False

    assert More().unenforced_capabilities() == ["gpu"]


# ---- names and types ----


def test_fields_match_mellea_in_order():
    assert FIELDS[: len(MELLEA)] == MELLEA
    p = CapabilityPolicy()
    assert (p.timeout, p.stdout_max_bytes, p.artifact_export_paths, p.packages) == (30, None, [], [])
    assert (p.network_access, p.subprocess_execution, p.env_var_access) == (False, False, True)
    assert LOCAL_POLICY.subprocess_execution and LOCAL_POLICY.timeout == 30
    assert DOCKER_POLICY.package_installation and DOCKER_POLICY.timeout == 60
    names = [f.name for f in dataclasses.fields(ExecutionResult)]
    assert names[:11] == [
        "success", "stdout", "stderr", "skipped", "skip_message", "analysis_result", "exit_code", "timed_out",
        "artifacts", "execution_mode", "working_directory",
    ]  # fmt: skip


def test_matrix_has_the_columns_of_mellea():
    assert list(COMPATIBILITY_MATRIX)[:5] == ["static", "local_unsafe", "local", "docker_unsafe", "docker"]
    for row in COMPATIBILITY_MATRIX.values():
        assert list(row) == [
            "execute_code", "timeout_enforcement", "import_allowlist", "policy_applied", "copy_in", "copy_out",
            "package_installation", "docker_isolation",
        ]  # fmt: skip
        assert row["docker_isolation"] is False


def test_every_kind_of_result_is_mapped():
    r = run("print(1 + 1)")
    assert (r.success, r.stdout, r.stderr, r.exit_code, r.skipped, r.artifacts) == (True, "2", "", 0, False, [])
    assert r.execution_mode == "local" and r.to_validationresult_reason() == "2" and r.remit.tier == "local"
    r = run("import sys; print('e', file=sys.stderr); sys.exit(3)")
    assert (r.success, r.exit_code, r.stderr, r.to_validationresult_reason()) == (False, 3, "e", "e")
    assert "ValueError: no" in run("raise ValueError('no')").stderr
    r = run("def x(:")
    assert (r.success, r.skipped, r.exit_code) == (False, False, 1) and "SyntaxError" in r.stderr
    assert run("import os; os.kill(os.getpid(), 9)").exit_code == -9
    assert run("import sys; sys.stdout.buffer.write(b'a\\xff')").stdout == "a�"


def test_working_directory_is_the_cwd_and_new_files_are_artifacts(tmp_path):
    (tmp_path / "older").write_text("of somebody else")
    environment = Environment(working_directory=str(tmp_path))
    r = environment.execute("import os; os.makedirs('s'); open('s/a.csv', 'w').write('1'); print(os.getcwd())")
    assert r.stdout == str(tmp_path) == r.working_directory
    assert [(a.path, a.size_bytes, a.content_type) for a in r.artifacts] == [(tmp_path / "s" / "a.csv", 1, "text/csv")]
    r = environment.execute("open('b', 'w').write('x')\n\n1 / 0")
    assert r.artifacts == [] and not (tmp_path / "b").exists() and 'main.py", line 3' in r.stderr and "1 / 0" in r.stderr
    r = environment.execute("import os; os.symlink('/etc/passwd', 'link')")
    assert r.artifacts == []


def test_imports_can_be_restricted(tmp_path):
    for folder in (None, str(tmp_path)):
        environment = Environment(allowed_imports=["math"], working_directory=folder)
        assert environment.execute("import math; print(math.floor(1.5))").stdout == "1"
        r = environment.execute("import os.path, math; print('never')")
        assert r.skipped and not r.success and r.skip_message == "Unauthorized imports detected: os" and r.stdout is None
    assert Environment(allowed_imports=[]).execute("import math").success


def test_roots_all_is_refused_in_a_contained_tier():
    r = run("print('never')", filesystem_read_roots="all")
    assert r.skipped and "no tier with a wall can allow all of the host" in r.skip_message
    with pytest.raises(remit.PolicyError, match="env_var_access is False"):
        to_policy(CapabilityPolicy(env={"A": "b"}, env_var_access=False))
    with pytest.raises(remit.PolicyError, match="is not in /workspace"):
        to_policy(CapabilityPolicy(artifact_export_paths=[Path("/etc/passwd")]))


# ---- tiers ----


def test_default_tier_is_the_safe_one():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Environment().tier == "local"
        make_execution_environment("static")
    with pytest.raises(ValueError, match="unknown tier 'lokal': it must be one of 'static', 'local'"):
        make_execution_environment("lokal")


def test_unsafe_tiers_must_be_named_and_warn():
    for tier in ("local_unsafe", "unsafe_in_process"):
        for _ in range(2):
            with pytest.warns(UserWarning, match="has no wall") as caught:
                environment = make_execution_environment(tier)
            assert caught[0].filename == __file__
        r = environment.execute("print(2 + 2)")
        assert r.success and r.stdout == "4" and r.execution_mode == tier
        assert "network_access" in environment.unenforced_capabilities()
    assert "timeout" not in make_quietly("local_unsafe").unenforced_capabilities()


def make_quietly(tier: str, **more) -> Environment:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Environment(tier=tier, **more)


def test_docker_tiers_warn_that_they_are_not_containers():
    for tier in ("docker", "docker_unsafe"):
        with pytest.warns(UserWarning, match="not a container here"):
            environment = Environment(tier=tier)
        assert environment.execute("print(1)").execution_mode == "local"


def test_in_process_tier_captures_output_and_checks_imports():
    environment = make_quietly("unsafe_in_process", allowed_imports=["os"])
    assert environment.execute("import os; print(os.getpid())").stdout == str(os.getpid())
    assert environment.execute("import socket, json").skip_message == "Unauthorized imports detected: socket, json"
    r = environment.execute("raise SystemExit(4)")
    assert r.exit_code == 4 and not r.success
    assert "ZeroDivisionError" in environment.execute("1/0").stderr


def test_static_tier_runs_nothing():
    environment = Environment(tier="static", allowed_imports=["os"])
    r = environment.execute("print('never')")
    assert r.success and r.skipped and r.stdout is None and r.execution_mode == "static"
    assert environment.execute("def x(:").skip_message == "Parse failed."
    assert environment.execute("import sys").skip_message == "Unauthorized imports detected: sys"


def test_landlock_tier_works():
    r = Environment(tier="landlock").execute("print(1)")
    assert r.success and r.execution_mode == "landlock", r
