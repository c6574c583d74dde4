"""Policies as users write them, and the effective policy."""

import json
import os
import re

import pytest

NOT_KEPT = [
    ("filesystem_write_roots", ["/srv"]),
    ("mounts", [{"host": "/srv", "jail": "/srv", "mode": "rw"}]),
]  # fmt: skip


@pytest.mark.parametrize("field,value", NOT_KEPT)
def test_unenforceable_field_is_refused_by_name(any_remit, field, value):
    path = any_remit.file("p.json", json.dumps({field: value}))
    result = any_remit.json("print('ran')", "--policy", path)
    assert result["status"] == "refused" and result["stdout"] == ""
    assert result["error"]["where"] == field and result["error"]["remedy"]


def test_effective_policy_is_printed_and_reads_back(any_remit):
    one = any_remit("policy", "--preset", "strict", "--memory", "300M", "--read", "/srv", "--env", "A=b").stdout
    path = any_remit.file("p.json", one)
    assert any_remit("policy", "--policy", path).stdout == one
    doc = json.loads(one)
    assert doc["memory_bytes"] == 300 << 20 and doc["timeout"] == 10 and doc["env"] == {"A": "b"}


def test_flag_overrides_file_wherever_it_stands(any_remit):
    path = any_remit.file("p.json", json.dumps({"timeout": "9s", "memory_bytes": "100M", "network_access": True}))
    for args in (("--memory", "1G", "--no-net", "--policy", path), ("--policy", path, "--memory", "1G", "--no-net")):
        doc = json.loads(any_remit("policy", *args).stdout)
        assert (doc["memory_bytes"], doc["timeout"], doc["network_access"]) == (1 << 30, 9, False)


@pytest.mark.parametrize(
    "flag,field,value",
    [
        (("--net",), "network_access", True),
        (("--allow-net",), "network_access", True),
        (("--net", "--no-net"), "network_access", False),
        (("--net=host",), "network_access", "host"),
        (("--allow-subprocess",), "subprocess_execution", True),
        (("--timeout", "200ms"), "timeout", 0.2),
        (("--timeout", "1.5s"), "timeout", 1.5),
        (("--cpu", "2m"), "cpu_seconds", 120),
        (("--memory", "1GiB"), "memory_bytes", 1 << 30),
        (("--disk=10M",), "disk_bytes", 10 << 20),
        (("--processes", "7"), "processes", 7),
        (("--stdout-max", "64k"), "stdout_max_bytes", 64 << 10),
        (("--tier", "local_unsafe"), "tier", "unsafe"),
    ],
)
def test_flags_set_their_fields(any_remit, flag, field, value):
    assert json.loads(any_remit("policy", *flag).stdout)[field] == value


@pytest.mark.parametrize(
    "text,words",
    [
        ('{"memroy_bytes": 1}', 'did you mean "memory_bytes"'),
        ('{\n "timeout": 1,\n "timeout": 2}', "duplicate"),
        ('{\n\n "timeout": "soon"}', "p.json:3: timeout"),
        ('{"timeout": 0}', "timeout"),
        ('{"timeout": -1}', "timeout"),
        ('{"processes": 1.5}', "processes"),
        ('{"memory_bytes": "1"}', "memory_bytes"),
        ('{"network_access": "yes"}', "network_access"),
        ('{"mounts": [{"host": "relative", "jail": "/x"}]}', "mounts[0]"),
        ("[]", "object"),
        ("{", "p.json:1"),
        ('{"env": {"A B": "x"}}', "env"),
    ],
)
def test_wrong_policy_is_error_with_place(any_remit, text, words):
    path = any_remit.file("p.json", text)
    done = any_remit("run", "--policy", path, "-c", "print('ran')")
    assert done.returncode == 2 and done.stdout == "" and words in done.stderr, done.stderr


def test_unreadable_policies_are_errors(any_remit):
    loop = any_remit.folder / "loop.json"
    if not loop.is_symlink():
        os.symlink(loop, loop)
    fifo = any_remit.folder / "fifo.json"
    if not fifo.exists():
        os.mkfifo(fifo)
    for path, words in ((loop, "symbolic links"), (fifo, "regular file"), ("/nowhere", "No such file"), ("/", "directory")):
        done = any_remit("run", "--policy", path, "-c", "print('ran')")
        assert done.returncode == 2 and words in done.stderr and done.stdout == "", done.stderr


