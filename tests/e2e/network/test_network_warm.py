"""Named hosts in a shared keeper: what test_network.py says holds for children that waited, too."""

import os
import signal

import network_here
import pytest
import test_network
import test_network_entries
import test_network_proxy
from leftovers import gone, name_of
from shared_keeper import children, is_alive, kill
from test_network import API, TRY, said

# Those that look at a keeper of their own, or at what comes before any start.
NOT_HERE = {
    "test_a_proxy_that_is_killed_ends_the_run", "test_the_proxy_dies_with_its_keeper_and_with_its_run",
    "test_a_program_that_is_over_has_no_network_any_more", "test_the_proxy_has_no_rights_no_files_and_a_filter",
    "test_the_proxy_has_nothing_of_the_keeper_s_memory", "test_runs_at_once_have_a_proxy_each",
    "test_an_entry_that_is_none_is_refused_by_name", "test_hosts_and_the_host_s_network_contradict_each_other",
    "test_the_audit_line_has_hosts_and_sums_but_no_paths", "test_an_object_that_is_no_entry_is_refused",
    "test_a_proxy_that_leads_nowhere_is_refused",
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


FETCH = TRY + f"say(a=fetch('http://{API}/'))"


def by_name(here, name):
    return [pid for pid in children(here.keeper.pid) if name_of(pid) == name]


def proxy_launcher_of(here):
    """A proxy that it has just forked has no name of its own yet."""
    (pid,) = here.keeper.until(lambda: len(found := by_name(here, "remit-launcher")) == 1 and found)
    return pid


def flags_for(here, *hosts):
    named = [word for host in hosts for word in ("--allow-host", host)]
    return ("--python", network_here.PYTHON, *network_here.PATIENT, *named, *(() if here.by_root else network_here.FALLBACK))


def test_the_first_run_is_cold_and_reaches_its_host_too(remit, world):
    here = world.warm(remit)
    result = here.keeper.json(FETCH, *flags_for(here, f"{API}:80"))
    assert API in said(result)["a"] and result["start"] == "cold"
    here.keeper.close()


def test_different_lists_never_share_a_child(here):
    code = TRY + f"say(api=attempt(fetch, 'http://{API}/'), listed=attempt(fetch, 'http://listed.example.com/'))"
    for _ in range(2):
        for host in (API, "listed.example.com"):
            answers = said(here.allow(code, f"{host}:80"))
            assert [API in answers["api"], "listed" in answers["listed"]] == [host == API, host != API]


def test_the_keeper_itself_stands_in_a_network_without_any_device(here):
    here.allow(FETCH, f"{API}:80")
    proxy_launcher = proxy_launcher_of(here)
    with open(f"/proc/{here.keeper.pid}/net/dev") as f:
        assert [line.split(":")[0].strip() for line in f if ":" in line] == ["lo"]
    with open(f"/proc/{here.keeper.pid}/net/fib_trie") as f:
        assert "LOCAL" not in f.read()
    assert os.readlink(f"/proc/{proxy_launcher}/ns/net") != os.readlink(f"/proc/{here.keeper.pid}/ns/net")


def test_a_waiting_child_whose_proxy_dies_is_replaced(here):
    here.allow(FETCH, f"{API}:80")
    here.keeper.until(here.keeper.is_full)
    old = by_name(here, "remit-proxy")
    for pid in old:
        kill(pid)
    here.keeper.until(lambda: not set(old) & set(by_name(here, "remit-proxy")))
    assert API in said(here.allow(FETCH, f"{API}:80"))["a"]


def test_without_its_proxy_launcher_a_keeper_refuses_hosts_and_serves_others(remit, world):
    here = world.warm(remit)
    flags = flags_for(here, f"{API}:80")
    said(here.keeper.warm(FETCH, *flags))
    proxy_launcher = proxy_launcher_of(here)
    os.kill(proxy_launcher, signal.SIGKILL)
    here.keeper.until(lambda: not by_name(here, "remit-launcher"))
    # Those that waited have their proxies.
    results = iter(lambda: here.keeper.json(FETCH, *flags), None)
    last = next(r for r in results if r["status"] != "ok")
    assert last["status"] == "internal" and "proxy launcher" in last["error"]["value"], last
    here.keeper.until(lambda: here.keeper.json("print(1)")["start"] == "warm")
    here.keeper.close()


def test_nothing_is_left_when_the_keeper_dies(remit, world):
    here = world.warm(remit)
    said(here.allow(FETCH, f"{API}:80"))
    here.keeper.until(lambda: {"remit-proxy", "remit-launcher"} <= {name_of(pid) for pid in here.keeper.family()})
    family = here.keeper.family()
    os.kill(here.keeper.pid, signal.SIGKILL)
    here.keeper.process.wait()
    assert gone(lambda: [pid for pid in family if is_alive(pid)]) == []
