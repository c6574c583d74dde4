"""Runs a hostile program and collects everything that can be observed about the run."""

from __future__ import annotations

import atexit
import dataclasses
import functools
import json
import os
import pathlib
import pwd
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable

from program import Program
from world import World, start_victim

LAUNCH = pathlib.Path(__file__).with_name("launch.py")
PATH = "/usr/local/bin:/usr/bin:/bin"
# Longer than any deadline of a policy: a run that reaches this hangs.
HANG_TIMEOUT_S = 300


@dataclasses.dataclass
class Run:
    result: dict | None  # the JSON object that remit printed, or None
    stdout: str  # what remit itself wrote
    stderr: str
    report: dict  # what launch.py reported
    findings: dict[str, str]  # what happened to the bait (World.findings)
    artifacts: dict[str, str]  # what is wrong with the exported files
    directory: str  # where the program was started

    @property
    def status(self) -> str:
        return self.result["status"] if self.result else "none"

    def output(self, stream: str) -> str:
        return (self.result or {}).get(stream) or ""

    def last_report(self) -> str:
        """Returns the last line that reports an outcome: CONTAINED or ESCAPED."""
        for stream in ("stdout", "stderr"):
            for line in reversed(self.output(stream).splitlines()):
                if line.startswith(("CONTAINED", "ESCAPED")):
                    return line
        return ""

    def signal_number(self) -> int | None:
        value = (self.result or {}).get("signal")
        if isinstance(value, str):
            import signal

            return signal.Signals[value].value
        return value or None

    def mechanisms(self) -> dict[str, set[str]]:
        rows = (self.result or {}).get("enforcement") or []
        return {row["field"]: set(row["mechanisms"]) for row in rows}

    def describe(self) -> str:
        shown = self.stdout
        if self.result:
            rest = {k: v for k, v in self.result.items() if k != "enforcement"}
            shown = json.dumps(rest, indent=1)
        return (
            f"status {self.status}, last report {self.last_report()!r}\n"
            f"outside: {self.findings}, launch: {self.report}\n"
            f"remit's stderr: {self.stderr[-2000:]}\n"
            f"result: {shown[:6000]}"
        )


class Caller:
    """A user who runs Remit: root or an ordinary user."""

    def __init__(self, label: str, name: str) -> None:
        entry = pwd.getpwnam(name)
        self.label = label
        self.name = name
        self.uid, self.gid, self.home = entry.pw_uid, entry.pw_gid, entry.pw_dir
        self._victim: subprocess.Popen | None = None

    @property
    def victim_pid(self) -> int:
        if self._victim is None:
            self._victim = start_victim(self.uid, self.gid)
        return self._victim.pid

    def victim_is_alive(self) -> bool:
        return self._victim is None or self._victim.poll() is None

    def close(self) -> None:
        if self._victim is not None:
            self._victim.kill()
            self._victim.wait()


def environment(caller: Caller, world: World, left_out: tuple[str, ...]) -> dict:
    env = {
        "PATH": PATH,
        "HOME": caller.home,
        "LANG": "C.UTF-8",
        "LOGNAME": caller.name,
        world.argument()["env_name"]: world.canary,
    }
    if left_out:
        env["REMIT_HOLES"] = ",".join(left_out)
    return env


def launch_config(
    argv: list[str], caller: Caller, world: World, cwd: pathlib.Path, env: dict
) -> dict:
    """Returns the content of launch.json, which launch.py reads in `cwd`."""
    return {
        "uid": caller.uid,
        "gid": caller.gid,
        "cwd": str(cwd),
        "argv": argv,
        "env": env,
        "key_desc": world.argument()["key_desc"],
        "key_payload": world.canary,
        "timeout": HANG_TIMEOUT_S,
    }


def launch_argv(cwd: pathlib.Path) -> list[str]:
    return [sys.executable, str(LAUNCH), str(cwd / "launch.json"), str(cwd / "report")]


