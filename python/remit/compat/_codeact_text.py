"""The instructions for models about execute_code. They contain no paths of the host and no values of variables."""

from __future__ import annotations

import json
from typing import Any, List, Mapping, Optional, Sequence, Union

from ._codeact import OUTPUT, AllowedDomain, FileMount

HOW = """Each call runs a fresh CPython process in a jail: only files in read-write mounts are kept between calls. The code may
use the whole language, and `await` at its top level. You get back what it prints, the value of its last expression, and
the error if it fails."""

TOOLS = """Registered tools are defined as functions; there is nothing to import. Await them and name the arguments:
`result = await tool_name(param=value)`. `await call_tool("tool_name", param=value)` is the same. To call several at once,
use `import asyncio`: `a, b = await asyncio.gather(tool_a(...), tool_b(...))`. A tool that fails raises `ToolError`, which
can be caught."""

HIDDEN = "Registered tools are not exposed separately: use `execute_code` when you need them."
VISIBLE = "Some tools may also be exposed directly; prefer `execute_code` to combine them with loops, conditions and data."


def _parameter(name: str, schema: Mapping[str, Any], is_required: bool) -> str:
    words = str(schema.get("type", "any"))
    text = f"  - `{name}` ({words}, {'required' if is_required else 'optional'})"
    if schema.get("description"):
        text += f": {schema['description']}"
    if "enum" in schema:
        text += f" One of {json.dumps(schema['enum'])}."
    if schema.get("default") is not None:
        text += f" Default: {json.dumps(schema['default'])}."
    return text


def _tool(name: str, tool: Any, form: str) -> List[str]:
    lines = [f"- `{name}`: {str(tool.description or '').strip() or 'No description.'}"]
    schema = tool.parameters()
    properties = schema.get("properties", {})
    if form == "json":
        return [*lines, "  Parameters (JSON Schema):", f"  {json.dumps(schema)}"]
    if not properties:
        return [*lines, "  Parameters: none."]
    return lines + [_parameter(key, value, key in schema.get("required", ())) for key, value in properties.items()]


def tools_text(tools: Mapping[str, Any], form: Union[str, Mapping[str, str]]) -> str:
    if not tools:
        return "No tools are registered."
    lines = []
    for name, tool in tools.items():
        lines += _tool(name, tool, form if isinstance(form, str) else form.get(tool.name, "compact"))
    return "\n".join(lines)


def files_text(mounts: Sequence[FileMount], has_output: bool, workspace: str) -> str:
    if not mounts:
        return f"The code cannot access files of the host. The current folder, `{workspace}`, is empty at first and removed after the call."
    lines = [f"The code can use these folders, besides `{workspace}`, which is removed after the call:"]
    for mount in mounts:
        limit = f", at most {mount.write_bytes_limit} bytes written" if mount.write_bytes_limit else ""
        lines.append(f"- `{mount.mount_path}` ({mount.mode}{limit})")
    given_back = [mount.mount_path for mount in mounts if mount.mode == "read-write"]
    if has_output:
        given_back.append(OUTPUT)
        lines.append(f"- `{OUTPUT}` (empty at first)")
    if given_back:
        lines.append(f"Files written to {', '.join(f'`{path}`' for path in given_back)} are returned as attached files.")
    return "\n".join(lines)


def network_text(domains: Sequence[AllowedDomain], is_open: Optional[str]) -> str:
    if is_open:
        return is_open
    if not domains:
        return "The code has no network."
    lines = ["The code can only reach these hosts:"]
    lines += [f"- `{domain.target}`" + (f": {', '.join(domain.methods)}" if domain.methods else "") for domain in domains]
    return "\n".join(lines)


def instructions(tools: str, files: str, network: str, timeout: str, is_visible: bool) -> str:
    return (
        "You have one primary tool: `execute_code`. It runs Python.\n\n"
        f"{HOW}\nA call may take {timeout}, not counting the time of tools.\n\n{TOOLS}\n\n"
        f"Registered tools:\n{tools}\n\nFiles:\n{files}\n\nNetwork:\n{network}\n\n"
        f"Prefer one call with several steps for each request.\n\n{VISIBLE if is_visible else HIDDEN}\n"
    )


def description(tools: str, files: str, network: str) -> str:
    return f"Execute Python in a jail.\n\n{HOW}\n\n{TOOLS}\n\nRegistered tools:\n{tools}\n\nFiles:\n{files}\n\nNetwork:\n{network}\n"
