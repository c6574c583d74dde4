"""credentials inside of TLS: the proxy ends it, and begins its own with whom it has checked."""

import json
import subprocess

import network_here
import pytest
from conftest import enforced
from leftovers import gone, processes
from network_here import TRY, connections, requests, said
from test_network import memory_has, name_of
from test_network_credentials import API, INNER, LOOK, SECRET, keys

KEY = ("--credential", f"{API}:X-Key=env:KEY")


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-credentials-tls") as w:
        yield w


@pytest.fixture
def here(remit, world):
    return world.inside(remit)


def test_the_header_arrives_inside_of_tls(here, world, covers):
    mark = world.mark()
    code = LOOK + f"""
say(a=fetch("https://{API}/a"), big=len(fetch("https://{API}/big/3000000")), seen=os.environ["KEY"],
    posted=fetch("https://{API}/post", data=b"p" * 200000), usual=open(os.environ["SSL_CERT_FILE"]).read().count("BEGIN CERT") > 50)
"""
    result = here.allow(code, f"{API}:443", flags=KEY, env={"KEY": SECRET})
    answers = said(result)
    assert API in answers["a"] and answers["big"] == 3000000 and answers["posted"] == "200000"
    assert answers["seen"] == "kept-by-remit" and answers["usual"]
    assert keys(world.seen(mark)) == [SECRET] * 3 and "s3cr3t" not in json.dumps(result)
    assert enforced(result, "credentials") == ["proxy"]
    assert result["usage"]["network"]["hosts"][0]["connections"] == 3
    covers(here, "credentials", "proxy")
