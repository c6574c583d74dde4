"""Named hosts with a shared keeper: the tests of test_network.py and others, in warm children."""

import os
import signal

import network_here
import pytest
import test_network
import test_network_entries
import test_network_proxy
from leftovers import name_of, remaining
from shared_keeper import children, is_alive, kill
from test_network import API, TRY, reported

# Tests that examine a private keeper, or refusals before any start
NOT_HERE = {
    "test_killed_proxy_ends_run", "test_proxy_dies_with_its_keeper_and_with_its_run",
    "test_ended_program_has_no_network", "test_proxy_has_no_capabilities_no_files_and_filter",
    "test_proxy_has_nothing_of_keeper_s_memory", "test_concurrent_runs_have_separate_proxies",
    "test_malformed_entry_is_refused_by_name", "test_host_list_and_host_network_exclude_each_other",
    "test_audit_line_has_hosts_and_sums_but_no_paths", "test_malformed_entry_object_is_refused",
    "test_proxy_without_reachable_host_is_refused",
}  # fmt: skip
for module in (test_network, test_network_entries, test_network_proxy):
    globals().update({name: f for name, f in vars(module).items() if name.startswith("test_") and name not in NOT_HERE})


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-of-waiting") as w:
        yield w


@pytest.fixture(scope="module")
def keepers(world):
    made = {}
    yield made
    for here in made.values():
        here.keeper.close()


@pytest.fixture
def here(remit, world, keepers):
    if remit.label not in keepers:
        keepers[remit.label] = world.warm(remit)
    return keepers[remit.label]


FETCH = TRY + f"report(a=fetch('http://{API}/'))"


def by_name(here, name):
    return [pid for pid in children(here.keeper.pid) if name_of(pid) == name]


def proxy_launcher_of(here):
    """A proxy that the launcher has just forked still has the launcher's name."""
    (pid,) = here.keeper.until(lambda: len(found := by_name(here, "remit-launcher")) == 1 and found)
    return pid


def flags_for(here, *hosts):
    named = [word for host in hosts for word in ("--allow-host", host)]
    return ("--python", network_here.PYTHON, *network_here.PATIENT, *named, *(() if here.by_root else network_here.FALLBACK))


def test_first_run_is_cold_and_reaches_its_host(remit, world):
    here = world.warm(remit)
    result = here.keeper.json(FETCH, *flags_for(here, f"{API}:80"))
    assert API in reported(result)["a"] and result["start"] == "cold"
    here.keeper.close()


def test_different_host_lists_do_not_share_child(here):
    code = TRY + f"report(api=attempt(fetch, 'http://{API}/'), listed=attempt(fetch, 'http://listed.example.com/'))"
    for _ in range(2):
        for host in (API, "listed.example.com"):
            answers = reported(here.allow(code, f"{host}:80"))
            assert [API in answers["api"], "listed" in answers["listed"]] == [host == API, host != API]


def test_keeper_s_network_has_only_loopback(here):
    here.allow(FETCH, f"{API}:80")
    proxy_launcher = proxy_launcher_of(here)
    with open(f"/proc/{here.keeper.pid}/net/dev") as f:
        assert [line.split(":")[0].strip() for line in f if ":" in line] == ["lo"]
    with open(f"/proc/{here.keeper.pid}/net/fib_trie") as f:
        assert "LOCAL" not in f.read()
    assert os.readlink(f"/proc/{proxy_launcher}/ns/net") != os.readlink(f"/proc/{here.keeper.pid}/ns/net")


def test_warm_child_is_replaced_if_its_proxy_dies(here):
    here.allow(FETCH, f"{API}:80")
    here.keeper.until(here.keeper.is_full)
    old = by_name(here, "remit-proxy")
    for pid in old:
        kill(pid)
    here.keeper.until(lambda: not set(old) & set(by_name(here, "remit-proxy")))
    assert API in reported(here.allow(FETCH, f"{API}:80"))["a"]


def test_keeper_without_proxy_launcher_refuses_hosts_and_serves_others(remit, world):
    here = world.warm(remit)
    flags = flags_for(here, f"{API}:80")
    reported(here.keeper.warm(FETCH, *flags))
    proxy_launcher = proxy_launcher_of(here)
    os.kill(proxy_launcher, signal.SIGKILL)
    here.keeper.until(lambda: not by_name(here, "remit-launcher"))
    # Warm children still have their proxies.
    results = iter(lambda: here.keeper.json(FETCH, *flags), None)
    last = next(r for r in results if r["status"] != "ok")
    assert last["status"] == "internal" and "proxy launcher" in last["error"]["value"], last
    here.keeper.until(lambda: here.keeper.json("print(1)")["start"] == "warm")
    here.keeper.close()


def test_killed_keeper_leaves_no_proxy_processes(remit, world):
    here = world.warm(remit)
    reported(here.allow(FETCH, f"{API}:80"))
    here.keeper.until(lambda: {"remit-proxy", "remit-launcher"} <= {name_of(pid) for pid in here.keeper.family()})
    family = here.keeper.family()
    os.kill(here.keeper.pid, signal.SIGKILL)
    here.keeper.process.wait()
    assert remaining(lambda: [pid for pid in family if is_alive(pid)]) == []
