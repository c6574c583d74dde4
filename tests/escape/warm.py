"""A shared keeper that runs hostile programs in warm children."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import jail_run
from callers import get_caller, get_world
from program import Program

BENIGN = "print(6 * 7)"
# Longer than any test session, since the tests close the keeper.
KEEPER_LIFETIME_S = 24 * 3600
WAIT_TIMEOUT_S = 60
# The timeout of a run that lasts until the test kills it.
LONG_RUN_TIMEOUT = "10m"


def can_be_warm(policy: dict, label: str) -> bool:
    """The documented rule (src/policy/plan/plan.c, plan_can_be_warm)."""
    if policy.get("tier", "local") != "local" or policy.get("network_access") == "host":
        return False
    # The packages of the world differ for each run, so no child waits with them.
    if policy.get("packages"):
        return False
    return label != "root" or not policy.get("subprocess_execution")


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(child) for child in f.read().split()]


def name_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


class WarmKeeper:
    """One keeper of one caller. It is launched as the programs are: with the planted
    key and variable, below a subreaper that reports the processes it leaves."""

    def __init__(
        self, binary: str, caller: jail_run.Caller, left_out: tuple[str, ...] = ()
    ) -> None:
        self.binary, self.caller, self.left_out = binary, caller, left_out
        self.plans: dict[str, str] = {}  # the plan of each policy's JSON text
        world = get_world()
        self.directory = jail_run.make_run_directory(world)
        os.chown(self.directory, caller.uid, caller.gid)
        self.socket = self.directory / "keeper.sock"
        argv = [binary, "keeper", "--listen", str(self.socket)]
        env = jail_run.environment(caller, world, left_out)
        config = jail_run.launch_config(argv, caller, world, self.directory, env)
        (self.directory / "launch.json").write_text(
            json.dumps(config | {"timeout": KEEPER_LIFETIME_S})
        )
        self.launcher = subprocess.Popen(
            jail_run.launch_argv(self.directory),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        self.until(self.is_listening, "the keeper does not listen")
        (self.pid,) = children(self.launcher.pid)

    def is_listening(self) -> bool:
        """Whether the keeper accepts connections: its socket exists before that."""
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(str(self.socket)) == 0

    def until(self, condition, problem: str) -> None:
        end = time.monotonic() + WAIT_TIMEOUT_S
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"{problem}: {self.status()}")
            # A status request is work for the keeper, which visits all waiting children.
            time.sleep(0.03)

    @property
    def environment(self) -> dict[str, str]:
        return {"REMIT_KEEPER": str(self.socket)}

    def identity(self) -> dict:
        """Returns the arguments with which subprocess changes to the caller's user."""
        if os.geteuid() != 0:
            return {}
        return {"user": self.caller.uid, "group": self.caller.gid, "extra_groups": []}

    def status(self) -> dict:
        done = subprocess.run(
            [self.binary, "status", "--json"],
            env=self.environment,
            stdout=subprocess.PIPE,
            check=True,
            **self.identity(),
        )
        return json.loads(done.stdout)

    def client(self, source: str) -> subprocess.Popen:
        return subprocess.Popen(
            [self.binary, "run", "--preset", "strict", "--timeout", LONG_RUN_TIMEOUT, "-c", source],
            env=self.environment,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            **self.identity(),
        )

    def run(self, source: str, policy: dict) -> jail_run.Run:
        return jail_run.run(
            self.binary,
            source,
            policy,
            self.caller,
            get_world(),
            self.left_out,
            more_environment=self.environment,
        )

    def _warm_starts(self) -> dict[str, int]:
        return {pool["plan"]: pool["hits"] for pool in self.status()["pools"]}

    def _find_plan(self, policy: dict) -> str:
        """Runs a harmless program until a waiting child executes it. This policy's
        plan is the one whose count of warm starts has grown."""
        for _ in range(8):
            before = self._warm_starts()
            one = self.run(BENIGN, policy)
            if one.status == "timeout":  # the policy's short timeout, on a busy machine
                continue
            assert one.status == "ok" and one.output("stdout") == "42\n", one.describe()
            if one.result["start"] == "warm":
                (plan,) = [p for p, n in self._warm_starts().items() if n > before.get(p, 0)]
                return plan
            self.until(self.is_settled, "no child is ready")
        raise AssertionError(f"no run of {policy} was warm: {self.status()}")

    def await_child(self, policy: dict) -> None:
        """Waits until a child for this policy is ready."""
        key = json.dumps(policy, sort_keys=True)
        for _ in range(4):
            if key not in self.plans:
                self.plans[key] = self._find_plan(policy)
            self.until(self.is_settled, "the pools do not fill")
            for pool in self.status()["pools"]:
                if pool["plan"] == self.plans[key] and pool["waiting"]:
                    return
            del self.plans[key]  # the keeper dropped this plan for others
        raise AssertionError(f"no child is ready for {policy}: {self.status()}")

    def is_full(self, now: dict) -> bool:
        """Whether every pool that should have a waiting child has one."""
        wanted = [p for p in now["pools"] if p["warm"] and p["target"]]
        return all(p["waiting"] and not p["building"] for p in wanted)

    def is_settled(self) -> bool:
        """Whether every wanted child waits and the keeper has no other child process:
        only the waiting children with their pid 1 and, with an allow-list of hosts,
        their proxy; the zygotes; the proxy launcher. A process that a program left
        would be one too many."""
        now = self.status()
        waiting = sum(pool["waiting"] for pool in now["pools"])
        zygotes = [z["pid"] for z in now["zygotes"] if z["pid"]]
        names = [name_of(pid) for pid in children(self.pid)]
        proxies = sum(p["waiting"] for p in now["pools"] if p["proxied"])
        return (
            self.is_full(now)
            and all(z["state"] == "ready" for z in now["zygotes"])
            and now["jails"] == waiting
            and names.count("remit-proxy") == proxies
            and len(names) == 2 * waiting + proxies + len(zygotes) + names.count("remit-launcher")
        )

    def leftovers(self) -> list[str]:
        """Waits until the keeper has settled. Returns what is left over if it does not."""
        try:
            self.until(self.is_settled, "processes are left over")
        except TimeoutError as e:
            return [f"{e}; children {children(self.pid)}"]
        return []

    def attack(self, program: Program) -> list[jail_run.Run]:
        return jail_run.attack(
            self.binary,
            program,
            self.caller,
            get_world(),
            self.left_out,
            self.environment,
            ready=lambda: self.await_child(program.policy),
        )

    def close(self) -> list:
        """Ends the keeper. Returns what it left, or why it failed."""
        os.kill(self.pid, signal.SIGTERM)
        self.launcher.wait(timeout=3 * WAIT_TIMEOUT_S)
        report = json.loads((self.directory / "report").read_text())
        shutil.rmtree(self.directory)
        if report["exit"] != 0:
            return [f"the keeper ended with {report['exit']}", *report["left"]]
        return report["left"]


def _close_at_exit(keeper: WarmKeeper) -> None:
    if keeper.launcher.poll() is None:
        leftovers = keeper.close()
        if leftovers:
            sys.stderr.write(f"a keeper left {leftovers}\n")


@functools.lru_cache(maxsize=None)
def get_keeper(binary: str, label: str) -> WarmKeeper:
    keeper = WarmKeeper(binary, get_caller(label))
    atexit.register(_close_at_exit, keeper)
    return keeper
