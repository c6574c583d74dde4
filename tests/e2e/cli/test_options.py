"""The command line of every command: one parser, and help, completion and man page made from its tables."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess

import pytest
from conftest import ROOT, skip_or_fail

BUILD = pathlib.Path(os.environ.get("REMIT", ROOT / "build" / "remit")).parent
TOOLS = {"--tool": "t=cat", "--tool-help": "t=x", "--tool-schema": "t=schema.json", "--tool-result": "t=json", "--tool-approval": "t=first"}
JSON = {"--json": None}

# Each command's options besides those of the policy, with a value for those that require one
OWN: dict[str, dict[str, str | None]] = {
    "run": {
        "-c": "1", "--json": None, "--value": None, "--raw": None, "--ask": None, "--dry-run": None, "--file": "x:y",
        "--artifacts": "out", "--displays": "out", "--audit": "audit.jsonl", **TOOLS,
    },
    "repl": {"--artifacts": "out", "--raw": None, **TOOLS},
    "check": {"-c": "1", **JSON},
    "batch": {
        "-j": "2", "--unordered": None, "--output": "out", "--resume": None, "--force": None, "--quiet": None,
        "--audit": "audit.jsonl", "--artifacts": "out",
    },
    "policy": {"--fields": None},
    "explain": JSON,
    "instructions": {"--session": None, **TOOLS},
    "matrix": JSON,
    "doctor": {"--json": None, "--clean": None},
    "bench": {"--quick": None, "--rounds": "2", "--only": "x", "--python": "python3", "--json": "x"},
    "completion": {},
    "serve": {
        "--listen": "127.0.0.1:0", "--keys": "keys", "--add-key": "x", "--open": None, "--e2b-debug": None,
        "--allow-host": "x", "--allow-origin": "https://x", "--log": "-", "--audit": "x", "--tls-certificate": "x",
        "--tls-key": "x", "--limits": None, "--max-running": "2", "--max-sessions": "2", "--max-rooms": "2",
        "--max-memory": "1G", "--max-result-bytes": "1G", "--max-body-bytes": "1M", "--max-connections": "2",
        "--max-artifact-bytes": "1M", "--key-share": "20", "--max-snapshot-bytes": "1M", "--max-snapshots": "2",
        "--keep-snapshots": "60", "--state": "x", "--pause-files-only": None, "--sandbox-ports": "token",
        "--max-port-connections": "2", "--port-idle": "2",
    },
    "keeper": {"--listen": "x", "--audit": "x"},
    "status": JSON,
    "logs": JSON,
    "packages list": JSON,
    "packages prune": {"--unused": "1h", "--max-bytes": "1G", "--all": None},
    "mcp": {"--install": "cursor"},
}  # fmt: skip
POLICY = ("run", "repl", "check", "batch", "policy", "explain", "instructions", "doctor", "serve", "keeper", "mcp")


@pytest.fixture
def fields(remit) -> list[dict]:
    return json.loads(remit("policy", "--fields").stdout)


def flag(field: dict) -> str:
    return "--" + field["short"].replace("_", "-")


def flags_of(command: str, fields: list[dict]) -> set[str]:
    """The policy options of a command. If the command has an option with the same name, the policy's option has its
    long name."""
    if command not in POLICY:
        return set()
    own = OWN[command]
    return {"--policy", "--preset"} | {
        flag(f) if flag(f) not in own else "--" + f["name"].replace("_", "-") for f in fields
    }


def help_of(remit, command: str) -> set[str]:
    """All options in the left column of a command's help."""
    done = remit(*command.split(), "--help")
    assert done.returncode == 0 and done.stdout.startswith(f"Usage: remit {command}"), done
    assert max(map(len, done.stdout.splitlines())) <= 80
    return set(re.findall(r"^  (--?[a-z0-9-]+)(?: |$)", done.stdout, re.M))


def test_table_of_this_test_lists_every_command(any_remit):
    listed = set(re.findall(r"^  ([a-z]+) ", any_remit("--help").stdout, re.M))
    assert listed == {command.split()[0] for command in OWN}


