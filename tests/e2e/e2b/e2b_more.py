"""Uses E2B's Python client, unmodified: commands that are read from and left, watched folders, sandboxes that are
found again. Prints one line of JSON."""

import asyncio
import datetime
import json

from e2b import PtySize, SandboxQuery, Template
from e2b_code_interpreter import AsyncSandbox, Sandbox

seen = {}


def failed(function, *args, **more):
    try:
        function(*args, **more)
    except Exception as e:
        return type(e).__name__, str(e)[:200]
    return "no error", ""


box = Sandbox.create(metadata={"of": "more", "n": "1"}, timeout=600)

# Commands: input, a handle that is left and found again, working directory and user
cat = box.commands.run("cat; echo end", background=True, stdin=True)
box.commands.send_stdin(cat.pid, "one\n")
box.commands.send_stdin(cat.pid, b"t\xc3\xbc\n")
cat.close_stdin()
seen["stdin"] = cat.wait().stdout
handle = box.commands.run("echo 1; read; for i in 2 3 4 5 6 7 8; do echo $i; done; exit 5", background=True, stdin=True)
first, *_ = next(words := iter(handle))
handle.disconnect()
(found,) = box.commands.list()
again = box.commands.connect(found.pid)
box.commands.send_stdin(found.pid, "\n")
received = []
ended = failed(again.wait, on_stdout=received.append)
seen["again"] = [found.pid == handle.pid, found.args[-1][:6], first, "".join(received), ended[0]]
seen["gone"] = failed(box.commands.connect, found.pid)[0]
seen["place"] = box.commands.run("echo $A; pwd", envs={"A": "b"}, cwd="/tmp", user="user").stdout
seen["root"] = failed(box.commands.run, "id", user="root")
seen["unread"] = failed(box.commands.send_stdin, 12345, "x")[0]
both = box.commands.run("exec 9> lock; (flock 9; echo held; sleep 110) & sleep 110", background=True)
held = next(words := iter(both))[0]
seen["killed"] = [held, both.kill(), failed(both.wait)[0], both.kill(), box.commands.run("flock lock echo free", timeout=50).stdout]
seen["late"] = failed(box.commands.run, "sleep 20", timeout=1)[0]

# A program in the background, and everything else beside it
server = box.commands.run("until [ -e ask ]; do sleep 0.1; done; rev ask > part; mv part answer; sleep 100", background=True)
box.files.write("ask", "olleh\n")
code = "import os, time\nwhile not os.path.exists('answer'): time.sleep(0.1)\nprint(open('answer').read(), end='')"
seen["beside"] = ["".join(box.run_code(code).logs.stdout), box.commands.run("cat answer").stdout, len(box.commands.list()), server.kill()]

# A terminal: its size, what is typed, and its end
typed = b""
shell = box.pty.create(PtySize(rows=5, cols=44), timeout=60)
box.pty.send_stdin(shell.pid, b"stty size; echo o''ne\n")
for _, _, data in (words := iter(shell)):
    typed += data or b""
    if b"one\r" in typed:
        break
box.pty.resize(shell.pid, PtySize(rows=6, cols=55))
box.pty.send_stdin(shell.pid, b"stty size; echo t''wo; exit 3\n")
typed += b"".join(data or b"" for _, _, data in words)
shell = box.pty.create(PtySize(rows=5, cols=5))
seen["terminal"] = [b"5 44\r" in typed, b"6 55\r" in typed, b"two\r" in typed, box.pty.kill(shell.pid), failed(shell.wait)[0]]

