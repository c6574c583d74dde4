"""Results: what a program did and printed, what it was denied, and what enforced its policy."""

from __future__ import annotations

from ._errors import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Mapping, Optional

    from . import _core


class Record:
    """A part of a result. The keys of its document are its attributes; a missing key is None."""

    def __init__(self, document: Mapping[str, Any]):
        self.document = document

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for attributes that were not found otherwise.
        if name.startswith("_") or name not in type(self).__annotations__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return self.document.get(name)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.document == self.document  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        shown = (f"{key}={value!r}" for key, value in self.document.items() if value is not None and value != "")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (dict(self.document),)


class Error(Record):
    """An uncaught exception, as reported by the program, or an error of Remit.

    `remedy` is what to do about it, if Remit knows: for a missing module, which `package` to add to the policy's packages.
    """

    name: str
    value: str
    traceback: str
    line: Optional[int]
    remedy: Optional[str]
    package: Optional[str]


class Usage(Record):
    """What the run used, as measured by the kernel."""

    wall_ms: Optional[float]
    cpu_ms: Optional[float]
    memory_peak_bytes: Optional[int]
    processes_peak: Optional[int]
    network: Optional[dict[str, Any]]
    tool_calls: int
    tool_wait_ms: float


class Value(Record):
    """The value of the last expression, as reported by the program: its repr, JSON if it is plain data, and other forms by
    MIME type."""

    text: str
    json: Any
    mime: dict[str, str]
    truncated: bool
    left_out: list[Any]


class Display(Record):
    """Something that the program displayed, in one or more forms by MIME type."""

    mime: dict[str, str]


class Enforcement(Record):
    """One field of the policy, and what enforced it."""

    field: str
    value: Any
    mechanisms: list[str]
    strength: str
    note: Optional[str]


class Denial(Record):
    """Something that the code tried and was denied, and what would allow it."""

    source: str
    syscall: Optional[str]
    what: str
    count: int
    field: Optional[str]
    flag: Optional[str]
    reported: dict[str, Any]


class Artifact(Record):
    """A file that was exported from the jail."""

    path: str
    size_bytes: int
    content_type: str
    host_path: str

    @property
    def file(self) -> Path:
        """The path of the file on the host."""
        from pathlib import Path

        return Path(self.host_path)


class Skipped(Record):
    """A path that was not exported or not written, and the reason."""

    path: str
    reason: str


class Change(Record):
    """A path that the code changed in a folder of the host."""

    path: str
    kind: str
    host_path: Optional[str]


