"""Commands of E2B's clients go on beside the cells, files and other commands of their sandbox."""

from __future__ import annotations

import base64
import json
import threading

import leftovers
import pytest
from conftest import make_remit, users
from served import serve
from test_e2b import COMMANDS, boxed, ending, event, of, started
from waiting import until


@pytest.fixture(scope="module", params=users())
def one(request, stage):
    remit = make_remit(request.param, stage)
    with serve(remit, *COMMANDS, "--timeout", "2m", "--stdout-max", "100k", "--output-ceiling", "4") as served:
        yield served
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command)), "processes are left"


def output(box, cmd: str, **more) -> str:
    """The standard output of a command that succeeds."""
    events = box.command(cmd, **more)
    assert events[-2]["event"]["end"]["exitCode"] == 0, events
    data = [e["event"]["data"].get("stdout", "") for e in events if "data" in e.get("event", {})]
    return b"".join(map(base64.b64decode, data)).decode()


def value(box, code: str, **more) -> str:
    lines = box.execute(code, **more)
    assert not of(lines, "error"), lines
    return "".join(line["text"] for line in of(lines, "stdout")) + "".join(line["text"] for line in of(lines, "result"))


def running(box) -> list[int]:
    return [p["pid"] for p in box.json("POST", "/process.Process/List", {})["processes"]]


