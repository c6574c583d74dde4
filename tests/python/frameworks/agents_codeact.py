"""remit.compat.agent_framework with the real agent-framework: the tool alone, and the provider in an Agent."""

from __future__ import annotations

import asyncio
import base64
import contextvars
import json
import os
import time
import warnings
from typing import Annotated, Literal, NamedTuple

import pytest
import remit
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    ContextProvider,
    FunctionInvocationLayer,
    FunctionTool,
    Message,
    tool,
)
from pydantic import BaseModel
from remit.compat._codeact import run_policy
from remit.compat._codeact_run import _read
from remit.compat.agent_framework import (
    AllowedDomain,
    FileMount,
    ProcessExecutionLimits,
    RemitCodeActProvider,
    RemitExecuteCodeTool,
)


@tool
def add(a: int, b: int) -> int:
    """The sum.

    It is a whole number.
    """
    CALLS.append((a, b))
    return a + b


@tool
async def slow(n: int) -> int:
    """The same number, later."""
    return n


@tool(approval_mode="always_require")
def send(to: str) -> str:
    """Send something."""
    return f"sent to {to}"


class Point(BaseModel):
    x: int


class Where(BaseModel):
    kind: Literal["a", "b"] = "a"
    tags: list[str] = []


CALLS: list[tuple[int, int]] = []


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


def run(given, code: str) -> list[Content]:
    given = given if isinstance(given, FunctionTool) else RemitExecuteCodeTool(**given)
    return asyncio.run(given.invoke(arguments={"code": code}))


def texts(contents: list[Content]) -> list[str]:
    return [c.text for c in contents if c.type == "text"]


def files(contents: list[Content]) -> dict[str, tuple[str, bytes]]:
    return {
        c.additional_properties["path"]: (c.media_type, base64.b64decode(c.uri.split(",", 1)[1]))
        for c in contents
        if c.type == "data" and "path" in c.additional_properties
    }


def error(contents: list[Content]) -> str:
    (one,) = [c for c in contents if c.type == "error"]
    assert contents[-1] is one
    return f"{one.message}: {one.error_details}"


# ---- what a call returns ----


def test_printed_text_and_the_last_value_are_returned():
    assert texts(run({}, "print('hello world')\n1 + 2")) == ["hello world\n", "3"]
    assert texts(run({}, "{'a': [1.5, None, 'ü']}")) == ['{"a": [1.5, null, "ü"]}']
    assert texts(run({}, "x = 1")) == ["The code ran and printed nothing."]
    assert texts(run({}, "print('only')")) == ["only\n"], "None is not shown as a value"
    assert texts(run({}, "object.__new__(type('C', (), {'__repr__': lambda s: 'mine'}))")) == ["mine"]
    assert texts(run({}, "if __name__ == '__main__':\n    class C: pass\n    with open('f', 'w') as f: print('whole language')")) == ["whole language\n"]


def test_each_call_is_a_fresh_process():
    one = RemitExecuteCodeTool()
    run(one, "x = 1; open('f', 'w').write('x')")
    assert "NameError" in error(run(one, "x")) and "FileNotFoundError" in error(run(one, "open('f')"))


def test_standard_error_is_marked():
    out, err = run({}, "import sys\nprint('out')\nprint('err', file=sys.stderr)")
    assert out.text == "out\n" and err.text == "err\n" and err.additional_properties["stream"] == "stderr"


def test_failure_is_one_error_after_the_output():
    contents = run({}, "print('so far')\n1 / 0")
    assert texts(contents) == ["so far\n"] and len(contents) == 2
    assert error(contents).startswith("Execution error: ZeroDivisionError: division by zero") and "line 2" in error(contents)
    assert contents[-1].error_code == "error"


def test_timeout_is_one_error_and_prompt():
    for limits in ({"execution_limits": ProcessExecutionLimits(timeout_seconds=0.2)}, {"resource_limits": {"max_duration_secs": 0.2}}):
        begun = time.monotonic()
        contents = run(limits, "while True: pass")
        assert [c.type for c in contents] == ["error"] and contents[0].error_code == "timeout"
        assert "TimeoutError: the code took longer than 0.2 seconds" in error(contents)
        assert time.monotonic() - begun < 30, "Remit's default timeout is 30 seconds"