# A folder that is polled
box.files.make_dir("w/deep")
plain, below = box.files.watch_dir("w"), box.files.watch_dir("w", recursive=True)
box.files.write("w/a", "1")
box.files.write("w/deep/b", "2")
box.run_code("import os; os.chmod('w/deep', 0o700)")
first = [(e.name, e.type.value) for e in plain.get_new_events()]
deep = [(e.name, e.type.value) for e in below.get_new_events()]
box.files.write("w/a", "123")
box.files.rename("w/deep/b", "w/c")
seen["watched"] = [first, deep, [(e.name, e.type.value) for e in plain.get_new_events()], plain.get_new_events()]
plain.stop()
seen["watch_errors"] = [failed(box.files.watch_dir, "nowhere")[0], failed(box.files.watch_dir, "w/a")[0], failed(plain.get_new_events)[0]]

# What is known of a file.
labelled = box.files.write("l/a", "1", metadata={"Author": "me"})
box.files.write("l/z", "packed", gzip=True)
box.commands.run("ln -s a link; ln -s nowhere broken", cwd="l")
link = box.files.get_info("l/link")
described = box.files.watch_dir("l", include_entry=True, allow_network_mounts=True)
box.files.write("l/b", "2")
events = described.get_new_events()
seen["labels"] = [labelled.metadata, box.files.get_info("l/a").metadata, box.files.rename("l/a", "l/c").metadata, box.files.read("l/z")]
seen["link"] = [link.type.value, link.symlink_target, box.files.get_info("l/broken").symlink_target]
seen["described"] = [(e.name, e.type.value, e.entry.path, e.entry.size) for e in events]
seen["templates"] = [Template.exists("base"), Template.exists("elsewhere")]
seen["refused"] = [failed(Sandbox.create, "elsewhere"), failed(Sandbox.list(api_key="e2b_00").next_items)]

# Sandboxes that are found again, kept alive, and listed in pages
more = [Sandbox.create(metadata={"of": "more", "n": str(i)}, timeout=600) for i in (2, 3)]
pages, listing = [], Sandbox.list(query=SandboxQuery(metadata={"of": "more"}), limit=2)
while listing.has_next:
    pages.append([s.metadata["n"] for s in listing.next_items()])
now = datetime.datetime.now(datetime.timezone.utc)
queries = [{"order": "asc"}, {"query": SandboxQuery(started_after=now + datetime.timedelta(hours=1))}, {"query": SandboxQuery(started_after=now - datetime.timedelta(hours=1), metadata={"n": "2"})}, {"query": SandboxQuery(template="other")}]
seen["pages"] = [pages, *([s.metadata.get("n") for s in Sandbox.list(**q).next_items()] for q in queries)]
connected = Sandbox.connect(box.sandbox_id, timeout=900)
before = connected.get_info().end_at
seen["extended"] = Sandbox.connect(box.sandbox_id, timeout=5).get_info().end_at == before
box.set_timeout(2000)
seen["life"] = [connected.is_running(), (connected.get_info().end_at - before).total_seconds() > 60]
info = box.get_info()
seen["info"] = [info.metadata["n"], info.template_id, info.cpu_count > 0, info.memory_mb > 0, info.state.value if hasattr(info.state, "value") else info.state]
seen["pause"] = failed(box.pause)[0]
for b in more:
    b.kill()


async def waiting():
    """Watch a folder with a waiting watcher."""
    other = await AsyncSandbox.connect(box.sandbox_id)
    events = []
    handle = await other.files.watch_dir("w", on_event=lambda e: events.append((e.name, e.type.value)))
    await other.files.write("w/streamed", "x")
    # While code runs
    code = "import os, time\nopen('w/quick', 'w').close()\nos.remove('w/quick')\nos.rename('w/streamed', 'w/moved')\nos.chmod('w/moved', 0o600)\nwhile not os.path.exists('stop'): time.sleep(0.01)"
    running = asyncio.create_task(other.run_code(code))
    for _ in range(600):
        if len(events) > 7:
            break
        await asyncio.sleep(0.1)  # poll
    await handle.stop()
    running.cancel()
    return events


seen["streamed"] = asyncio.run(waiting())
seen["end"] = [box.kill(), failed(Sandbox.connect, box.sandbox_id)[0]]
print(json.dumps(seen))