def test_explain_prints_plan(remit):
    done = remit("explain", "--read", "/srv")
    assert done.returncode == 0
    table = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "seccomp" in table["network_access"] and "enforced" in table["network_access"]
    assert ("cgroup_memory" if remit.by_root else "rlimit_as") in table["memory_bytes"]
    doc = json.loads(remit("explain", "--json").stdout)
    assert doc["enforcement"] == remit.json("pass")["enforcement"]
    done = remit("explain", "--preload", "numpy", "--tier", "static")
    assert done.returncode == 125 and "preload" in done.stderr


@pytest.mark.parametrize("name, words", [("nowhere", "No such file"), ("fifo", "neither a folder nor a file")])
def test_explain_refuses_a_path_that_run_refuses(remit, name, words):
    path = remit.folder / name
    if name == "fifo" and not path.exists():
        os.mkfifo(path)
    explained, run = remit("explain", "--read", path), remit("run", "--read", path, "-c", "print('ran')")
    assert words in explained.stderr and explained.stdout == ""
    assert (explained.returncode, explained.stderr) == (run.returncode, run.stderr) and run.returncode == 125


def test_unenforceable_limit_is_refused(remit):
    """Without a memory cgroup, one limit for all processes together cannot be enforced."""
    result = remit.json("print('ran')", "--subprocess")
    if remit.by_root:
        assert result["status"] == "ok"
        return
    assert result["status"] == "refused" and result["stdout"] == ""
    assert result["error"]["where"] in ("memory_bytes", "cpu_seconds")
    assert "fallback" in result["error"]["remedy"]
    result = remit.json("print('ran')", "--memory", "100M")
    assert result["status"] == "refused" and "too little for the process" in result["error"]["value"]


def test_matrix_shows_all_tiers(remit):
    text = remit("matrix").stdout
    for tier in ("static", "unsafe", "landlock", "local", "container", "wasm", "vm"):
        assert f"{tier}: " in text
    assert "(not built yet)" in text
    rows = json.loads(remit("matrix", "--json").stdout)
    here = {r["field"]: r["here"] for r in rows if r["tier"] == "local"}
    assert here["memory_bytes"] == (["cgroup_memory"] if remit.by_root else ["seccomp", "rlimit_as"])


def test_doctor_reports_capabilities_with_reasons(remit):
    done = remit("doctor")
    assert done.returncode == 0 and 'The tier "local" works here' in done.stdout
    doc = json.loads(remit("doctor", "--json").stdout)
    caps = {c["name"]: c for c in doc["capabilities"]}
    assert doc["local"] and doc["by_root"] == remit.by_root
    assert caps["landlock"]["yes"] and caps["seccomp"]["yes"]
    assert caps["cgroup_memory"]["yes"] == remit.by_root
    if not remit.by_root:
        assert caps["cgroup_memory"]["remedy"] and "denied" in caps["cgroup_memory"]["why"]


def test_doctor_reports_forbidden_user_namespaces(any_remit):
    """With a limit of 0 user namespaces, the first step of the jail fails."""
    import subprocess

    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    argv = ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", script, "sh"]
    done = subprocess.run(
        [*argv, *any_remit.argv("doctor")], env=any_remit.env(), cwd=any_remit.folder,
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, **any_remit.identity(),
    )  # fmt: skip
    assert done.returncode == 1, done
    assert "no   user_namespace" in done.stdout and "does not work here" in done.stdout
    done = subprocess.run(
        [*argv, *any_remit.argv("run", "--json", "-c", "print('ran')")], env=any_remit.env(), cwd=any_remit.folder,
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, **any_remit.identity(),
    )  # fmt: skip
    result = json.loads(done.stdout)
    assert result["status"] == "refused" and "user_namespace" in result["error"]["value"]
    assert result["stdout"] == ""


def test_fields_are_listed_under_titles_of_help(any_remit):
    sections = dict(re.findall(r"^(\S[^\n]*):\n((?:  [^\n]*\n)+)", any_remit("policy", "--help").stdout, re.M))
    for row in json.loads(any_remit("policy", "--fields").stdout):
        assert re.search(rf"^  --{row['short'].replace('_', '-')}\b", sections[row["group"]], re.M), row
