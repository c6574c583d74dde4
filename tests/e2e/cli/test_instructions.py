"""What a model is told about a policy: each sentence is compared with what code finds."""

import json
import re

import pytest
from conftest import PYTHON

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}


def instructions(remit, *flags) -> str:
    done = remit("instructions", "--python", PYTHON, *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_default_policy_is_described_correctly(remit):
    text = instructions(remit)
    assert "You can run Python 3." in text and "Each program runs alone" in text
    assert "There is no network." in text and "No other program can be started" in text and "`pip` does not work" in text
    assert "- 30 s of time\n" in text and "- 512 MiB of memory\n" in text and "Tools" not in text
    code = """
import os, socket, subprocess
open("/workspace/x", "w").write("x")
for f in (lambda: socket.create_connection(("1.1.1.1", 80), 1), lambda: subprocess.run(["true"]), lambda: open("/etc/shadow").read()):
    try: f()
    except OSError: print("refused")
try: import pip; pip.main(["install", "six"])
except BaseException as e: print("no pip")
"""
    result = remit.json(code, "--python", PYTHON)
    assert result["stdout"].count("refused") == 3, result


def test_stated_file_size_is_enforced_size(remit):
    size = re.search(r"- (\d+) MiB of files", instructions(remit))[1]
    code = "import os; s = os.statvfs('/workspace'); print(s.f_blocks * s.f_frsize >> 20)"
    assert remit.json(code, "--python", PYTHON)["stdout"].strip() == size


def test_named_packages_are_installed(remit):
    names = dict(name.split(" ") for name in re.findall(r"`(\w+ [\d.]+)`", instructions(remit)))
    code = "import importlib.metadata as m, sys\nfor name in sys.argv[1:]: print(name, m.version(name))"
    done = remit("run", "--python", PYTHON, "-c", code, *names)
    found = dict(line.split(" ") for line in done.stdout.splitlines())
    assert found == names and (not names or "numpy" in names), done.stderr


def test_paths_variables_and_hosts_are_named_as_code_sees_them(remit):
    folder = remit.file("given/data.csv", "1,2\n").parent
    text = instructions(
        remit, "--mount", f"{folder}:/data", "--mount", f"{folder}:/scratch:overlay", "--env", "API_TOKEN=secret-value",
        "--allow-host", "example.org:443", "--export", "*.png", "--block-import", "ctypes",
        "--memory-fallback", "per_process",
    )  # fmt: skip
    assert "- `/data` can be read.\n" in text and "- `/scratch` can be read and changed; changes are discarded.\n" in text
    assert "variables are set: `API_TOKEN`.\n" in text and "cannot be imported: `ctypes`" in text
    assert "These hosts can be reached, and no others: `example.org:443`." in text and "no network" not in text
    assert "given to the user: `*.png`" in text
    # Neither a path on the host nor a secret
    assert str(folder) not in text and "secret-value" not in text


def test_unenforced_fields_are_not_mentioned(remit):
    text = instructions(remit, "--tier", "unsafe")
    for word in ("no network", "cannot be", "No other", "memory", "processor", "/workspace", "`pip` does"):
        assert word not in text, word
    assert "30 s of time" in text
    text = instructions(remit, "--memory", "unlimited", "--tier", "unsafe")
    assert "memory" not in text


def test_static_tier_mentions_no_tools(remit):
    text = instructions(remit, "--tier", "static", "--allow-import", "math", "--tool", "t=cat")
    assert "checked and not run" in text and "no others: `math`" in text and "Tools" not in text and "Limits" not in text


def test_session_instructions_mention_kept_state(any_remit):
    assert "persist from one to the next" in instructions(any_remit, "--session")


def test_described_tools_exist(remit):
    path = remit.file("weather.json", json.dumps(SCHEMA))
    flags = (
        "--tool", "weather=cat", "--tool-help", "weather=Says what the weather will be.", "--tool-schema", f"weather={path}",
        "--tool", "note=cat", "--tool-approval", "note=first", "--tool-calls", "50",
    )  # fmt: skip
    text = instructions(remit, *flags)
    assert "- `weather(city, days=...)`: Says what the weather will be.\n" in text
    assert json.loads(re.search(r"Arguments by JSON Schema: `(.*)`", text)[1]) == SCHEMA
    assert "- `note(...)` (A person must approve each call, and may refuse.)" in text
    assert "At most 50 calls, 16 at the same time, 1 MiB of arguments or of a result each." in text
    # The two calls that the text shows
    code = "import asyncio\nprint(await asyncio.gather(weather('Rome'), call_tool('weather', city='Oslo', days=2)))"
    done = remit("run", "--python", PYTHON, *flags, "-c", code)
    assert done.stdout == """['{"city": "Rome"}', '{"city": "Oslo", "days": 2}']\n""", done.stderr
    done = remit("run", "--python", PYTHON, *flags, "-c", "try: weather('Rome', 0)\nexcept ToolError as e: print(e)")
    assert done.stdout == "weather: arguments.days: must be at least 1\n", done.stderr


@pytest.mark.parametrize(
    "flags,code,words",
    [
        (("--tier", "vm"), 125, "not built yet"),
        (("--nonsense",), 2, "--nonsense"),
        (("--tool", "t"), 2, "--tool: write NAME=COMMAND"),
    ],
)
def test_unenforceable_policy_is_refused(any_remit, flags, code, words):
    done = any_remit("instructions", *flags)
    assert done.returncode == code and words in done.stderr and done.stdout == "", done
