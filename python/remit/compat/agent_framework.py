"""CodeAct for Microsoft's agent-framework on Remit, with the interface of its Hyperlight and Monty providers.

    from remit.compat.agent_framework import RemitCodeActProvider
    agent = Agent(client=client, context_providers=[RemitCodeActProvider(tools=[lookup], workspace_root="data")])
"""

from __future__ import annotations

import dataclasses
import keyword
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Collection, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union

from agent_framework import ContextProvider, FunctionTool, normalize_tools

from .._policy import Policy
from . import _codeact, _codeact_here, _codeact_text
from ._codeact import (
    WORKSPACE,
    AllowedDomain,
    AllowedDomainInput,
    ExecutionMode,
    FileMount,
    FileMountInput,
    MountMode,
    ProcessExecutionLimits,
)
from ._codeact_run import Setup, execute, has_output
from ._tool import time_allowed

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._fields import PolicyFields
    from .._policy import PolicyLike

__all__ = [
    "AllowedDomain", "AllowedDomainInput", "ExecutionMode", "FileMount", "FileMountInput", "MountMode", "ProcessExecutionLimits",
    "RemitCodeActProvider", "RemitExecuteCodeTool",
]  # fmt: skip

ApprovalMode = Literal["always_require", "never_require"]
DescriptionFormat = Union[Literal["compact", "json"], Mapping[str, Literal["compact", "json"]]]
ToolInput = Union[FunctionTool, Callable[..., Any], Sequence[Union[FunctionTool, Callable[..., Any]]]]

NAME = "execute_code"
SCHEMA: Dict[str, Any] = {
    "type": "object",
    "properties": {"code": {"type": "string", "description": "The Python program."}},
    "required": ["code"],
}
# Names that have another meaning in the code.
RESERVED = {"call_tool", "ToolError"}
OPEN_NETWORK = {True: "The code can reach any public host.", "host": "The code has the network of the host."}

if TYPE_CHECKING:

    class CodeActOptions(PolicyFields, total=False):
        """The keywords of RemitExecuteCodeTool() and RemitCodeActProvider()."""

        tools: Optional[ToolInput]
        approval_mode: Optional[ApprovalMode]
        workspace_root: Optional[Union[str, Path]]
        file_mounts: Union[FileMountInput, Sequence[FileMountInput], None]
        allowed_domains: Union[AllowedDomainInput, Sequence[AllowedDomainInput], None]
        execution_limits: Optional[ProcessExecutionLimits]
        resource_limits: Optional[Mapping[str, Any]]
        max_output_files: int
        max_output_file_bytes: Optional[int]
        max_output_total_bytes: Optional[int]
        tool_description_format: DescriptionFormat
        execution_mode: ExecutionMode
        python_executable: Union[str, Path, None]
        runner_script: Union[str, Path, None]
        allowed_imports: Optional[Collection[str]]
        blocked_imports: Optional[Collection[str]]
        allowed_builtins: Optional[Collection[str]]
        blocked_builtins: Optional[Collection[str]]
        allowed_os_attrs: Optional[Collection[str]]
        policy: PolicyLike


def _collect(*groups: Any) -> Dict[str, Any]:
    """Collect tools by name. A later tool replaces an earlier one, and execute_code itself is left out."""
    out: Dict[str, Any] = {}
    for group in groups:
        for tool in normalize_tools(group):
            if not isinstance(tool, FunctionTool):
                raise TypeError(f"a tool of the code must be a function or a FunctionTool, not {type(tool).__name__}")
            if tool.name != NAME:
                out.pop(tool.name, None)
                out[tool.name] = tool
    return out


def _inside(tools: Mapping[str, Any]) -> Dict[str, Any]:
    """The tools by their names in the code, which must be identifiers."""
    out: Dict[str, Any] = {}
    for name, tool in tools.items():
        made = re.sub(r"\W", "_", name)
        made = f"_{made}" if made[:1].isdigit() else made
        made = f"{made}_" if keyword.iskeyword(made) or made in RESERVED else made
        if made in out:
            raise ValueError(f"the tools {out[made].name!r} and {name!r} would both be called {made} in the code: rename one")
        out[made] = tool
    return out


def _choice(name: str, value: Any, *choices: str) -> Any:
    if value not in choices:
        raise ValueError(f"{name}={value!r}: it must be one of {', '.join(map(repr, choices))}")
    return value


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name}={value!r}: it must be a whole number above 0")
    return int(value)


