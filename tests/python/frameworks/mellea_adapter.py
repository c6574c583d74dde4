"""remit.compat.mellea with the real mellea."""

from __future__ import annotations

import gc
import inspect
import os
import warnings
from pathlib import Path

import pytest
import remit.compat.mellea as adapter
from mellea.stdlib.requirements import python_reqs
from mellea.stdlib.tools import CapabilityPolicy, ExecutionEnvironment, ExecutionResult, interpreter
from mellea.stdlib import tools


@pytest.fixture
def installed():
    adapter.install()
    yield
    adapter.uninstall()


def quietly(policy: dict) -> CapabilityPolicy:
    """Makes a policy without the warning that mellea does not enforce roots, which is true only without Remit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CapabilityPolicy(**policy)


def test_tool_has_the_signature_and_schema_of_mellea():
    assert list(inspect.signature(adapter.python_tool).parameters) == list(inspect.signature(adapter._original_tool).parameters)
    ours, theirs = adapter.python_tool(), adapter._original_tool(tier="local_unsafe")
    assert ours.as_json_tool == theirs.as_json_tool and ours.name == "python"
    assert adapter.python_tool(name="run").name == "run"


def test_tool_without_a_tier_is_safe_and_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tool = adapter.python_tool()
    r = tool.run(code="print(1 + 1)")
    assert type(r) is ExecutionResult and r.success and r.stdout == "2" and r.artifacts == [] and r.execution_mode == "local"
    assert r.remit.tier == "local" and "remit=" not in repr(r), "the model sees only the fields of mellea"
    r = tool.run(code="import socket\ntry: socket.socket()\nexcept OSError as e: print('refused')")
    assert r.stdout == "refused"


def test_artifacts_are_returned(tmp_path):
    tool = adapter.python_tool(artifact_dir=tmp_path / "new")
    r = tool.run(code=f"open({str(tmp_path / 'new' / 'a.csv')!r}, 'w').write('a,b')\nimport os; os.makedirs('s'); open('s/b.json', 'w').write('{{}}')")
    assert [(a.path, a.content_type) for a in r.artifacts] == [
        (tmp_path / "new" / "a.csv", "text/csv"), (tmp_path / "new" / "s" / "b.json", "application/json"),
    ], r  # fmt: skip
    r = tool.run(code="raise ValueError('no')")
    assert not r.success and not r.skipped and "ValueError" in r.stderr and r.artifacts == []


def test_artifacts_without_a_folder_live_as_long_as_the_result():
    r = adapter.python_tool().run(code="open('output.txt', 'w').write('hello')")
    path = r.artifacts[0].path
    assert path.read_text() == "hello" and oct(path.parent.stat().st_mode)[-3:] == "700"
    del r
    gc.collect()
    assert not path.parent.exists()


def test_timeout_is_reported_and_leaves_nothing(tmp_path):
    tool = adapter.python_tool(artifact_dir=tmp_path, policy=CapabilityPolicy(timeout=1))
    r = tool.run(code="open('partial.txt', 'w').write('x'); import time; time.sleep(30)")
    assert r.timed_out and r.skipped and r.artifacts == [] and list(tmp_path.iterdir()) == []


def test_packages_are_checked_and_merged():
    for wrong, words in (("", "non-empty"), ("  ", "non-empty"), ("-r", "flag-style"), ("--index-url", "flag-style")):
        with pytest.raises(ValueError, match=words):
            adapter.python_tool(packages=[wrong])
    merged = adapter._with_packages(CapabilityPolicy(packages=["a", "b"]), ["b", "c"])
    assert merged.packages == ["a", "b", "c"] and merged.package_installation
    assert adapter._with_packages(None, []) is None


def test_mellea_policy_is_enforced(tmp_path, monkeypatch):
    monkeypatch.setenv("REMIT_TEST_SECRET", "x")
    (tmp_path / "secret").write_text("x")
    run = adapter.RemitEnvironment(policy=CapabilityPolicy()).execute
    for attempt in (
        f"open({str(tmp_path / 'secret')!r})", f"open({str(tmp_path / 'new')!r}, 'w')", "__import__('socket').socket()",
        "__import__('subprocess').run(['/bin/true'])", "__import__('os').environ['REMIT_TEST_SECRET']",
    ):  # fmt: skip
        r = run(f"try:\n    {attempt}\n    print('it worked')\nexcept Exception: print('refused')")
        assert r.stdout == "refused", (attempt, r)
    allowed = quietly(dict(filesystem_read_roots=[tmp_path], subprocess_execution=True, network_access=True))
    run = adapter.RemitEnvironment(policy=allowed).execute
    for attempt in (f"open({str(tmp_path / 'secret')!r})", "__import__('socket').socket()", "__import__('subprocess').run(['/bin/true'])"):
        assert run(attempt).success, attempt


def test_refused_policy_is_a_skipped_result():
    r = adapter.RemitEnvironment(policy=quietly(dict(filesystem_read_roots=[Path("/nonexistent")]))).execute("print('never')")
    assert r.skipped and not r.success and "/nonexistent does not exist" in r.skip_message and r.to_validationresult_reason()


def test_docker_tiers_warn_and_report_the_real_tier(installed):
    with pytest.warns(UserWarning, match="not a container here"):
        tool = tools.python_tool(tier="docker", policy=CapabilityPolicy(artifact_export_paths=[Path("out.txt")]))
    r = tool.run(code="open('out.txt', 'w').write('hello'); open('other', 'w')")
    assert r.execution_mode == "local" and [a.path.name for a in r.artifacts] == ["out.txt"], r
    assert r.artifacts[0].path.read_text() == "hello"


def test_files_are_copied_in(tmp_path):
    (tmp_path / "in.csv").write_text("a,b")
    with adapter.RemitEnvironment() as environment:
        environment.copy_in(tmp_path / "in.csv", "/workspace/data.csv")
        assert environment.execute("print(open('data.csv').read())").stdout == "a,b"
        with pytest.raises(ValueError, match="not in /workspace"):
            environment.copy_in(tmp_path / "in.csv", "/etc/passwd")
    assert isinstance(environment, ExecutionEnvironment)


def test_install_replaces_every_entry_point_and_can_be_undone():
    before = interpreter.make_execution_environment
    adapter.install()
    try:
        for module in (interpreter, tools, python_reqs):
            assert isinstance(module.make_execution_environment("local"), adapter.RemitEnvironment)
            assert type(module.make_execution_environment("local_unsafe")) is interpreter.UnsafeEnvironment
        with pytest.raises(ValueError, match="Unknown execution tier"):
            interpreter.make_execution_environment("lokal")
        requirement = python_reqs.PythonExecutionReq(execution_tier="local", allowed_imports=["math"])
        assert requirement is not None
        assert tools.python_tool().run(code="import os; print(os.getpid())").stdout == "2", "in a jail"
    finally:
        adapter.uninstall()
    assert interpreter.make_execution_environment is before and tools.python_tool is adapter._original_tool


def test_imports_are_restricted_to_the_allowed_ones(installed):
    environment = interpreter.make_execution_environment("local", allowed_imports=["math"])
    r = environment.execute("import os")
    assert r.skipped and "Unauthorized imports detected: os" in r.skip_message


def test_planted_module_is_not_imported_by_the_next_run(installed):
    """Each run has a new /tmp, so a planted module is gone."""
    tool = tools.python_tool(tier="local")
    tool.run(code="open('/tmp/statistics.py', 'w').write('print(\"planted\")')")
    assert tool.run(code="import statistics; print(statistics.mean([1, 3]))").stdout == "2"
    assert not os.path.exists("/tmp/statistics.py")