@functools.lru_cache(maxsize=None)
def _launcher() -> subprocess.Popen:
    launcher = subprocess.Popen(
        [sys.executable, str(LAUNCH)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(launcher.communicate)
    return launcher


def _launch(
    argv: list[str], caller: Caller, world: World, cwd: pathlib.Path, env: dict
) -> tuple[str, str, dict]:
    """Runs the command below launch.py. Returns its stdout, its stderr and the report of launch.py."""
    config = launch_config(argv, caller, world, cwd, env)
    (cwd / "launch.json").write_text(json.dumps(config))
    names = [str(cwd / name) for name in ("launch.json", "report", "stdout", "stderr")]
    launcher = _launcher()
    launcher.stdin.write(json.dumps(names) + "\n")
    launcher.stdin.flush()
    launcher.stdout.readline()
    stdout, stderr = (pathlib.Path(name).read_text(errors="replace") for name in names[2:])
    try:
        report = json.loads((cwd / "report").read_text())
    except (OSError, ValueError):
        report = {"left": [], "wall": 0.0, "timed_out": True, "launch": stderr}
    return stdout, stderr, report


def make_run_directory(world: World) -> pathlib.Path:
    """Makes a directory in which a program can be started."""
    directory = world.runs / f"run-{secrets.token_hex(6)}"
    directory.mkdir(mode=0o755)
    directory.chmod(0o755)
    return directory


def run(
    binary: str,
    source: str,
    policy: dict,
    caller: Caller,
    world: World,
    left_out: tuple[str, ...] = (),
    round_number: int = 1,
    earlier: tuple[str, ...] = (),
    more_environment: dict | None = None,
) -> Run:
    directory = make_run_directory(world)
    # The folder for artifacts is not below the run's directory, because a result contains its path.
    out = world.runs / directory.name.replace("run-", "out-")
    out.mkdir()
    out.chmod(0o777)
    try:
        document = {"preset": "strict", **world.fill_in(policy)}
        (directory / "policy.json").write_text(json.dumps(document))
        (directory / "program.py").write_text(source)
        argument = world.argument(
            host_pid=caller.victim_pid,
            user_name=caller.name,
            some_user=pwd.getpwall()[-1].pw_name,
            round=round_number,
            earlier=list(earlier),
        )
        # Relative names: the caller gives Remit no path of the host, so none may
        # appear in a result.
        argv = [binary, "run", "--json", "--policy", "policy.json", "program.py"]
        if "artifact_export_paths" in policy:
            argv[2:2] = ["--artifacts", f"../{out.name}"]
        if any(field.startswith("tool_") for field in policy):
            argv[2:2] = ["--tool", "echo=cat", "--tool", "slow=sleep 1; cat", "--tool", "hang=sleep 1000"]
        argv.append(json.dumps(argument))
        env = environment(caller, world, left_out) | (more_environment or {})
        stdout, stderr, report = _launch(argv, caller, world, directory, env)
        artifacts = inspect_artifacts(out, policy, world)
    finally:
        shutil.rmtree(directory)
        shutil.rmtree(out)
    try:
        result = json.loads(stdout)
        if not isinstance(result, dict) or "status" not in result:
            result = None
    except ValueError:
        result = None
    return Run(
        result=result,
        stdout=stdout,
        stderr=stderr,
        report=report,
        findings={},
        artifacts=artifacts,
        directory=directory.name,
    )


def inspect_artifacts(out: pathlib.Path, policy: dict, world: World) -> dict[str, str]:
    """Returns what should not have been exported: the secret, or more than the caps allow."""
    files = [path for path in out.rglob("*") if path.is_file()]
    sizes = [path.stat().st_size for path in files]
    measured = {
        "artifact_files": len(files),
        "artifact_file_bytes": max(sizes, default=0),
        "artifact_bytes": sum(sizes),
        "artifact_depth": max((len(path.relative_to(out).parts) for path in files), default=0),
    }
    over = [f"{name} is {n}" for name, n in measured.items() if n > policy.get(name, n)]
    found = {"artifacts": ", ".join(over)} if over else {}
    if any(world.canary.encode() in path.read_bytes() for path in files):
        found["canary"] = "the planted secret is in an artifact"
    return found


def attack(
    binary: str,
    program: Program,
    caller: Caller,
    world: World,
    left_out: tuple[str, ...] = (),
    more_environment: dict | None = None,
    ready: Callable[[], None] = lambda: None,
) -> list[Run]:
    """Runs all rounds of a program, each in a new jail. Calls `ready` before
    each round."""
    world.reset()
    rounds: list[Run] = []
    for number in range(1, program.runs + 1):
        ready()
        one = run(
            binary,
            program.source(),
            program.policy,
            caller,
            world,
            left_out,
            number,
            tuple(r.output("stdout") for r in rounds),
            more_environment,
        )
        one.findings = {**world.findings(), **one.artifacts}
        if world.canary in one.stdout or world.canary in one.stderr:
            one.findings["canary"] = "the planted secret is in the result"
        for stream, cap in (
            ("stdout", program.stdout_cap),
            ("stderr", program.stderr_cap),
        ):
            size = len(one.output(stream).encode("utf-8", "surrogatepass"))
            if cap is not None and size > cap:
                one.findings[stream] = f"{size} bytes kept, the cap is {cap}"
        rounds.append(one)
    world.reset()
    return rounds


def is_executable(path: str) -> bool:
    return os.access(path, os.X_OK) and os.path.isfile(path)