def test_crash_and_memory_limit_are_errors():
    assert "Execution error" in error(run({}, "import os; os._exit(3)"))
    contents = run({"memory": "300M"}, "x = bytearray(1 << 30)")
    assert "MemoryError" in error(contents)


def test_output_has_a_limit():
    (one,) = run({"execution_limits": ProcessExecutionLimits(max_stdout_bytes=8192)}, "print('x' * 100_000)")
    assert one.text.endswith("[stdout truncated]") and len(one.text) < 8300
    assert "(limit 20)" in error(run({"execution_limits": ProcessExecutionLimits(max_code_bytes=20)}, "x = 1" + " " * 20))


def test_invalid_code_is_an_error():
    for code, words in (("", "the code is empty"), (" \n", "the code is empty"), ("x = '\ud800'", "not valid text"), ("x = (", "SyntaxError")):
        assert words in error(run({}, code))


def test_images_are_returned():
    contents = run({}, "class Image:\n    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n'\nImage()")
    assert [c.media_type for c in contents if c.type == "data"] == ["image/png"]


def test_denials_are_reported():
    contents = run({}, "import socket\ntry: socket.socket()\nexcept OSError: print('refused')")
    assert contents[0].text == "refused\n" and contents[-1].text.startswith("[denied: socket(")
    contents = run({}, "import os\nos.listdir('/root')")
    assert "PermissionError" in error(contents) or "FileNotFoundError" in error(contents)


# ---- tools ----


def test_tools_are_called_by_name_and_by_call_tool():
    one = RemitExecuteCodeTool(tools=[add])
    assert texts(run(one, "await add(a=1, b=2)")) == ["3"]
    assert texts(run(one, "await call_tool('add', a=2, b=2)")) == ["4"]
    assert texts(run(one, "call_tool('add', a=3, b=2)")) == ["5"], "synchronous code need not await"
    assert texts(run(one, "import asyncio\nprint(await asyncio.gather(add(a=1, b=2), add(a=3, b=4)))")) == ["[3, 7]\n"]
    assert sorted(CALLS) == [(1, 2), (1, 2), (2, 2), (3, 2), (3, 4)]


def test_concurrent_calls_do_not_wait_for_each_other():
    here, both = [], asyncio.Event()

    @tool
    async def meet(n: int) -> int:
        """Waits for the other."""
        here.append(n)
        if len(here) == 2:
            both.set()
        await asyncio.wait_for(both.wait(), 60)
        return n

    contents = run({"tools": [meet]}, "import asyncio\nawait asyncio.gather(meet(n=1), meet(n=2))")
    assert texts(contents) == ["[1, 2]"]


def test_wrong_arguments_do_not_reach_the_tool():
    one = RemitExecuteCodeTool(tools=[add])
    for arguments in ("a='x', b=1", "a=1", "a=1, b=2, c=3", "a=1.5, b=1"):
        assert "ToolError" in error(run(one, f"await add({arguments})")), arguments
    assert CALLS == []
    assert "NameError" in error(run(one, "await missing(a=1)"))
    assert "missing" in error(run(one, "await call_tool('missing')"))


def test_tool_exceptions_can_be_caught():
    def fail(how: str) -> str:
        raise LookupError(f"no {how}")

    one = RemitExecuteCodeTool(tools=fail)
    assert "ToolError: fail: LookupError: no way" in error(run(one, "await fail(how='way')"))
    assert texts(run(one, "try: await fail(how='x')\nexcept ToolError as e: print(e.tool, e.message)")) == ["fail LookupError: no x\n"]


def test_tool_values_are_native_and_result_parsers_are_not_called():
    @tool(result_parser=lambda value: f"parsed {value}")
    def rows() -> dict:
        return {"rows": [1, 2]}

    @tool
    def point(where: Where, size: Annotated[int, "how large"] = 1) -> Point:
        """A point."""
        return Point(x=size + len(where["tags"]))

    one = RemitExecuteCodeTool(tools=[rows, point])
    assert texts(run(one, "(await rows())['rows'][1]")) == ["2"]
    assert texts(run(one, "await point(where={'kind': 'b', 'tags': ['q']}, size=4)")) == ['{"x": 5}']
    assert "ToolError" in error(run(one, "await point(where={'kind': 'c'})"))


