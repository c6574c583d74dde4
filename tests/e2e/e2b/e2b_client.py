"""Uses E2B's Python client, unmodified, as its users do. Prints one line of JSON with the result of each step."""

import asyncio
import json
import urllib.request

from e2b_code_interpreter import AsyncSandbox, Sandbox

seen = {}


def failed(function, *args, **more):
    try:
        function(*args, **more)
    except Exception as e:
        return type(e).__name__, getattr(e, "exit_code", None)
    return "no error", None


box = Sandbox.create(metadata={"test": "py"}, envs={"GREETING": "hello"}, timeout=600)
streamed = []
first = box.run_code("import os\nprint(os.environ['GREETING'])\nx = 41\nx + 1", on_stdout=lambda m: streamed.append(m.line))
seen["run"] = [first.text, first.logs.stdout, streamed]
wrong = box.run_code("1 / 0")
seen["error"] = [wrong.error.name, wrong.error.value, wrong.logs.stderr]
seen["env"] = [box.run_code("os.environ.get('X')", envs={"X": "y"}).text, box.run_code("os.environ.get('X')").text]
seen["table"] = box.run_code("import pandas\npandas.DataFrame({'a': [1, 2]})").results[0].data
plot = box.run_code("import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label='l')\nplt.show()").results[0]
seen["chart"] = [plot.chart.type.value, plot.chart.elements[0].points, bool(plot.png), plot.is_main_result]
context = box.create_code_context(cwd="/tmp")
seen["contexts"] = [box.run_code("import os; os.getcwd()", context=context).text, box.run_code("x", context=context).error.name]
box.restart_code_context(context)
box.remove_code_context(context)
box.files.write("a/b.bin", b"\x00\xff")
box.files.write_files([{"path": "m/1", "data": "one"}, {"path": "m/2", "data": "two"}])
seen["files"] = [list(box.files.read("a/b.bin", format="bytes")), [f.name for f in box.files.list("m")], box.files.exists("nope"), box.files.get_info("m/1").size, box.files.make_dir("m")]
seen["signed"] = urllib.request.urlopen(box.download_url("m/2", use_signature_expiration=600)).read().decode()
seen["command"] = [box.commands.run("echo out; echo err >&2").stdout, *failed(box.commands.run, "exit 7")]
handle = box.commands.run("sleep 60", background=True)
seen["background"] = [len(box.commands.list()), box.commands.kill(handle.pid), failed(handle.wait)[0]]
seen["interrupted"] = failed(box.run_code, "import time; time.sleep(60)", timeout=1)[0]
seen["after"] = Sandbox.connect(box.sandbox_id).run_code("x + 1").text
box.set_timeout(1200)
seen["info"] = [box.get_info().metadata, box.is_running(), [s.sandbox_id == box.sandbox_id for s in Sandbox.list().next_items()]]
seen["killed"] = [box.kill(), box.kill(), box.is_running()]


async def at_once():
    boxes = await asyncio.gather(*(AsyncSandbox.create() for _ in range(3)))
    texts = await asyncio.gather(*(b.run_code(f"{i} + 1") for i, b in enumerate(boxes)))
    await boxes[0].files.write("q", "w")
    seen["async"] = [[t.text for t in texts], await boxes[0].files.read("q"), (await boxes[1].commands.run("echo hi")).stdout]
    await asyncio.gather(*(b.kill() for b in boxes))


asyncio.run(at_once())
print(json.dumps(seen))
