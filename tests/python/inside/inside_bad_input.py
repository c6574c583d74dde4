"""Any wrong argument raises an exception that names the argument and the accepted values."""

from __future__ import annotations

import datetime

import pytest
import remit

WRONG = [
    (dict(memory=-1), "memory=-1: it must be a number, 16,777,216 to"),
    (dict(memory="1K"), "memory_bytes: 1 KiB is too small: the least is 16 MiB"),
    (dict(memory=1.5), "memory=1.5: it must be a number"),
    (dict(timeout=0), "timeout=0: it must be a number, 0.001 to 86,400 seconds"),
    (dict(timeout=True), "timeout=True"),
    (dict(timeout="soon"), 'timeout: "soon" is not a time'),
    (dict(timeout=float("nan")), "timeout=nan"),
    (dict(cpus=0), "cpus=0"),
    (dict(net="yes"), "net='yes': it must be True, False, 'loopback' or 'host'"),
    (dict(subprocess="yes"), "subprocess='yes': it must be True or False"),
    (dict(tier="locl"), "one of 'static', 'unsafe', 'landlock', 'local'"),
    (dict(read="data"), "read='data': it must be a list of paths"),
    (dict(read=["/nonexistent/x"]), "read: /nonexistent/x does not exist"),
    (dict(read=[3]), "read=3: it must be a path"),
    (dict(write=["nowhere"]), "/nowhere does not exist"),
    (dict(mount=[("/usr",)]), "mount=('/usr',): it must be a list of (host, jail)"),
    (dict(mount=[("/usr", "/x", "rx")]), "mount='rx': it must be of mode ro, rw, overlay, direct"),
    (dict(mount=[("/nonexistent", "/x")]), "mount: /nonexistent does not exist"),
    (dict(env={"A": 1}), "env={'A': 1}: it must be a dict of texts"),
    (dict(env=["A"]), "env=['A']: it must be a dict of texts"),
    (dict(env={"NOT_SET_ANYWHERE": None}), "env: this process has no variable NOT_SET_ANYWHERE"),
    (dict(env={"A=B": "x"}), "A=B"),
    (dict(export="*.csv"), "export='*.csv': it must be a list of texts"),
    (dict(export=[""]), "export=['']: it must be a list of texts"),
    (dict(workspace=3), "workspace=3: it must be an absolute path in the jail"),
    (dict(workspace="data"), 'workspace: "data" is not absolute'),
    (dict(workspace="../x"), 'workspace: "../x" is not absolute'),
    (dict(workspace="/etc/x"), "/etc, which the jail needs"),
    (dict(workspace_alias="/mnt/data"), "it must be a list of absolute paths in the jail"),
    (dict(workspace_alias=["/proc"]), "/proc, which the jail needs"),
    (dict(python=3), "python=3: it must be a name or a path"),
    (dict(preset="easy"), '"easy" is not one of strict, default, scientific, landlock'),
    (dict(policy={"memroy_bytes": 1}), 'unknown field "memroy_bytes": did you mean "memory_bytes"?'),
    (dict(policy={"memory": 1}), 'unknown field "memory": in a document its name is "memory_bytes"'),
    (dict(policy={"timeout": object()}), "cannot be written as JSON"),
    (dict(inputs={"../x": "a"}), '"../x" contains ".."'),
    (dict(inputs={"x\0": "a"}), "is not a valid path"),
    (dict(artifacts="/nonexistent/a/b"), "artifacts: make /nonexistent/a/b"),
    (dict(args=["a\0b"]), "args: 'a\\x00b' contains a NUL byte"),
    (dict(name="a\0b"), "name: 'a\\x00b' contains a NUL byte"),
]


@pytest.mark.parametrize("arguments, words", WRONG, ids=lambda x: str(x)[:40])
def test_wrong_value_is_a_policy_error(arguments, words):
    with pytest.raises(remit.PolicyError) as caught:
        remit.run("print('never')", **arguments)
    assert words in str(caught.value), str(caught.value)
    assert caught.value.code == "input" and isinstance(caught.value, ValueError)


WRONG_TYPES = [
    (dict(memroy="1G"), 'unknown field "memroy": did you mean "memory"?'),
    (dict(memory_bytes="1G"), 'unknown field "memory_bytes": the keyword is "memory"'),
    (dict(quux=1), 'unknown field "quux"'),
    (dict(stdin=3), "stdin must be str, bytes or an open file, not int"),
    (dict(args="x"), "args must be a list of texts"),
    (dict(args=[3]), "args must be a list of texts, not int"),
    (dict(inputs=["x"]), "inputs must be a dict of contents by path, not list"),
    (dict(inputs={"x": 5}), "inputs['x'] must be str, bytes or a path object, not int"),
    (dict(artifacts=3), "artifacts must be a path, not int"),
    (dict(on_output=3), "on_output must be callable, not int"),
    (dict(policy=3), "a policy is a Policy or a dict, not int"),
    (dict(name=3), "name must be a text, not int"),
]


@pytest.mark.parametrize("arguments, words", WRONG_TYPES, ids=lambda x: str(x)[:40])
def test_wrong_type_is_a_type_error(arguments, words):
    with pytest.raises(TypeError) as caught:
        remit.run("print('never')", **arguments)
    assert words in str(caught.value), str(caught.value)


def test_invalid_code_is_an_error():
    for code in (None, 3, ["print(1)"]):
        with pytest.raises(TypeError, match="code must be str or bytes"):
            remit.run(code)
    with pytest.raises(remit.PolicyError, match="code: not valid text"):
        remit.run("\ud800")
    assert remit.run("a\0b").status == "error"
    assert remit.run("").ok and remit.run(b"print(1)").stdout == "1\n"


def test_unenforceable_field_is_refused_with_a_remedy():
    with pytest.raises(remit.Unenforceable) as caught:
        remit.run("print('never')", tier="vm")
    assert caught.value.code == "refused" and caught.value.where == "tier" and caught.value.remedy
    assert caught.value.result.status == "refused"
    assert caught.value.remedy in str(caught.value)


def test_missing_keeper_raises_gone():
    with pytest.raises(remit.Gone, match="connect to the keeper /nonexistent") as caught:
        remit.Connection("/nonexistent/keeper.sock").run("1")
    assert "remit keeper --listen" in caught.value.remedy
    with pytest.raises(remit.PolicyError, match="exclude each other"):
        remit.Connection("/nonexistent/keeper.sock", private=True)
    with pytest.raises(TypeError, match="keeper must be a path, not int"):
        remit.Connection(3)


def test_policy_values_are_accepted_in_every_form():
    policy = remit.Policy(timeout=datetime.timedelta(seconds=1.5), memory="400M", env={"A": "b"}, mount=["/usr:/x"], net=False)
    assert policy.to_dict() == {
        "timeout": 1.5, "memory_bytes": "400M", "env": {"A": "b"}, "network_access": False,
        "mounts": [{"host": "/usr", "jail": "/x", "mode": "ro"}],
    }  # fmt: skip
    assert policy.but(timeout=2)["timeout"] == 2 and policy["timeout"] == 1.5 and "tier" not in policy
    assert remit.Policy({"timeout": 3}, memory="1G") == remit.Policy(memory="1G", timeout=3)
    assert repr(remit.Policy(memory="1G", timeout=3)) == "Policy(memory='1G', timeout=3)"
    assert eval(repr(policy), {"Policy": remit.Policy}) == policy
    assert remit.run("import os; print(os.environ['A'])", policy=policy).stdout == "b\n"