def test_tools_run_in_the_loop_and_in_the_context_of_the_call():
    """So the tracing span of a tool is below that of execute_code, and clients that are bound to the loop work."""
    who = contextvars.ContextVar("who", default="nobody")
    seen = []

    @tool
    async def look() -> None:
        seen.append((who.get(), asyncio.get_running_loop()))

    async def main():
        who.set("execute_code")
        await RemitExecuteCodeTool(tools=[look]).invoke(arguments={"code": "await look()"})
        return asyncio.get_running_loop()

    loop = asyncio.run(main())
    assert seen == [("execute_code", loop)]


def test_hanging_tool_is_cancelled_with_the_run():
    over = []

    @tool
    async def hang() -> None:
        try:
            await asyncio.sleep(600)  # it hangs
        finally:
            over.append(True)

    async def main():
        contents = await RemitExecuteCodeTool(tools=[hang], timeout=4, tool_wait=0.1).invoke(arguments={"code": "await hang()"})
        end = time.monotonic() + 60
        while not over and time.monotonic() < end:
            await asyncio.sleep(0.01)  # polls
        # Copied before the loop ends, which would cancel the tool as well.
        return contents, list(over)

    contents, cancelled = asyncio.run(main())
    assert "TimeoutError" in error(contents) and cancelled == [True]


def test_event_loop_stays_responsive():
    async def main():
        ticks = 0
        task = asyncio.ensure_future(RemitExecuteCodeTool().invoke(arguments={"code": "import time\nfor _ in range(10): time.sleep(0.1)"}))
        while not task.done():
            await asyncio.sleep(0.01)  # lets the loop run
            ticks += 1
        return ticks

    assert asyncio.run(main()) > 3, "the loop runs during the call too"


def test_tool_names_become_function_names():
    @tool(name="get-weather")
    def weather(city: str) -> str:
        """Returns the weather."""
        return f"rain in {city}"

    one = RemitExecuteCodeTool(tools=[weather])
    assert "`get_weather`" in one.description and texts(run(one, "await get_weather(city='Oslo')")) == ['"rain in Oslo"']
    with pytest.raises(ValueError, match="'get-weather' and 'get_weather' would both be called get_weather"):
        one.add_tools(tool(name="get_weather")(lambda city: "x"))
    assert [t.name for t in one.get_tools()] == ["get-weather"], "a refused tool changes nothing"


# ---- configuration ----


def test_tools_can_be_added_and_removed():
    one = RemitExecuteCodeTool(tools=[add])
    one.add_tools([slow, add, one])
    assert [t.name for t in one.get_tools()] == ["slow", "add"], "the last tool of a name wins; execute_code itself is never added"
    other = FunctionTool(name="add", description="Another.", func=lambda a: a, input_model={"type": "object", "properties": {"a": {"type": "integer"}}})
    one.add_tools(other)
    assert one.get_tools()[-1] is other and "Another." in one.description
    one.remove_tool("slow")
    with pytest.raises(KeyError, match="no tool is called 'slow'"):
        one.remove_tool("slow")
    one.clear_tools()
    assert one.get_tools() == [] and "No tools are registered" in one.description


@pytest.mark.parametrize(
    "mode, tools, wanted",
    [
        (None, [], "never_require"), (None, [add], "never_require"), (None, [add, send], "always_require"),
        ("never_require", [send], "always_require"), ("always_require", [], "always_require"), ("always_require", [add], "always_require"),
    ],
)  # fmt: skip
def test_strictest_approval_mode_wins(mode, tools, wanted):
    assert RemitExecuteCodeTool(tools=tools, approval_mode=mode).approval_mode == wanted


def test_approval_follows_the_tools():
    one = RemitExecuteCodeTool()
    one.add_tools(send)
    assert one.approval_mode == "always_require"
    one.remove_tool("send")
    assert one.approval_mode == "never_require"
    assert RemitExecuteCodeTool(approval_mode="always_require").create_run_tool().approval_mode == "always_require"