def _format(given: DescriptionFormat) -> DescriptionFormat:
    if isinstance(given, str):
        return _choice("tool_description_format", given, "compact", "json")  # type: ignore[no-any-return]
    if not isinstance(given, Mapping):
        raise TypeError("tool_description_format must be 'compact', 'json' or a mapping of these by tool name")
    return {str(name): _choice(f"tool_description_format[{name!r}]", one, "compact", "json") for name, one in given.items()}


class _Surface:
    """The settings of execute_code: tools, mounts, domains and limits, which can be changed between runs.

    tools: functions of the host that the code may call; the model does not see them otherwise.
    approval_mode: "always_require" asks before every call. By default this applies if any of the tools requires it.
    workspace_root: a folder that is mounted read-write at /input.
    file_mounts: other folders: a path, (host path, mount path) or a FileMount. With any of these folders, the code also
        gets /output, whose files are returned.
    allowed_domains: hosts that the code may reach (default: none).
    execution_limits: limits of one call, see ProcessExecutionLimits. resource_limits: max_duration_secs and max_memory.
    max_output_files, max_output_file_bytes, max_output_total_bytes: limits of returned files.
    tool_description_format: "compact" or "json", for all tools or by name.
    execution_mode: "subprocess" is a jail; "unsafe_in_process" has no isolation, is only for debugging, and warns.
    python_executable: the interpreter (default: the current one).
    allowed_imports, blocked_imports, allowed_builtins, blocked_builtins, allowed_os_attrs: lists for Remit's validator,
        which is off if no list is given.
    policy, and all other keywords: fields of a policy, as in remit.run(). They override the limits.
    """

    def _configure(
        self,
        *,
        tools: Optional[ToolInput] = None,
        approval_mode: Optional[ApprovalMode] = None,
        workspace_root: Optional[Union[str, Path]] = None,
        file_mounts: Union[FileMountInput, Sequence[FileMountInput], None] = None,
        allowed_domains: Union[AllowedDomainInput, Sequence[AllowedDomainInput], None] = None,
        execution_limits: Optional[ProcessExecutionLimits] = None,
        resource_limits: Optional[Mapping[str, Any]] = None,
        max_output_files: int = 20,
        max_output_file_bytes: Optional[int] = None,
        max_output_total_bytes: Optional[int] = None,
        tool_description_format: DescriptionFormat = "compact",
        execution_mode: ExecutionMode = "subprocess",
        python_executable: Union[str, Path, None] = None,
        runner_script: Union[str, Path, None] = None,
        policy: PolicyLike = None,
        **fields: Any,
    ) -> None:
        self._approval: ApprovalMode = _choice("approval_mode", approval_mode or "never_require", "always_require", "never_require")
        self._mode: ExecutionMode = _choice("execution_mode", execution_mode, "subprocess", "unsafe_in_process")
        if runner_script is not None:
            raise ValueError("runner_script: not supported, since Remit's runner is part of the isolation")
        if python_executable is not None:
            fields["python"] = python_executable
        for name, other in LISTS.items():
            given = fields.pop(name, None)
            if given is not None:
                fields[other] = sorted(given)
        limits = execution_limits or ProcessExecutionLimits()
        caps = {"max_captured_file_bytes": max_output_file_bytes, "max_total_captured_file_bytes": max_output_total_bytes}
        self._limits = dataclasses.replace(limits, **{name: _positive(name, cap) for name, cap in caps.items() if cap is not None})
        self._max_files = _positive("max_output_files", max_output_files)
        self._policy = _codeact.base_policy(self._limits, Policy(policy, **{**_codeact.resources(resource_limits), **fields}))
        self._resources = dict(resource_limits) if resource_limits else None
        self._format = _format(tool_description_format)
        self._workspace = None if workspace_root is None else _codeact.folder(workspace_root)
        self._tools: Dict[str, Any] = {}
        self._mounts: Dict[str, FileMount] = {}
        self._domains: Dict[str, AllowedDomain] = {}
        self.add_tools(tools or [])
        self.add_file_mounts(file_mounts or [])
        self.add_allowed_domains(allowed_domains or [])

    def _changed(self) -> None:
        pass

    # ---- tools ----

    def add_tools(self, tools: ToolInput) -> None:
        """Add functions of the host that the code may call. A tool of the same name is replaced."""
        found = _collect(list(self._tools.values()), tools)
        _inside(found)
        self._tools = found
        self._changed()

    def get_tools(self) -> List[Any]:
        """The tools that the code may call."""
        return list(self._tools.values())

    def remove_tool(self, name: str) -> None:
        """Remove a tool; KeyError if no tool has this name."""
        if name not in self._tools:
            raise KeyError(f"no tool is called {name!r}")
        self._tools = {key: tool for key, tool in self._tools.items() if key != name}
        self._changed()

    def clear_tools(self) -> None:
        """Remove all tools."""
        self._tools = {}
        self._changed()

    # ---- mounts ----

    def add_file_mounts(self, file_mounts: Union[FileMountInput, Sequence[FileMountInput]]) -> None:
        """Add folders of the host. A mount at the same path is replaced."""
        self._mounts = {**self._mounts, **{mount.mount_path: mount for mount in _codeact.mounts(file_mounts)}}

    def get_file_mounts(self) -> List[FileMount]:
        """The mounts, except the workspace."""
        return list(self._mounts.values())

    def remove_file_mount(self, mount_path: str) -> None:
        """Remove a mount by its path in the jail; KeyError if none has it."""
        path = _codeact.mount_path(mount_path)
        if path not in self._mounts:
            raise KeyError(f"nothing is mounted at {mount_path!r}")
        self._mounts = {key: mount for key, mount in self._mounts.items() if key != path}

    def clear_file_mounts(self) -> None:
        """Remove all mounts except the workspace."""
        self._mounts = {}

    # ---- domains ----

    def add_allowed_domains(self, domains: Union[AllowedDomainInput, Sequence[AllowedDomainInput]]) -> None:
        """Add hosts that the code may reach. A domain with the same target is replaced."""
        self._domains = {**self._domains, **{domain.target: domain for domain in _codeact.domains(domains)}}

    def get_allowed_domains(self) -> List[AllowedDomain]:
        """The hosts that the code may reach."""
        return sorted(self._domains.values(), key=lambda domain: domain.target)

    def remove_allowed_domain(self, domain: str) -> None:
        """Remove a domain; KeyError if it is not allowed."""
        target = _codeact.domain_target(domain)
        if target not in self._domains:
            raise KeyError(f"no allowed domain is called {domain!r}")
        self._domains = {key: one for key, one in self._domains.items() if key != target}

    def clear_allowed_domains(self) -> None:
        """Remove all domains, so that the code has no network."""
        self._domains = {}

    # ---- results of the settings ----

    @property
    def workspace_root(self) -> Optional[Path]:
        """The folder at /input, or None."""
        return self._workspace

    @property
    def execution_limits(self) -> ProcessExecutionLimits:
        """The limits of one call."""
        return self._limits

    @property
    def resource_limits(self) -> Optional[Dict[str, Any]]:
        """The given resource limits."""
        return dict(self._resources) if self._resources else None

    def _effective_mounts(self) -> List[FileMount]:
        mounts = list(self._mounts.values())
        if self._workspace is not None and WORKSPACE not in self._mounts:
            mounts.insert(0, FileMount(self._workspace, WORKSPACE, "read-write"))
        return mounts

    def _effective_approval(self) -> ApprovalMode:
        asked = any(getattr(tool, "approval_mode", None) == "always_require" for tool in self._tools.values())
        return "always_require" if asked else self._approval

    def _setup(self) -> Setup:
        return Setup(
            tools=_inside(self._tools), mounts=tuple(self._effective_mounts()), domains=tuple(self.get_allowed_domains()),
            policy=self._policy, limits=self._limits, max_files=self._max_files,
        )  # fmt: skip

    def _texts(self) -> Tuple[str, str, str]:
        mounts = self._effective_mounts()
        network = OPEN_NETWORK.get(self._policy["network_access"]) if "network_access" in self._policy else None
        return (
            _codeact_text.tools_text(_inside(self._tools), self._format),
            _codeact_text.files_text(mounts, has_output(mounts), _codeact.workspace(self._policy)),
            _codeact_text.network_text(self.get_allowed_domains(), network),
        )

    def build_instructions(self, *, tools_visible_to_model: bool) -> str:
        """The instructions for a model with the current settings."""
        return _codeact_text.instructions(*self._texts(), time_allowed(self._policy), tools_visible_to_model)

    def create_run_tool(self) -> RemitExecuteCodeTool:
        """Create a tool execute_code with a copy of the current settings."""
        return RemitExecuteCodeTool(
            tools=self.get_tools(), approval_mode=self._approval, workspace_root=self._workspace,
            execution_mode=self._mode, file_mounts=self.get_file_mounts(), allowed_domains=self.get_allowed_domains(), execution_limits=self._limits,
            resource_limits=self._resources, max_output_files=self._max_files, tool_description_format=self._format, policy=self._policy,
        )  # fmt: skip

    def build_serializable_state(self) -> Dict[str, Any]:
        """The settings as JSON data, for the state of a session. Only the names of environment variables are included."""
        document = self._policy.to_dict()
        env = document.pop("env", {})
        mounts = self._effective_mounts()
        return {
            "runtime": "remit",
            "execution_mode": self._mode,
            "python_executable": document.get("python"),
            "approval_mode": self._effective_approval(),
            "tool_names": list(self._tools),
            "tool_description_format": self._format if isinstance(self._format, str) else dict(self._format),
            "filesystem_enabled": bool(mounts),
            "workspace_root": None if self._workspace is None else str(self._workspace),
            "file_mounts": [{**mount._asdict(), "host_path": str(mount.host_path)} for mount in mounts],
            "network_enabled": bool(self._domains) or document.get("network_access") in (True, "host"),
            "allowed_domains": [
                {"target": domain.target, "methods": list(domain.methods) if domain.methods else None} for domain in self.get_allowed_domains()
            ],
            "limits": dataclasses.asdict(self._limits),
            "resource_limits": self.resource_limits,
            "max_output_files": self._max_files,
            "env_keys": sorted(env),
            "policy": document,
        }