@pytest.mark.parametrize("command", OWN)
def test_help_lists_every_option(any_remit, fields, command):
    assert help_of(any_remit, command) == set(OWN[command]) | flags_of(command, fields)


def test_help_of_packages_lists_both_commands(any_remit):
    shown = any_remit("packages", "--help").stdout
    assert "Usage: remit packages list" in shown and "Usage: remit packages prune" in shown and "--max-bytes" in shown


def completed(script: str, *words: str) -> list[str]:
    typed = " ".join(words)
    script += f"\nCOMP_WORDS=(remit {typed}); COMP_CWORD={len(words)}; _remit; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()


def test_every_option_is_completed_after_its_command(remit, fields):
    script = remit("completion").stdout
    assert script == remit("completion", "bash").stdout
    for command, own in OWN.items():
        known = set(completed(script, *command.split(), "--")) | set(completed(script, *command.split(), "-"))
        assert set(own) | flags_of(command, fields) | {"--help"} <= known, command
    assert "--memory" not in completed(script, "status", "--")
    assert set(completed(script, "packages", '""')) == {"list", "prune"}
    assert completed(script, "run", "--no-ne") == ["--no-net"]


def test_every_option_is_in_man_page(fields):
    path = BUILD / "man" / "remit.1"
    if not path.exists():
        skip_or_fail(f"{path} is not built")
    text = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=200", path], capture_output=True, check=True).stdout.decode()
    text = re.sub(".\x08", "", text)
    commands = text[text.index("\nCOMMANDS") : text.index("\nBATCH")]
    sections = dict(re.findall(r"^ {7}remit ((?:packages )?[a-z]+)[^\n]*\n((?:(?: {9}[^\n]*)?\n)*)", commands, re.M))
    synopsis = text[text.index("\nSYNOPSIS") : text.index("\nDESCRIPTION")]
    for command, own in OWN.items():
        assert f"remit {command}" in synopsis, command
        shared = TOOLS if command in ("repl", "instructions") else {}
        for option in set(own) - set(shared):
            assert re.search(rf"^ +(?:-\w, )?{option}(?: |$)", sections[command], re.M), (command, option)
        assert not shared or "--tool" in sections[command]
    source = (ROOT / "man" / "remit.1.scd.in").read_text()
    assert not re.search(r"^\t\*--?[a-z-]+\*( _[A-Z]+_)?$", source, re.M), "an option is described by hand"


@pytest.mark.parametrize("command", OWN)
def test_every_option_accepts_both_forms(any_remit, command):
    """The unknown option at the end stops the command, so nothing runs, but what precedes it has been parsed."""
    before = ("--tool", "t=cat") if "--tool-help" in OWN[command] else ()
    any_remit.file("schema.json", "{}")
    for option, value in OWN[command].items():
        forms = [(option,)] if value is None else [(option, value), (f"{option}={value}",)]
        for form in forms[:1] if option == "-c" or option == "-j" else forms:
            done = any_remit(*command.split(), *before, *form, "--frobnicate")
            if command == "run" and option == "-c":
                assert done.returncode == 0, done
            else:
                assert done.returncode == 2 and "unknown option --frobnicate" in done.stderr, (form, done)
    if command == "batch":
        assert "unknown option --frobnicate" in any_remit("batch", "-j2", "--frobnicate").stderr


@pytest.mark.parametrize("command", OWN)
def test_wrong_option_is_error_with_suggestion(any_remit, command):
    def wrong(*args: str) -> str:
        done = any_remit(*command.split(), *args)
        assert done.returncode == 2 and done.stdout == "", done
        return done.stderr

    assert "unknown option --hepl; did you mean --help?" in wrong("--hepl")
    assert f'unknown option --frobnicate; "remit {command} --help" lists the options' in wrong("--frobnicate")
    assert "belongs to remit " in wrong("--listen" if command not in ("serve", "keeper") else "--rounds")
    for option, value in OWN[command].items():
        if not option.startswith("--"):
            continue
        if value is None:
            assert f"{option} takes no value" in wrong(f"{option}=1")
        else:
            assert f"{option} requires a value" in wrong(option)
            assert f"write {option}=VALUE if it begins with --" in wrong(option, "--frobnicate")


