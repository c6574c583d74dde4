"""Tests of the harness: it must detect everything that a broken product could do."""

import textwrap

import pytest
from callers import caller_labels, get_caller, get_world
from jail_run import attack
from outcome import containment_problems, control_problems
from program import PROGRAMS, load

FAKE = """\
#!/usr/bin/python3
import json, os, socket, subprocess, sys, time
arg = json.loads(sys.argv[-1])
result = {"status": "ok", "exit_code": 0, "signal": None, "enforcement": []}
result |= {"stdout": "CONTAINED by a stand-in\\n", "stderr": ""}
@ACT@
print(json.dumps(result))
"""

# What a broken product might do, and words of the harness's report.
BREACHES = {
    "status": ("result['status'] = 'killed'", "status killed"),
    "escape": ("result['stdout'] = 'ESCAPED x\\n'", "ESCAPED x"),
    "silence": ("result['stdout'] = ''", "did not report"),
    "no result": ("result = 'nothing'", "no result"),
    "crash": ("os._exit(1)", "no result"),
    "canary": ("result['stderr'] = open(arg['secret_path']).read()", "canary"),
    "environment": ("result['stderr'] = os.environ[arg['env_name']]", "canary"),
    "drop": ("open(arg['drop_dir'] + '/x', 'w')", "drop"),
    "victim": ("open(arg['victim_file'], 'w').write('x')", "victim"),
    "unlink": ("os.unlink(arg['victim_file'])", "victim"),
    "tcp": ("socket.create_connection(('127.0.0.1', arg['tcp_port']))", "tcp"),
    "udp": (
        "socket.socket(2, 2).sendto(b'x', ('127.0.0.1', arg['udp_port']))",
        "udp",
    ),
    "abstract": ("socket.socket(1, 1).connect('\\0' + arg['abstract'])", "abstract"),
    "abstract_dgram": (
        "socket.socket(1, 2).sendto(b'x', '\\0' + arg['abstract_dgram'])",
        "abstract_dgram",
    ),
    "unix": ("socket.socket(1, 1).connect(arg['unix_path'])", "unix"),
    "unix_dgram": (
        "socket.socket(1, 2).sendto(b'x', arg['unix_dgram_path'])",
        "unix_dgram",
    ),
    "host path": ("result['stderr'] = os.getcwd()", "a folder of the host"),
    "child": ("subprocess.Popen(['sleep', '600'])", "processes are left"),
    "daemon": (
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.execv('/bin/sleep', ['[kworker/0:0]', '600'])\n"
        "    os._exit(0)\n"
        "os.wait()",
        "processes are left",
    ),
}


@pytest.fixture
def fake(request):
    """Makes a stand-in for remit that does one thing wrong."""
    path = get_world().dir / "fake"
    path.write_text(FAKE.replace("@ACT@", textwrap.dedent(request.param)))
    path.chmod(0o755)
    yield str(path)
    path.unlink()


def rounds_of(binary, label):
    program = load(PROGRAMS / "fs_r1_read_host_files.py")
    return program, attack(binary, program, get_caller(label), get_world())


@pytest.mark.parametrize("label", caller_labels())
@pytest.mark.parametrize(
    ("fake", "words"), BREACHES.values(), ids=BREACHES, indirect=["fake"]
)
def test_breach_is_detected(fake, words, label):
    program, rounds = rounds_of(fake, label)
    problems = containment_problems(program, rounds, get_caller(label))
    assert any(words in line for line in problems), problems


@pytest.mark.parametrize("label", caller_labels())
@pytest.mark.parametrize("fake", ["pass"], indirect=True)
def test_containment_is_accepted(fake, label):
    program, rounds = rounds_of(fake, label)
    assert containment_problems(program, rounds, get_caller(label)) == []
    assert control_problems(program, rounds), "a control that was contained must fail"


@pytest.mark.parametrize("label", caller_labels())
@pytest.mark.parametrize("fake", ["result['stdout'] = 'ESCAPED x\\n'"], indirect=True)
def test_control_without_its_witness_fails(fake, label):
    program, rounds = rounds_of(fake, label)
    (problems,) = control_problems(program, rounds)
    assert "canary" in problems