class Result:
    """The result of one program.

    `status` is one word ("ok", "error", "timeout", ...: see remit(1)). `status` and `usage` are facts of the kernel. The
    keys in `reported` are claims of the process that ran the code. `document` is the complete result, as the command prints
    it.
    """

    __slots__ = ("_raw", "_document", "__weakref__")

    def __init__(self, raw: Optional[_core.Result] = None, document: Optional[dict[str, Any]] = None):
        self._raw = raw
        self._document = document

    @property
    def document(self) -> dict[str, Any]:
        """The whole result, as `remit run --json` prints it."""
        if self._document is None:
            import json

            assert self._raw is not None
            self._document = json.loads(self._raw.json)
        return self._document

    @property
    def status(self) -> str:
        """ok, error, exit, timeout, cpu_limit, memory_limit, output_limit, killed, interrupted, rejected, ..."""
        return self._raw.status if self._raw is not None else str(self.document["status"])

    @property
    def ok(self) -> bool:
        """Whether the program ran to its end, or exited with 0."""
        return self.status == "ok" or (self.status == "exit" and self.exit_code == 0)

    @property
    def stdout(self) -> str:
        """The standard output as text; invalid UTF-8 is replaced."""
        return self._text("stdout")

    @property
    def stderr(self) -> str:
        """The standard error as text, including a traceback."""
        return self._text("stderr")

    def _text(self, stream: str) -> str:
        if self._raw is not None:
            try:
                return str(getattr(self._raw, stream), "utf-8")
            except UnicodeDecodeError:
                pass  # the library handles a character that the limit has cut
        return str(self.document[stream])

    @property
    def stdout_bytes(self) -> bytes:
        """The standard output as bytes."""
        return self._bytes("stdout")

    @property
    def stderr_bytes(self) -> bytes:
        """The standard error as bytes."""
        return self._bytes("stderr")

    def _bytes(self, stream: str) -> bytes:
        if self._raw is not None:
            return bytes(getattr(self._raw, stream))
        import base64

        encoded = self.document.get(f"{stream}_base64")
        return base64.b64decode(encoded) if encoded else str(self.document[stream]).encode()

    @property
    def stdout_truncated(self) -> bool:
        """Whether the program wrote more than `stdout_max`, so that the rest was dropped."""
        return bool(self.document["stdout_truncated"])

    @property
    def stderr_truncated(self) -> bool:
        """The same for standard error."""
        return bool(self.document["stderr_truncated"])

    @property
    def exit_code(self) -> Optional[int]:
        """The exit code of the program, or None if it did not exit by itself."""
        code: Optional[int] = self.document["exit_code"]
        return code

    @property
    def signal(self) -> Optional[int]:
        """The signal that killed the program, or None."""
        number: Optional[int] = self.document["signal"]
        return number

    @property
    def error(self) -> Optional[Error]:
        """The uncaught exception, or None."""
        found = self.document["error"]
        return Error(found) if found else None

    @property
    def value(self) -> Optional[Value]:
        """The value of the last expression, or None."""
        found = self.document["value"]
        return Value(found) if found else None

    @property
    def displays(self) -> list[Display]:
        """What the program displayed, in order."""
        return [Display(row) for row in self.document["displays"]]

    @property
    def usage(self) -> Usage:
        """Time, memory, processes, network."""
        return Usage(self.document["usage"])

    @property
    def enforcement(self) -> list[Enforcement]:
        """Each field of the policy and the mechanisms that enforced it."""
        return [Enforcement(row) for row in self.document["enforcement"]]

    @property
    def denials(self) -> list[Denial]:
        """What the code tried and was denied."""
        return [Denial(row) for row in self.document["denials"]]

    @property
    def artifacts(self) -> list[Artifact]:
        """The exported files."""
        return [Artifact(row) for row in self.document["artifacts"]]

    @property
    def artifacts_skipped(self) -> list[Skipped]:
        """Files that should have been exported, but were not."""
        return [Skipped(row) for row in self.document["artifacts_skipped"]]

    @property
    def changes(self) -> list[Change]:
        """What the code changed in folders of the host."""
        return [Change(row) for row in self.document["changes"]]

    @property
    def changes_skipped(self) -> list[Skipped]:
        """Changes that were not written to the host."""
        return [Skipped(row) for row in self.document["changes_skipped"]]

    @property
    def committed(self) -> Optional[bool]:
        """Whether changes were written to the host; None if the policy has no such folders."""
        done: Optional[bool] = self.document["committed"]
        return done

    @property
    def installed(self) -> list[str]:
        """Packages that were installed while the code ran, as NAME==VERSION."""
        return list(self.document["installed"])

    @property
    def reported(self) -> list[str]:
        """The keys that are claims of the process, not facts."""
        return list(self.document["reported"])

    @property
    def tier(self) -> str:
        """The tier, which is how strong the isolation was."""
        return str(self.document["tier"])

    @property
    def start(self) -> Optional[str]:
        """How the run started: "warm" or "cold"; None if nothing ran."""
        how: Optional[str] = self.document["start"]
        return how

    @property
    def run_id(self) -> str:
        """The id of this run in logs."""
        return str(self.document["run_id"])

    def check(self) -> Result:
        """Return this result if the program succeeded, else raise Failed."""
        if not self.ok:
            error = Failed(self.headline)
            error.result = self  # type: ignore[attr-defined]
            raise error
        return self

    # ---- for people ----

    @property
    def headline(self) -> str:
        """The outcome of the program in a few words."""
        parts = [self.status]
        if self.exit_code:
            parts.append(f"exit code {self.exit_code}")
        if self.signal and self.status == "killed":
            parts.append(f"signal {self.signal}")
        if self.error:
            parts.append(f"{self.error.name}: {self.error.value}".strip(": "))
        return ", ".join(parts)

    @property
    def denied(self) -> list[str]:
        """A line for each denial, with what would allow it."""
        return [f"[denied: {_tried(d)}: {_allowing(d)}]" for d in self.denials]

    @property
    def advice(self) -> list[str]:
        """The remedy of the error, if it has one, and a line for each denial."""
        remedy = self.error and self.error.remedy
        return [f"[{remedy}]", *self.denied] if remedy else self.denied

    def __str__(self) -> str:
        """A text for people and models: the output, and what went wrong."""
        lines = [part.rstrip("\n") for part in (self.stdout, self.stderr) if part]
        if self.value is not None:
            lines.append(self.value.text)
        if self.stdout_truncated or self.stderr_truncated:
            lines.append("[output truncated]")
        if not self.ok and not (self.status == "error" and self.stderr):
            lines.append(f"[{self.headline}]")
        lines += self.advice
        return "\n".join(lines)

    def __repr__(self) -> str:
        wall = self.usage.wall_ms
        took = f" in {wall:g} ms" if wall is not None else ""
        return f"<remit.Result {self.headline}{took}, {len(self.stdout_bytes)} bytes of stdout, {len(self.stderr_bytes)} of stderr>"

    def _repr_html_(self) -> str:
        """HTML for notebooks. All text is foreign, so it is escaped."""
        from html import escape

        colour = "#2a7d2a" if self.ok else "#b02a2a"
        out = [f'<div><b style="color:{colour}">{escape(self.headline)}</b>']
        if self.usage.wall_ms is not None:
            out.append(f" <small>{self.usage.wall_ms:g} ms, {escape(self.tier)}</small>")
        if self.stdout:
            out.append(f"<pre>{escape(self.stdout)}</pre>")
        if self.stderr:
            out.append(f'<pre style="color:#b02a2a">{escape(self.stderr)}</pre>')
        if self.error and self.error.remedy:
            out.append(f"<p>{escape(self.error.remedy)}</p>")
        if self.value is not None:
            out.append(f"<pre>{escape(self.value.text)}</pre>")
        out += [f"<p>denied: <code>{escape(_tried(d))}</code>: {escape(_allowing(d))}</p>" for d in self.denials]
        rows = "".join(
            f"<tr><td>{escape(e.field)}</td><td>{escape(repr(e.value))}</td><td>{escape(e.strength)}</td>"
            f"<td>{escape(', '.join(e.mechanisms))}</td></tr>"
            for e in self.enforcement
        )
        out.append(f"<details><summary>enforcement</summary><table>{rows}</table></details></div>")
        return "".join(out)

    def __reduce__(self) -> tuple[object, ...]:
        return Result, (None, self.document)


def _tried(denial: Denial) -> str:
    """The system call that the kernel denied, or what the code reports."""
    if denial.what:
        return denial.what
    return ", ".join(f"{key} {value!r}" for key, value in denial.reported.items() if key != "errno") or denial.source


def _allowing(denial: Denial) -> str:
    return f"the policy field {denial.field} would allow it" if denial.field else "no field allows it"