@pytest.mark.parametrize("command", POLICY)
def test_policy_options_use_same_parser(any_remit, command):
    def stops(*args: str) -> str:
        done = any_remit(command, *args, "--frobnicate")
        assert done.returncode == 2 and done.stdout == "", done
        return done.stderr

    for form in (("--timeout", "5s"), ("--timeout=5s",), ("--net",), ("--no-net",), ("--net=host",), ("--memory_bytes", "1G")):
        assert "unknown option --frobnicate" in stops(*form), form
    assert "unknown option --timout; did you mean --timeout?" in stops("--timout", "5s")
    assert "--timeout requires a value, such as 30s" in stops("--timeout")


@pytest.mark.parametrize(
    "args,words",
    [
        (("keeper", "--tls-key", "x"), "--tls-key belongs to remit serve, not to remit keeper"),
        (("matrix", "--add-key=x"), "--add-key belongs to remit serve, not to remit matrix"),
        (("packages", "list", "--all"), "--all belongs to remit packages prune, not to remit packages list"),
        (("packages", "prune", "--json"), "not to remit packages prune"),
        (("status", "--memory", "1G"), "--memory belongs to remit run, remit repl and others, not to remit status"),
        (("batch", "-c", "1"), "-c belongs to remit run and remit check, not to remit batch"),
        (("packages", "remove"), 'unknown subcommand "remove"; packages has list or prune'),
        (("status", "now"), 'unexpected argument "now": remit status takes only options'),
        (("logs", "a", "b"), 'unexpected argument "b": remit logs takes one RUN_ID'),
        (("run", "-json", "x.py"), "unknown option -json; did you mean --json?"),
        (("check", "-cpus", "2"), "unknown option -cpus; did you mean --cpus?"),
        (("serve", "--max-running", "65"), "--max-running must be a number from 1 to 64"),
        (("serve", "--allow-network", "x:1"), "unknown option --allow-network; did you mean"),
        (("--versoin",), "unknown option --versoin; did you mean --version?"),
        (("--json", "run", "x.py"), 'unknown option --json; options follow the command: see "remit --help"'),
        (("serv",), 'unknown command "serv" (did you mean "serve"?)'),
    ],
)
def test_errors_name_the_command(any_remit, args, words):
    done = any_remit(*args)
    assert done.returncode == 2 and words in done.stderr and done.stdout == "", done


def test_arguments_after_program_belong_to_it(any_remit):
    tool = any_remit.file("tool.py", "import sys; print(sys.argv[1:])")
    for args in (["--help"], ["-h"], ["--json", "--", "--memory"], ["--", "--help"]):
        assert any_remit("run", tool, *args).stdout == f"{args}\n"
        assert any_remit("run", "--", tool, *args).stdout == f"{args}\n"
    assert any_remit("run", "-c", "import sys; print(sys.argv[1:])", "--help", "-c").stdout == "['--help', '-c']\n"
    assert any_remit("run", "--json", "--help", tool).stdout.startswith("Usage: remit run")
    assert any_remit("check", tool, "--help").stdout.startswith("Usage: remit check")


def test_options_and_operands_may_be_mixed(any_remit):
    program = any_remit.file("odd.py", "1")
    assert json.loads(any_remit("check", program, "--json").stdout)["ok"]
    assert json.loads(any_remit("check", "--json", "--", program).stdout)["ok"]
    assert json.loads(any_remit("check", "-c", "1", "--json", "--timeout=5s").stdout)["ok"]


def test_printed_client_configuration_omits_install_option(any_remit):
    for form in (("--install", "claude"), ("--install=claude",)):
        done = any_remit("mcp", "--timeout=7s", *form, "--net")
        assert json.loads(done.stdout)["mcpServers"]["remit"]["args"] == ["mcp", "--timeout=7s", "--net"]


def test_hidden_policy_option_has_long_name_in_serve(any_remit):
    """In `remit serve`, --allow-host is an option of the server."""
    done = any_remit("serve", "--network-allow=", "--limits")
    assert done.returncode == 2 and "--allow-host: the text is empty" in done.stderr, done
    assert any_remit("serve", "--allow-host=", "--limits").returncode == 0