def test_mounts_are_normalised(tmp_path):
    one = RemitExecuteCodeTool(file_mounts=str(tmp_path))
    assert one.get_file_mounts() == [FileMount(tmp_path, str(tmp_path), "overlay", None)]
    one.add_file_mounts((tmp_path, "data\\x/./y"))
    one.add_file_mounts([(str(tmp_path), "/b"), FileMount(tmp_path, "/b/", "read-only", None)])
    assert [(m.mount_path, m.mode) for m in one.get_file_mounts()] == [(str(tmp_path), "overlay"), ("/data/x/y", "overlay"), ("/b", "read-only")]
    one.remove_file_mount("b")
    with pytest.raises(KeyError, match="nothing is mounted at '/b'"):
        one.remove_file_mount("/b")
    one.clear_file_mounts()
    assert one.get_file_mounts() == []


def test_wrong_mounts_are_refused(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    for wrong, words in (
        ((tmp_path, ""), "must not be empty"), ((tmp_path, "/a/../b"), "'..'"), ((tmp_path, "/."), "below /"),
        ((tmp_path / "none", "/a"), "existing folder"), ((tmp_path / "file", "/a"), "existing folder"), ((tmp_path / "link", "/a"), "symbolic link"),
        (FileMount(tmp_path, "/a", "rw"), "'overlay', 'read-only', 'read-write'"), (FileMount(tmp_path, "/a", "overlay", 0), "above 0"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            RemitExecuteCodeTool(file_mounts=wrong)
    with pytest.raises(TypeError, match="a file mount must be"):
        RemitExecuteCodeTool(file_mounts=[3])
    with pytest.raises(ValueError, match="symbolic link"):
        RemitExecuteCodeTool(workspace_root=tmp_path / "link")


def test_allowed_domains_are_normalised_and_replaced():
    one = RemitExecuteCodeTool(allowed_domains="API.Example.com")
    one.add_allowed_domains([("http://api.example.com", "get"), AllowedDomain("http://api.example.com/", ("POST", "get")), "https://b.example.org", "c.example.org:8443"])
    assert one.get_allowed_domains() == [
        AllowedDomain("api.example.com"), AllowedDomain("api.example.com:80", ("GET", "POST")), AllowedDomain("b.example.org:443"),
        AllowedDomain("c.example.org:8443"),
    ]  # fmt: skip
    one.add_allowed_domains(("d.example.org", "e.example.org"))
    assert len(one.get_allowed_domains()) == 6, "a tuple of two hosts is not read as a host with methods"
    one.remove_allowed_domain("https://B.example.org/")
    with pytest.raises(KeyError, match="no allowed domain"):
        one.remove_allowed_domain("b.example.org:443")
    one.clear_allowed_domains()
    assert one.get_allowed_domains() == []


def test_unenforceable_domains_are_refused():
    for wrong, words in (
        ("https://api.example.com/v1", "A path cannot be enforced"), ("", "must be a host"), ("a b", "must be a host"), ("ftp://x.org", "must be a host"),
        (("http://x.org", []), "at least one"), (("http://x.org", "GET /"), "not"), (("x.org", "GET"), "requests in TLS cannot be inspected"),
        (("https://x.org", ["GET"]), "requests in TLS"),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=words):
            RemitExecuteCodeTool(allowed_domains=[wrong])


def test_other_wrong_options_are_refused():
    for options, words in (
        ({"approval_mode": "sometimes"}, "approval_mode='sometimes': it must be one of"), ({"execution_mode": "thread"}, "'subprocess', 'unsafe_in_process'"),
        ({"runner_script": "r.py"}, "not supported"), ({"resource_limits": {"max_allocations": 5}}, "'max_allocations' cannot be enforced"),
        ({"max_output_files": 0}, "max_output_files=0"), ({"tool_description_format": "xml"}, "'compact', 'json'"),
        ({"memory": -1}, "memory=-1"), ({"execution_limits": ProcessExecutionLimits(timeout_seconds=-1)}, "timeout=-1"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            RemitExecuteCodeTool(**options)
    with pytest.raises(TypeError, match="must be a function or a FunctionTool, not dict"):
        RemitExecuteCodeTool(tools=[{"type": "web_search"}])
    with pytest.raises(TypeError, match='unknown field "memroy"'):
        RemitExecuteCodeTool(memroy="1G")
    with pytest.raises(remit.Unenforceable):
        run({"tier": "vm"}, "print(1)")


def test_limits_have_the_defaults_of_local_codeact():
    limits = RemitExecuteCodeTool().execution_limits
    assert (limits.timeout_seconds, limits.max_code_bytes, limits.max_result_bytes) == (10.0, 65536, 131072)
    assert (limits.max_stdout_bytes, limits.max_stderr_bytes) == (65536, 65536)
    assert (limits.max_captured_file_bytes, limits.max_total_captured_file_bytes) == (5 << 20, 25 << 20)


# ---- files ----


def test_workspace_is_read_written_and_returned(tmp_path):
    (tmp_path / "in.txt").write_text("given")
    one = RemitExecuteCodeTool(workspace_root=tmp_path)
    contents = run(one, "open('/input/out.csv', 'w').write('1,2')\nopen('/input/in.txt').read()")
    assert texts(contents) == ['"given"'] and files(contents) == {"/input/out.csv": ("text/csv", b"1,2")}
    assert (tmp_path / "out.csv").read_text() == "1,2"
    assert files(run(one, "open('/input/in.txt', 'w').write('changed')")) == {"/input/in.txt": ("text/plain", b"changed")}
    assert files(run(one, "open('/input/in.txt').read()")) == {}, "unchanged files are not returned"


def test_output_is_empty_at_first_and_returned(tmp_path):
    one = RemitExecuteCodeTool(file_mounts=FileMount(tmp_path, "/data", "read-only"))
    before = set(os.listdir("/tmp"))
    contents = run(one, "import os\nprint(os.listdir('/output'))\nos.makedirs('/output/a')\nopen('/output/a/out.txt', 'w').write('x')")
    assert texts(contents)[0] == "[]\n" and files(contents) == {"/output/a/out.txt": ("text/plain", b"x")}
    assert texts(run(one, "import os\nos.listdir('/output')")) == ["[]"]
    assert not [n for n in set(os.listdir("/tmp")) - before if n.startswith("remit-output-")], "nothing is left"
    assert "FileNotFoundError" in error(run({}, "open('/output/x', 'w')")), "/output exists only with files or mounts"


def test_mount_modes_are_enforced(tmp_path):
    for mode in ("overlay", "read-only", "read-write"):
        (tmp_path / mode).mkdir()
        (tmp_path / mode / "f").write_text("old")
    one = RemitExecuteCodeTool(file_mounts=[FileMount(tmp_path / mode, f"/{mode}", mode) for mode in ("overlay", "read-only", "read-write")])
    contents = run(one, "for mode in ('overlay', 'read-only', 'read-write'):\n    try:\n        open(f'/{mode}/f', 'w').write('new'); print(open(f'/{mode}/f').read())\n    except OSError: print('refused')")
    assert texts(contents)[0] == "new\nrefused\nnew\n" and list(files(contents)) == ["/read-write/f"]
    assert [(tmp_path / mode / "f").read_text() for mode in ("overlay", "read-only", "read-write")] == ["old", "old", "new"]


def test_failed_run_writes_and_returns_nothing(tmp_path):
    contents = run({"workspace_root": tmp_path}, "open('/input/f', 'w').write('x')\n1 / 0")
    assert files(contents) == {} and list(tmp_path.iterdir()) == [] and "ZeroDivisionError" in error(contents)


def test_only_plain_files_are_returned(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "planted").symlink_to(secret)
    code = """
import os
try: print(open('/input/planted').read())
except OSError: print('not read')
os.symlink('/etc/passwd', '/input/link')
os.mkdir('/input/d')
open('/input/d/one', 'w').write('1')
os.link('/input/d/one', '/input/two')
open('/input/real', 'w').write('real')
try: os.mkfifo('/output/fifo')
except OSError: pass
"""
    contents = run({"workspace_root": root}, code)
    assert texts(contents)[0] == "not read\n" and list(files(contents)) == ["/input/real"]
    left_out = "\n".join(texts(contents))
    assert "[file /input/link omitted: a symbolic link]" in left_out and "hard links" in left_out
    assert "secret" not in left_out and sorted(p.name for p in root.iterdir() if not p.is_symlink()) == ["d", "real"]


def test_files_are_read_without_following_links(tmp_path):
    """The jail has ended by then, but the folder belongs to the host, and other processes may write to it."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("text")
    (tmp_path / "l").symlink_to(tmp_path / "d")
    (tmp_path / "d" / "link").symlink_to(tmp_path / "d" / "f")
    (tmp_path / "one").write_text("x")
    os.link(tmp_path / "one", tmp_path / "two")
    os.mkfifo(tmp_path / "fifo")
    assert _read(str(tmp_path), "d/f", 4) == b"text"
    for path, most in (("d/f", 3), ("l/f", 9), ("d/link", 9), ("two", 9), ("fifo", 9), ("d", 9), ("none", 9), ("../x", 9)):
        assert _read(str(tmp_path), path, most) is None, path
    assert _read(str(tmp_path / "l"), "f", 9) is None


def test_mounts_of_other_providers_are_accepted(tmp_path):
    class Foreign(NamedTuple):
        host_path: str
        mount_path: str

    assert RemitExecuteCodeTool(file_mounts=[Foreign(str(tmp_path), "/m")]).get_file_mounts() == [FileMount(tmp_path, "/m")]


def test_returned_files_have_limits(tmp_path):
    write = "for name, size in (('a', 10), ('b', 300), ('c', 60), ('d', 60)): open(f'/output/{name}', 'w').write('x' * size)"
    contents = run({"workspace_root": tmp_path, "max_output_file_bytes": 200, "max_output_total_bytes": 100}, write)
    assert list(files(contents)) == ["/output/a", "/output/c"], "later files that fit are returned"
    assert "[file /output/b omitted" in "".join(texts(contents)) and "[file /output/d omitted" in "".join(texts(contents))
    contents = run({"workspace_root": tmp_path, "max_output_files": 1}, write)
    assert len(files(contents)) == 1 and "too many files for one call" in "".join(texts(contents))
    limited = FileMount(tmp_path, "/m", "read-write", 1 << 20)
    contents = run({"file_mounts": limited}, "open('/m/a', 'w').write('x')\nopen('/m/b', 'w').write('x' * (2 << 20))")
    assert "No space left" in error(contents), "the limit of a mount is enforced while the code writes"
    assert list(tmp_path.iterdir()) == []


def test_exported_artifacts_are_returned():
    contents = run({"export": ["*.csv"]}, "open('a.csv', 'w').write('1'); open('b.txt', 'w').write('2')")
    assert files(contents) == {"/workspace/a.csv": ("text/csv", b"1")}


# ---- network and environment ----


def test_network_has_only_the_allowed_domains():
    code = "import socket\nfor name in ('api.example.com', 'other.example.com'):\n    try: socket.gethostbyname(name); print('known')\n    except OSError: print('unknown')"
    assert texts(run({}, code))[0] == "unknown\nunknown\n"
    one = RemitExecuteCodeTool(allowed_domains=["https://api.example.com"], memory_fallback="per_process")
    assert texts(run(one, code))[0] == "known\nunknown\n"
    assert "`api.example.com:443`" in one.description and "The code has no network" in RemitExecuteCodeTool().description


def test_allowed_domain_becomes_network_allow_entries():
    def entries(*domains):
        setup = RemitExecuteCodeTool(allowed_domains=list(domains), memory_fallback="per_process")._setup()
        policy = run_policy(setup.policy, (), setup.domains)
        assert remit.explain(policy), "the keeper accepts it"
        return policy["network_allow"]

    assert entries("a.example.com") == ["a.example.com:443", "a.example.com:80"], "both ports without a scheme"
    assert entries("https://a.example.com", ("http://b.example.com", ["get", "HEAD"])) == ["a.example.com:443", "b.example.com:80:methods=GET+HEAD"]


def test_environment_has_only_the_given_variables(monkeypatch):
    monkeypatch.setenv("HOST_SECRET", "x")
    one = RemitExecuteCodeTool(env={"VISIBLE": "yes"})
    assert texts(run(one, "import os\n[os.environ.get(n) for n in ('VISIBLE', 'HOST_SECRET')]")) == ['["yes", null]']
    state = one.build_serializable_state()
    assert state["env_keys"] == ["VISIBLE"] and "yes" not in json.dumps(state)


# ---- the validator ----


def test_validator_lists_match_local_codeact():
    strict = RemitExecuteCodeTool(validator="strict")
    for code in ("import math\nmath.pi", "import os\nos.environ.get('A')", "import os.path", "[n for n in range(3)]", "import json\njson.dumps({})", "print('x')", "import pathlib"):
        assert [c.type for c in run(strict, code)] == ["text"], code
    for code in ("import subprocess", "import socket", "import requests", "eval('1')", "__import__('os')", "globals()", "import os\nos.system('x')", "from os import system", "import os as o\no.popen('x')", "import os\np = os\np.listdir('.')"):
        text = error(run(strict, code))
        assert text.startswith("Invalid code: line "), (code, text)
    assert "os.system" in error(run(strict, "import os\nos.system('x')"))
    one = RemitExecuteCodeTool(allowed_imports={"math"}, blocked_builtins={"open"})
    assert "Invalid code" in error(run(one, "import json")) and "Invalid code" in error(run(one, "open('x')"))
    assert texts(run(one, "import math\nmath.floor(1.5)")) == ["1"]
    os_only = RemitExecuteCodeTool(allowed_os_attrs={"getpid"})
    assert texts(run(os_only, "import os\nos.getpid()")) == ["2"] and "Invalid code" in error(run(os_only, "import os\nos.environ"))


def test_interpreter_can_be_chosen():
    import sys

    assert texts(run({"python_executable": "/usr/bin/python3"}, "import sys\nsys.executable"))[0].strip('"').startswith("/usr/bin/python3")
    assert RemitExecuteCodeTool(python_executable=sys.executable).build_serializable_state()["python_executable"] == sys.executable


# ---- without a jail ----


def test_unsafe_in_process_must_be_named_and_warns():
    with pytest.warns(UserWarning, match="has no wall"):
        one = RemitExecuteCodeTool(execution_mode="unsafe_in_process", tools=[add])
    with pytest.warns(UserWarning, match="has no wall"):
        short = RemitExecuteCodeTool(execution_mode="unsafe_in_process", execution_limits=ProcessExecutionLimits(timeout_seconds=0.2))
    with pytest.warns(UserWarning, match="has no wall"):
        RemitCodeActProvider(execution_mode="unsafe_in_process")
    assert texts(run(one, "import os\nprint('here')\nos.getpid()")) == ["here\n", str(os.getpid())]
    assert texts(run(one, "await asyncio.gather(add(a=1, b=2), call_tool('add', a=3, b=4))")) == ["[3, 7]"]
    assert "TimeoutError" in error(run(short, "await asyncio.sleep(600)")) and "ZeroDivisionError" in error(run(one, "1 / 0"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RemitExecuteCodeTool()


# ---- texts and state ----


def test_schema_and_description_list_the_tools():
    one = RemitExecuteCodeTool(tools=[add])
    assert one.name == "execute_code" and one.parameters()["required"] == ["code"]
    assert "- `add`: The sum." in one.description and "`a` (integer, required)" in one.description and "call_tool" in one.description
    assert one.to_dict()["description"] == one.description
    assert '"type": "object"' in RemitExecuteCodeTool(tools=[add], tool_description_format={"add": "json"}).description


def test_instructions_describe_the_configuration(tmp_path):
    one = RemitExecuteCodeTool(tools=[add], workspace_root=tmp_path, file_mounts=FileMount(tmp_path, "/ro", "read-only"))
    text = one.build_instructions(tools_visible_to_model=False)
    assert "`/input` (read-write)" in text and "`/ro` (read-only)" in text and "10 seconds" in text and "not exposed separately" in text
    assert str(tmp_path) not in text, "the model must not see paths of the host"
    assert "exposed directly" in one.build_instructions(tools_visible_to_model=True)
    assert "The code cannot access files of the host" in RemitExecuteCodeTool().build_instructions(tools_visible_to_model=True)


def test_serializable_state_is_json(tmp_path):
    one = RemitExecuteCodeTool(tools=[add, send], workspace_root=tmp_path, allowed_domains=("http://x.org", "GET"), resource_limits={"max_memory": 400 << 20})
    state = json.loads(json.dumps(one.build_serializable_state()))
    assert state["runtime"] == "remit" and state["tool_names"] == ["add", "send"] and state["approval_mode"] == "always_require"
    assert state["file_mounts"] == [{"host_path": str(tmp_path), "mount_path": "/input", "mode": "read-write", "write_bytes_limit": None}]
    assert state["allowed_domains"] == [{"target": "x.org:80", "methods": ["GET"]}] and state["network_enabled"] and state["filesystem_enabled"]
    assert state["policy"]["memory_bytes"] == 400 << 20 and state["limits"]["timeout_seconds"] == 10.0


# ---- in an agent ----


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """A model that runs one program after the other, and then repeats the last result."""

    def __init__(self, *codes: str):
        super().__init__()
        self.codes = list(codes)
        self.requests: list[dict] = []

    async def _answer(self, messages, options):
        self.requests.append(dict(options))
        if self.codes:
            call = Content.from_function_call(call_id=f"c{len(self.codes)}", name="execute_code", arguments={"code": self.codes.pop(0)})
            return ChatResponse(messages=[Message(role="assistant", contents=[call])])
        return ChatResponse(messages=[Message(role="assistant", contents=[str(messages[-1].contents[-1].result)])])

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        return self._answer(messages, options)


def test_provider_gives_the_agent_the_tool_and_its_instructions(tmp_path):
    provider = RemitCodeActProvider(tools=[add], workspace_root=tmp_path)
    assert isinstance(provider, ContextProvider) and provider.source_id == "remit_codeact"
    client = Scripted("open('/input/n', 'w').write('20')\nprint(await add(a=20, b=1))", "print(int(open('/input/n').read()) + await add(a=1, b=1))")

    async def main():
        agent = Agent(client=client, context_providers=[provider], tools=[slow])
        session = agent.create_session()
        return (await agent.run("go", session=session)).text, session

    text, session = asyncio.run(main())
    assert text == "22\n" and CALLS == [(20, 1), (1, 1)] and (tmp_path / "n").read_text() == "20"
    assert sorted(t.name for t in client.requests[0]["tools"]) == ["execute_code", "slow"], "tools of the provider are not tools of the agent"
    assert "You have one primary tool: `execute_code`" in client.requests[0]["instructions"]
    state = session.state["remit_codeact"]["remit_codeact"]
    assert state["tool_names"] == ["add"] and json.dumps(state)


def test_changes_apply_to_later_runs():
    provider = RemitCodeActProvider(tools=[add])

    def change() -> str:
        provider.clear_tools()
        provider.add_tools(slow)
        return "changed"

    provider.add_tools(change)
    client = Scripted("await change()", "print(await add(a=1, b=2))")
    agent = Agent(client=client, context_providers=[provider])
    assert asyncio.run(agent.run("go")).text == "3\n", "a run keeps the tools that it began with"
    assert [t.name for t in provider.get_tools()] == ["slow"]
    client.codes = ["print(await slow(n=5))"]
    assert asyncio.run(agent.run("go")).text == "5\n"


def test_provider_has_the_methods_of_the_tool(tmp_path):
    provider = RemitCodeActProvider("mine")
    provider.add_tools([add])
    provider.add_file_mounts((tmp_path, "/d"))
    provider.add_allowed_domains("x.org")
    assert provider.source_id == "mine" and [t.name for t in provider.get_tools()] == ["add"]
    assert provider.get_file_mounts()[0].mount_path == "/d" and provider.get_allowed_domains() == [AllowedDomain("x.org")]
    provider.remove_tool("add")
    provider.remove_file_mount("/d")
    provider.remove_allowed_domain("x.org")
    provider.clear_tools(), provider.clear_file_mounts(), provider.clear_allowed_domains()
    assert (provider.get_tools(), provider.get_file_mounts(), provider.get_allowed_domains()) == ([], [], [])


def test_approval_is_requested_before_anything_runs():
    client = Scripted("print(await send(to='ada'))")
    agent = Agent(client=client, context_providers=[RemitCodeActProvider(tools=[send])])

    async def main():
        session = agent.create_session()
        first = await agent.run("go", session=session)
        (request,) = first.user_input_requests
        assert request.function_call.name == "execute_code" and len(client.requests) == 1
        answer = Message(role="user", contents=[request.to_function_approval_response(True)])
        return (await agent.run(answer, session=session)).text

    assert asyncio.run(main()) == "sent to ada\n"