def kill(box, pid: int) -> None:
    box.json("POST", "/process.Process/SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})


def test_cells_files_and_commands_go_on_beside_a_command(one):
    with boxed(one) as box:
        first, pid = started(box, "sleep 100")
        assert value(box, "a = 20; a + 1") == "21"
        assert box.request("POST", "/files?path=b.txt", b"beside", {"Content-Type": "application/octet-stream"})[0] == 200
        assert output(box, "cat b.txt; pwd") == "beside/home/user\n"
        second, other = started(box, "sleep 100")
        assert sorted(running(box)) == sorted((pid, other))
        assert value(box, "a") == "20"
        # The pid is that of a process in the jail.
        assert output(box, f"kill -0 {pid} && echo alive") == "alive\n"
        kill(box, pid)
        assert ending(first)["status"] == "signal: 9"
        assert running(box) == [other]
        for answer in (first, second):
            answer.close()


def test_killed_command_has_ended_when_the_next_one_begins(one):
    """The kernel needs some time to free the memory of the killed program."""
    with boxed(one) as box:
        answer, pid = started(box, "exec python3 -c 'held = bytes(range(256)) * (1 << 20); print(1, flush=True); input()'", stdin=True)
        assert event(answer)["event"]["data"]["stdout"] == base64.b64encode(b"1\n").decode()
        kill(box, pid)
        assert output(box, f"kill -0 {pid} 2>&1 || echo ended").endswith("ended\n")
        assert ending(answer)["status"] == "signal: 9"


def test_command_serves_a_cell(one):
    """A program in the background answers what a cell asks it, while the cell runs."""
    server = "import os\nwhile not os.path.exists('ask'): pass\nopen('answer.part', 'w').write(open('ask').read().upper())\nos.rename('answer.part', 'answer')"
    with boxed(one) as box:
        answer, _ = started(box, f'exec python3 -c "{server}"')
        code = "import os\nopen('ask.part', 'w').write('question')\nos.rename('ask.part', 'ask')\nwhile not os.path.exists('answer'): pass\nopen('answer').read()"
        assert value(box, code) == "QUESTION"
        assert ending(answer)["exitCode"] == 0
        answer.close()


def test_interrupts_of_cells_and_commands_do_not_meet(one):
    with boxed(one) as box:
        answer, pid = started(box, "trap 'echo interrupted' INT; while :; do sleep 0.1; done")
        with box.executing("import time\nprint('on')\ntime.sleep(100)"):
            pass  # leaving interrupts the cell
        assert value(box, "'next'") == "next"
        assert running(box) == [pid]
        with box.executing("import time\nprint('on')\nwhile not __import__('os').path.exists('go'): time.sleep(0.05)\nprint('unharmed')") as cell:
            kill(box, pid)
            assert ending(answer)["status"] == "signal: 9"
            output(box, "touch go")
            assert b"unharmed" in cell.read()
        answer.close()


def test_background_process_of_a_command_lives_on_and_may_write(one):
    with boxed(one) as box:
        assert output(box, "(until [ -e go ]; do sleep 0.1; done; echo late; echo written > late) & echo early") == "early\n"
        output(box, "touch go")
        assert until(lambda: output(box, "cat late || true")) == "written\n"


def test_output_of_a_command_is_capped(one):
    with boxed(one) as box:
        events = box.command("yes x | head -c 300000")
        data = b"".join(base64.b64decode(e["event"]["data"].get("stdout", "")) for e in events if "data" in e.get("event", {}))
        assert data == b"x\n" * 51200 and events[-2]["event"]["end"]["exitCode"] == 0
        last = box.command("yes")[-1]
        assert last["error"]["code"] == "resource_exhausted" and "output_ceiling" in last["error"]["message"], last
        assert value(box, "'alive'") == "alive"


def test_input_for_a_stopped_helper_is_accepted_as_a_whole_or_refused(one):
    """The server keeps little of it."""
    piece, accepted = 600_000, 0
    sent = {"input": {"stdin": base64.b64encode(b"x" * piece).decode()}}
    with boxed(one) as box:
        answer, pid = started(box, "exec wc -c", stdin=True)
        sent["process"] = {"pid": pid}
        value(box, "import os, signal\nos.kill(-1, signal.SIGSTOP)")
        while (status := box.request("POST", "/process.Process/SendInput", sent)[0]) == 200:
            accepted += 1
            assert accepted * piece < 8 << 20, "nothing limits what the server keeps"
        assert status == 429 and accepted > 1
        value(box, "os.kill(-1, signal.SIGCONT)")
        # What was accepted arrives, and then there is space again.
        until(lambda: box.request("POST", "/process.Process/SendInput", sent)[0] == 200)
        box.json("POST", "/process.Process/CloseStdin", {"process": {"pid": pid}})
        assert base64.b64decode(event(answer)["event"]["data"]["stdout"]) == b"%d\n" % ((accepted + 1) * piece)
        answer.close()


def test_commands_are_limited_in_number(one):
    with boxed(one) as box:
        answers = [started(box, "exec sleep 100")[0] for _ in range(32)]
        last = box.command("true")[-1]
        assert last["error"]["code"] == "resource_exhausted" and "32 commands" in last["error"]["message"], last
        answers.pop().close()
        kill(box, running(box)[0])
        until(lambda: len(running(box)) == 31)
        assert output(box, "echo again") == "again\n"
        for answer in answers:
            answer.close()


def test_processor_time_of_commands_is_limited(stage):
    """They are stopped before the interpreter loses its variables."""
    with serve(make_remit(users()[0], stage), "--subprocess", "--cpu", "2s", "--timeout", "2m") as served, boxed(served) as box:
        assert value(box, "a = 5; a") == "5"
        waits, pid = started(box, "exec sleep 100")
        last = box.command("while :; do :; done")[-1]
        assert last["error"]["code"] == "deadline_exceeded" and "cpu_seconds" in last["error"]["message"], last
        assert event(waits)["error"] == last["error"]  # all commands of the sandbox
        waits.close()
        assert value(box, "a") == "5"
        # What a command has left running uses the time of the cell beside it.
        output(box, "(while :; do :; done) &")
        (error,) = of(box.execute("import time\ntime.sleep(100)"), "error")
        assert error["name"] == "KeyboardInterrupt", error


def test_commands_end_with_their_jail(one):
    with boxed(one) as box:
        answer, pid = started(box, "sleep 100")
        of(box.execute("import os; os._exit(3)"), "error")
        last = event(answer)
        assert last["error"]["code"] == "unavailable", last
        answer.close()
        assert running(box) == []
        assert box.command("true")[-1]["error"]["code"] == "unavailable"
        assert box.json("POST", "/contexts/main/restart") is None
        assert output(box, "echo fresh") == "fresh\n"


def test_streams_of_commands_end_with_the_reason_when_their_sandbox_is_killed(one):
    with boxed(one) as box:
        answer, _ = started(box, "sleep 100")
        box.kill()
        last = event(answer)["error"]
        assert last["code"] == "unavailable" and "sandbox was killed or reached its end of life" in last["message"], last
        assert answer.read() == b""


def test_code_that_kills_the_helper_loses_only_commands(one):
    with boxed(one) as box:
        answer, _ = started(box, "exec sleep 100")
        assert value(box, "import os\nkept = 'kept'\nos.kill(-1, 9)\nkept") == "kept"
        last = event(answer)
        assert last.get("error", {}).get("code") == "unavailable" or last["event"]["end"]["status"] == "signal: 9", last
        answer.close()
        assert until(lambda: box.command("true")[-1].get("error"))["code"] == "unavailable"
        assert value(box, "kept") == "kept"


def test_code_does_not_wait_for_the_helper(one):
    """It is no child of the interpreter: os.wait() would never return."""
    with boxed(one) as box:
        code = "import os\nif os.fork() == 0: os._exit(7)\nos.waitstatus_to_exitcode(os.wait()[1])"
        assert value(box, code) == "7"
        assert value(box, "try: os.wait()\nexcept ChildProcessError: print('none')") == "none\n"


def test_commands_get_no_descriptor_of_remit(one):
    """Neither the channel of the interpreter nor that of the helper: only their three streams."""
    probe = "import os\nopen_ones = []\nfor fd in range(256):\n    try: os.fstat(fd); open_ones.append(fd)\n    except OSError: pass\nprint(open_ones)"
    with boxed(one) as box:
        assert output(box, f"exec python3 -c {json.dumps(probe)}".replace("\\n", "\n")) == "[0, 1, 2]\n"


def test_fifty_commands_at_once_come_back_with_their_own_output(one):
    with boxed(one) as box:
        found = {}
        threads = [threading.Thread(target=lambda n=n: found.update({n: output(box, f"sleep 0.2; echo {n}; seq {n}")})) for n in range(25)]
        for thread in threads:
            thread.start()
        assert value(box, "sum(range(10))") == "45"
        for thread in threads:
            thread.join(120)
        assert found == {n: f"{n}\n" + "".join(f"{i}\n" for i in range(1, n + 1)) for n in range(25)}
