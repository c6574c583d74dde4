"""Uses the clients of SandboxFusion and Piston, unmodified, as their users do. Prints one line of JSON with the
result of each step."""

import asyncio
import base64
import json
import sys

import piston_rspy
import sandbox_fusion as fusion

here = sys.argv[1]
seen = {}


def failed(function, *args, **more):
    try:
        function(*args, **more)
    except Exception as e:
        return str(e)
    return "no error"


fusion.set_endpoint(here)
ran = fusion.run_code(fusion.RunCodeRequest(code="print(input())", language="python", stdin="typed", run_timeout=30))
seen["code"] = [ran.status, ran.run_result.status, ran.run_result.return_code, ran.run_result.stdout]
seen["language"] = failed(fusion.run_code, fusion.RunCodeRequest(code="1", language="cpp"), max_attempts=1)
cells = ["import helper\na = helper.x", "a", "print(a)", "import sys; sys.stderr.write('e\\n')", "raise RuntimeError('no')", "open('out.bin', 'wb').write(b'\\0\\1')\na += '!'", "a"]
asked = fusion.RunJupyterRequest(cells=cells, cell_timeout=30, total_timeout=100, files={"helper.py": base64.b64encode(b"x = 'hello'\n").decode()}, fetch_files=["out.bin", "none"])
book = fusion.run_jupyter(asked, max_attempts=1)
seen["notebook"] = [book.status, book.driver.status, [c.stdout for c in book.cells], [c.stderr for c in book.cells], [c.display for c in book.cells]]
seen["errors"] = [[e["ename"] for e in c.error] for c in book.cells]
seen["files"] = book.files


async def piston():
    client = piston_rspy.Client.with_url(f"{here}/api/v2")
    runtimes = await client.fetch_runtimes()
    version = runtimes[0].version
    seen["runtimes"] = [[r.language, "py" in r.aliases] for r in runtimes]
    main = piston_rspy.File(name="main.py", content="import sys, helper\nprint(helper.x, sys.argv[1:], input())\nsys.exit(3)")
    helper = piston_rspy.File(name="helper.py", content="x = 'hello'\n")
    both = piston_rspy.Executor(language="py", version=version, files=[main, helper], stdin="typed", args=["a", "b"])
    done = await client.execute(both)
    seen["execute"] = [done.is_ok(), done.language, done.version == version, done.run.stdout, done.run.output, done.run.code, done.run.signal]
    late = piston_rspy.Executor(language="python", version="3.x", files=[piston_rspy.File(content="while True: pass")], run_timeout=500)
    done = await client.execute(late)
    seen["late"] = [done.run.code, done.run.signal]
    other = piston_rspy.Executor(language="rust", version="*", files=[piston_rspy.File(content="fn main() {}")])
    try:
        seen["other"] = (await client.execute(other)).status
    except RuntimeError as e:
        seen["other"] = str(e)


asyncio.run(piston())
print(json.dumps(seen))
