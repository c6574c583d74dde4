"""E2B's clients as npm and PyPI distribute them, against `remit serve`, with nothing but three environment variables
set."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, make_remit, skip_or_fail, users
from served import serve

sys.path.insert(0, str(ROOT / "tests" / "npm"))
sys.path.insert(0, str(ROOT / "tests" / "python"))
import packages  # noqa: E402
import venvs  # noqa: E402

HERE = pathlib.Path(__file__).parent
# Threads of the client's HTTP library may abort at the interpreter's end, after all results are printed.
UNTIL_THE_LAST_LINE = "import os, runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__'); sys.stdout.flush(); os._exit(0)"
# An ordinary user without cgroups must accept these fallbacks.
COMMANDS = ("--preset", "scientific", "--subprocess", "--memory-fallback", "per_process", "--cpu", "unlimited", "--timeout", "2m")


# What a command prints to a client that found it again
REST = "".join(f"{n}\n" for n in range(2, 9))


@pytest.fixture(scope="module", params=users())
def served(request, stage):
    remit = make_remit(request.param, stage)
    with serve(remit, *COMMANDS) as one:
        one.remit = remit
        yield one


def copied(served, name: str) -> pathlib.Path:
    """Copy a program to where its user can read it."""
    return pathlib.Path(shutil.copy(HERE / name, served.remit.folder))


def output_of(served, *argv) -> str:
    """Run a program as its user, with the server's address in its environment, and return its output."""
    here = f"http://127.0.0.1:{served.port}"
    env = {"E2B_API_KEY": f"e2b_{served.token}", "E2B_API_URL": here, "E2B_SANDBOX_URL": here}
    done = subprocess.run(
        list(map(str, argv)), env=served.remit.env(env), cwd=served.remit.folder, capture_output=True, text=True, timeout=300, **served.remit.identity()
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
    return done.stdout


def run(served, *argv) -> dict:
    return json.loads(output_of(served, *argv).splitlines()[-1])


def test_npm_client_works(served):
    try:
        made = packages.folder("e2b")
    except packages.Unavailable as e:
        skip_or_fail(str(e))
    seen = run(served, packages.node(made), copied(served, "e2b_client.mjs"), made)
    assert seen["run"] == ["42", "hello\nü€😀\n", "hello\nü€😀\n"]
    assert seen["error"] == ["ZeroDivisionError", "division by zero", 0]
    assert seen["state"] == ["41", 4]
    assert seen["chart"] == [2, True, "bar", 2, "last"]
    assert seen["contexts"] == [["/tmp\n"], "NameError", True] and seen["removed"] == 1
    assert seen["files"] == ["some text", [0, 255], [["a.txt", "file"], ["b", "file"], ["c", "file"]], False, True, "/home/user/new/z", False, True, "FileNotFoundError"]
    assert {k: seen["command"][k] for k in ("exitCode", "stdout", "stderr")} == {"exitCode": 0, "stdout": "out\n/home/user\n", "stderr": "err\n"}
    assert seen["exit"] == ["CommandExitError", 3] and seen["late"] == "TimeoutError"
    assert (seen["interrupted"], seen["after"], seen["again"]) == ("TimeoutError", "42", "41")
    assert seen["listed"] == [True] and seen["info"] == ["running", True]
    assert seen["killed"][0] is True and seen["killed"][1] == "TimeoutError" and "killed" in seen["killed"][2] and seen["killed"][3:] == [False, False]
    served.wait_for_no_hosted_sessions()


def test_pypi_client_works(served):
    python = venvs.framework("e2b")
    seen = run(served, python, "-c", UNTIL_THE_LAST_LINE, copied(served, "e2b_client.py"))
    assert seen["run"] == ["42", ["hello\n"], ["hello\n"]]
    assert seen["error"] == ["ZeroDivisionError", "division by zero", []]
    assert seen["env"] == ["y", None] and seen["table"] == {"a": [1, 2]}
    assert seen["chart"] == ["line", [[1, 3], [2, 4]], True, False]
    assert seen["contexts"] == ["/tmp", "NameError"]
    assert seen["files"] == [[0, 255], ["1", "2"], False, 3, False] and seen["signed"] == "two"
    assert seen["command"] == ["out\n", "CommandExitException", 7]
    assert seen["background"] == [1, True, "CommandExitException"]
    assert (seen["interrupted"], seen["after"]) == ("TimeoutException", "42")
    assert seen["info"] == [{"test": "py"}, True, [True]] and seen["killed"] == [True, False, False]
    assert seen["async"] == [["1", "2", "3"], "w", "hi\n"]
    served.wait_for_no_hosted_sessions()


@pytest.fixture(scope="module")
def one(stage):
    """One server for tests that do not depend on the user."""
    remit = make_remit(users()[-1], stage)
    with serve(remit, *COMMANDS) as s:
        s.remit = remit
        yield s


def test_npm_client_runs_commands_and_watches_folders(one):
    made = packages.folder("e2b")
    seen = run(one, packages.node(made), copied(one, "e2b_more.mjs"), made)
    assert seen["stdin"] == "one\ntü\nend\n" and seen["place"] == "b\n/tmp\n"
    assert seen["again"] == [True, "1\n", REST, 5, "NotFoundError"]
    assert seen["refused"] == ["InvalidArgumentError"] and seen["killed"] == [True, "CommandExitError", False]
    assert seen["beside"] == ["xx", "x", 1] and seen["terminal"] == [True, True, True, "CommandExitError"]
    events, missing = seen["watched"]
    assert events == [["a", "create"], ["a", "chmod"], ["a", "write"], ["a", "rename"], ["deep/b", "create"]]
    assert missing == "FileNotFoundError"
    assert seen["files"] == ["/home/user/w/deep", "packed"]
    assert seen["pages"] == [2, 1] and seen["life"] == [True, True] and seen["end"] == [True, "SandboxNotFoundError", 1]
    one.wait_for_no_hosted_sessions()


def test_pypi_client_runs_commands_and_watches_folders(one):
    seen = run(one, venvs.framework("e2b"), "-c", UNTIL_THE_LAST_LINE, copied(one, "e2b_more.py"))
    assert seen["stdin"] == "one\ntü\nend\n" and seen["place"] == "b\n/tmp\n"
    assert seen["again"] == [True, "echo 1", "1\n", REST, "CommandExitException"] and seen["gone"] == "NotFoundException"
    assert seen["root"][0] == "InvalidArgumentException" and "one user" in seen["root"][1] and seen["unread"] == "NotFoundException"
    assert seen["killed"] == ["held\n", True, "CommandExitException", False, "free\n"] and seen["late"] == "TimeoutException"
    assert seen["beside"] == ["hello\n", "hello\n", 1, True]
    assert seen["terminal"] == [True, True, True, True, "CommandExitException"]
    first, deep, second, third = seen["watched"]
    made, nested = ([[name, kind] for kind in ("create", "chmod", "write")] for name in ("a", "deep/b"))
    assert first == [*made, ["deep", "chmod"]] and deep == [*made, *nested, ["deep", "chmod"]]
    assert second == [["a", "write"], ["c", "create"]] and third == []
    assert seen["watch_errors"] == ["FileNotFoundException", "InvalidArgumentException", "SandboxException"]
    assert seen["streamed"][:3] == [["streamed", "create"], ["streamed", "chmod"], ["streamed", "write"]]
    assert seen["streamed"][3:] == [["quick", "create"], ["quick", "remove"], ["streamed", "rename"], ["moved", "create"], ["moved", "chmod"]]
    assert seen["labels"] == [{"author": "me"}, {"author": "me"}, {"author": "me"}, "packed"]
    assert seen["link"] == ["symlink", "/home/user/l/a", "nowhere"]
    assert [e[:3] for e in seen["described"]] == [["b", kind, "/home/user/l/b"] for kind in ("create", "chmod", "write")]
    assert seen["described"][-1][3] == 1
    assert seen["templates"] == [True, False] and seen["extended"]
    assert "only template" in seen["refused"][0][1] and seen["refused"][1][0] == "AuthenticationException", seen["refused"]
    assert seen["pages"] == [[["3", "2"], ["1"]], ["1", "2", "3"], [], ["2"], []]
    assert seen["life"] == [True, True] and seen["info"] == ["1", "code-interpreter-v1", True, True, "running"]
    assert seen["pause"] == "SandboxException" and seen["end"] == [True, "SandboxNotFoundException"]
    one.wait_for_no_hosted_sessions()


FORKS = {
    "python": """
from e2b_code_interpreter import Sandbox
with Sandbox.create() as box:
    box.run_code("x = 41")
    forks = box.fork(count=2)
    print(*(f.run_code(f"x += {i}; x").text for i, f in enumerate(forks, 1)), box.run_code("x").text)
    for f in forks: f.kill()
""",
    "js": """
import { createRequire } from 'node:module';
const { Sandbox } = createRequire(`${process.argv[2]}/`)('@e2b/code-interpreter');
const box = await Sandbox.create();
await box.runCode('x = 41');
const forks = await box.fork({ count: 2 });
const texts = await Promise.all(forks.map(async (f, i) => (await f.runCode(`x += ${i + 1}; x`)).text));
console.log(...texts, (await box.runCode('x')).text);
await Promise.all([...forks, box].map((b) => b.kill()));
""",
}


def test_sandbox_is_forked_by_both_clients(one):
    with serve(one.remit) as plain:  # subprocesses and forks exclude each other
        plain.remit = one.remit
        made = packages.folder("e2b")
        assert output_of(plain, venvs.framework("e2b"), "-c", UNTIL_THE_LAST_LINE, one.remit.file("forks.py", FORKS["python"])) == "42 43 41\n"
        assert output_of(plain, packages.node(made), one.remit.file("forks.mjs", FORKS["js"]), made) == "42 43 41\n"
        plain.wait_for_no_hosted_sessions()


# The clients ask for files only.
PAUSES = {
    "python": """
import asyncio
from e2b_code_interpreter import AsyncSandbox, Sandbox
from e2b.exceptions import NotFoundException, SandboxException
box = Sandbox.create(metadata={"a": "b"}, envs={"NAME": "value"})
box.files.write("/home/user/data.txt", "kept")
box.run_code("x = 1")
try: box.pause()
except SandboxException as e: print("keep_memory=False" in str(e))
print(box.pause(keep_memory=False), box.is_running(), box.pause(mode="filesystem"), box.get_info().state.value)
again = box.connect()
print(again.is_running(), box.files.read("/home/user/data.txt"), box.run_code("import os; os.environ['NAME']").text, box.run_code("x").error.name)
snapshot = box.create_snapshot(mode="filesystem", name="mine")
print(snapshot.names, [s.snapshot_id == snapshot.snapshot_id for s in Sandbox.list_snapshots().next_items()])
with Sandbox.create(snapshot.snapshot_id) as other, Sandbox.create("mine") as third:
    other.files.write("data.txt", "changed")
    print(other.files.read("data.txt"), third.files.read("data.txt"), box.files.read("data.txt"))
print(Sandbox.delete_snapshot(snapshot.snapshot_id), Sandbox.delete_snapshot(snapshot.snapshot_id))
box.pause(keep_memory=False)
print(box.kill(), Sandbox.list().next_items())
ending = Sandbox.create(timeout=1, lifecycle={"on_timeout": {"action": "pause", "mode": "filesystem"}})
ends = ending.get_info().lifecycle
print(ends["on_timeout"].value, ends["auto_resume"])
async def wait():
    for _ in range(600):
        if ending.get_info().state.value == "paused": break
        await asyncio.sleep(0.1)  # poll
    found = await AsyncSandbox.connect(ending.sandbox_id)
    print((await found.run_code("6 * 7")).text, await found.kill())
asyncio.run(wait())
""",
    "js": """
import { createRequire } from 'node:module';
const { Sandbox } = createRequire(`${process.argv[2]}/`)('@e2b/code-interpreter');
const box = await Sandbox.create({ envs: { NAME: 'value' } });
await box.files.write('/home/user/data.txt', 'kept');
await box.pause().catch((e) => console.log(/keepMemory: false/.test(e.message)));
console.log(await box.pause({ keepMemory: false }), await box.isRunning(), await box.pause({ keepMemory: false }), (await Sandbox.getInfo(box.sandboxId)).state);
await box.connect();
console.log(await box.isRunning(), await box.files.read('data.txt'), (await box.runCode("import os; os.environ['NAME']")).text);
const paused = await Sandbox.create({ lifecycle: { onTimeout: { action: 'pause', keepMemory: false } } });
console.log((await paused.getInfo()).lifecycle.onTimeout, await paused.kill(), await box.kill());
""",
}
SAID = {
    "python": """True
True False False paused
True kept value NameError
['mine'] [True]
changed kept kept
True False
True []
pause False
42 True
""",
    "js": """true
true false false paused
true kept value
pause true true
""",
}


def test_sandbox_is_paused_and_resumed_by_both_clients(one):
    state = one.remit.folder / "pauses"
    with serve(one.remit, "--state", state) as kept:
        kept.remit = one.remit
        made = packages.folder("e2b")
        assert output_of(kept, venvs.framework("e2b"), "-c", UNTIL_THE_LAST_LINE, one.remit.file("pauses.py", PAUSES["python"])) == SAID["python"]
        assert output_of(kept, packages.node(made), one.remit.file("pauses.mjs", PAUSES["js"]), made) == SAID["js"]
        kept.wait_for_no_hosted_sessions()
    # The client asks for memory, and the server accepts files only.
    with serve(one.remit, "--state", state, "--pause-files-only") as kept:
        kept.remit = one.remit
        plain = "from e2b import Sandbox\nbox = Sandbox.create()\nbox.files.write('a', 'kept')\nprint(box.pause(), box.connect().files.read('a'), bool(box.create_snapshot().snapshot_id), box.kill())\n"
        assert output_of(kept, venvs.framework("e2b"), "-c", UNTIL_THE_LAST_LINE, one.remit.file("plain.py", plain)) == "True kept True True\n"


USAGE = {
    "python": """
import time
from e2b_code_interpreter import Sandbox
with Sandbox.create(envs={"A": "x"}) as box:
    print(*box.run_code("  echo $A $B\\ncd /tmp\\npwd", language="bash", envs={"B": "y"}).logs.stdout, sep="", end="")
    context = box.create_code_context(language="bash", cwd="/tmp")
    print(context.language, *box.run_code("pwd", context=context).logs.stdout, end="")
    print(box.run_code("exit 3", language="bash").error.name)
    box.run_code("held = b'x' * 50_000_000\\nopen('f', 'wb').write(b'y' * 3_000_000)")
    box.run_code("import time\\nend = time.time() + 1\\nwhile time.time() < end: pass")
    for _ in range(200):
        metrics = box.get_metrics()
        if metrics: break
        time.sleep(0.1)
    m = metrics[0]
    print(m.cpu_count > 0, 0 < m.cpu_used_pct <= 100, 50_000_000 < m.mem_used < m.mem_total, 3_000_000 <= m.disk_used < m.disk_total)
    print(box.get_metrics(end=m.timestamp.replace(year=2020)), box.get_metrics(start=m.timestamp)[0] == m)
""",
    "js": """
import { createRequire } from 'node:module';
const { Sandbox } = createRequire(`${process.argv[2]}/`)('@e2b/code-interpreter');
const box = await Sandbox.create({ envs: { A: 'x' } });
process.stdout.write((await box.runCode('  echo $A $B\\ncd /tmp\\npwd', { language: 'bash', envs: { B: 'y' } })).logs.stdout.join(''));
const context = await box.createCodeContext({ language: 'bash', cwd: '/tmp' });
process.stdout.write(context.language + ' ' + (await box.runCode('pwd', { context })).logs.stdout.join(''));
console.log((await box.runCode('exit 3', { language: 'bash' })).error.name);
await box.runCode("held = b'x' * 50_000_000\\nopen('f', 'wb').write(b'y' * 3_000_000)");
await box.runCode('import time\\nend = time.time() + 1\\nwhile time.time() < end: pass');
let metrics = [];
for (let i = 0; i < 200 && !metrics.length; i++) {
  metrics = await box.getMetrics();
  await new Promise((wake) => setTimeout(wake, 100));
}
const m = metrics[0], say = (x) => (x ? 'True' : 'False');
console.log(say(m.cpuCount > 0), say(0 < m.cpuUsedPct && m.cpuUsedPct <= 100), say(5e7 < m.memUsed && m.memUsed < m.memTotal), say(3e6 <= m.diskUsed && m.diskUsed < m.diskTotal));
console.log('[]', say((await box.getMetrics({ start: new Date(m.timestamp.getTime() - 1000) }))[0].timestamp.getTime() === m.timestamp.getTime()));
await box.kill();
""",
}
USED = "x y\n/tmp\nbash /tmp\nCalledProcessError\nTrue True True True\n[] True\n"


def test_scripts_and_metrics_of_both_clients(one):
    made = packages.folder("e2b")
    assert output_of(one, venvs.framework("e2b"), "-c", UNTIL_THE_LAST_LINE, one.remit.file("usage.py", USAGE["python"])) == USED
    assert output_of(one, packages.node(made), one.remit.file("usage.mjs", USAGE["js"]), made) == USED
    one.wait_for_no_hosted_sessions()


def shown(kind: str) -> tuple[str, str]:
    """The document's program in this language, and the output it shows."""
    text = (ROOT / "docs" / "guide" / "e2b.md").read_text()
    (found,) = re.findall(rf"```{kind}\n(.*?)```\n```text\n(.*?)```", text, re.S)
    return found


def test_programs_of_document_print_what_it_shows(served):
    """Against a `remit serve` without flags."""
    with serve(served.remit) as plain:
        plain.remit = served.remit
        code, wanted = shown("python")
        assert output_of(plain, venvs.framework("e2b"), "-c", UNTIL_THE_LAST_LINE, served.remit.file("shown.py", code)) == wanted
        code, wanted = shown("js")
        made = packages.folder("e2b")
        path = served.remit.file("shown.mjs", code)
        links = path.parent / "node_modules"
        links.unlink(missing_ok=True)
        links.symlink_to(made / "node_modules")
        assert output_of(plain, packages.node(made), path) == wanted
        links.unlink()