LISTS = {
    "allowed_imports": "allow_import",
    "blocked_imports": "block_import",
    "allowed_builtins": "allow_builtin",
    "blocked_builtins": "block_builtin",
    "allowed_os_attrs": "allow_os_attr",
}


class RemitExecuteCodeTool(_Surface, FunctionTool):
    """A FunctionTool `execute_code` with one argument, `code`. Each call runs in a fresh jail.

    Its contents are the output, the value of the last expression as JSON, images and files; or the output and one error. A
    policy that cannot be enforced raises.
    """

    def __init__(self, **options: Unpack[CodeActOptions]) -> None:
        self._configure(**options)
        if self._mode == "unsafe_in_process":
            _codeact_here.warn(2)
        FunctionTool.__init__(
            self, name=NAME, description="Execute Python in a jail.", approval_mode="never_require", func=self._run_code, input_model=SCHEMA
        )
        self._changed()

    def _changed(self) -> None:
        self.approval_mode = self._effective_approval()

    @property
    def description(self) -> str:
        """The description for a model without other instructions."""
        return _codeact_text.description(*self._texts())

    @description.setter
    def description(self, value: str) -> None:
        """Ignored: the description always follows the settings."""

    def to_dict(self, *, exclude: Optional[set[str]] = None, exclude_none: bool = True) -> Dict[str, Any]:
        """As for every tool, with the current description."""
        made: Dict[str, Any] = FunctionTool.to_dict(self, exclude=exclude, exclude_none=exclude_none)
        return {**made, "description": self.description}

    async def _run_code(self, *, code: str) -> List[Any]:
        run = execute if self._mode == "subprocess" else _codeact_here.execute_here
        return await run(self._setup(), code)


class RemitCodeActProvider(_Surface, ContextProvider):
    """Gives an agent `execute_code` and its instructions before each run. Changes of settings apply to later runs.

    Only the code can call its tools; they are not tools of the agent.
    """

    DEFAULT_SOURCE_ID = "remit_codeact"

    def __init__(self, source_id: str = DEFAULT_SOURCE_ID, **options: Unpack[CodeActOptions]) -> None:
        ContextProvider.__init__(self, source_id)
        self._configure(**options)
        if self._mode == "unsafe_in_process":
            _codeact_here.warn(2)

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: Dict[str, Any]) -> None:
        """Called by the framework."""
        tool = self.create_run_tool()
        state[self.source_id] = tool.build_serializable_state()
        context.extend_instructions(self.source_id, tool.build_instructions(tools_visible_to_model=False))
        context.extend_tools(self.source_id, [tool])
