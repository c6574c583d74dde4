#!/bin/sh
# Uses an installed Remit as a user would, and stops at the first failure. Runs on
# the machine where Remit is installed, as root or as an ordinary user, with the
# first remit and the first python3 in PATH.
#
#	check_installed.sh deb|wheel VERSION
set -eu

kind=$1
version=$2
scratch=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
	echo "check_installed: $*" >&2
	exit 1
}

# prints TEXT COMMAND...: the command succeeds and prints exactly TEXT
prints() {
	wanted=$1
	shift
	"$@" >stdout 2>stderr || fail "$* failed with exit code $?: $(cat stdout stderr)"
	[ "$(cat stdout)" = "$wanted" ] ||
		fail "$* printed \"$(cat stdout)\" and not \"$wanted\": $(cat stderr)"
}

has_file() {
	[ -r "$1" ] || fail "$1 is not installed"
}

check_command() {
	prints "remit $version" sh -c 'remit --version | cut -d, -f1'
	remit doctor >stdout 2>&1 || fail "remit doctor failed: $(cat stdout)"
	grep -q 'The tier "local" works here' stdout ||
		fail "remit doctor does not recommend the tier local: $(cat stdout)"
	prints 42 remit run -c 'print(6 * 7)'
	# The jail must refuse a socket.
	prints PermissionError remit run -c '
import socket
try:
    socket.socket()
except OSError as error:
    print(type(error).__name__)'
}

# The benchmark is a separate program, which the command has to find.
check_benchmark() {
	if remit bench --rounds 0 >stdout 2>stderr; then
		fail "remit bench --rounds 0 succeeded"
	fi
	grep -q '^remit: --rounds must be a number' stderr ||
		fail "remit bench does not find remit-bench: $(cat stderr)"
}

check_server() {
	remit serve --listen "unix:$scratch/remit.sock" >served 2>&1 &
	server=$!
	tries=100
	until [ -S remit.sock ]; do
		kill -0 "$server" 2>/dev/null || fail "remit serve ended: $(cat served)"
		[ "$tries" -gt 0 ] || fail "remit serve made no socket in 20 seconds: $(cat served)"
		tries=$((tries - 1))
		sleep 0.2
	done
	prints "200 ok 42" python3 -c '
import http.client, json, socket
connection = http.client.HTTPConnection("localhost", timeout=60)
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect("remit.sock")
connection.request("POST", "/v1/runs", json.dumps({"code": "6 * 7"}), {"Content-Type": "application/json"})
answer = connection.getresponse()
result = json.load(answer)
print(answer.status, result["status"], result["value"]["json"])'
	kill "$server"
	wait "$server" || fail "remit serve ended with exit code $?: $(cat served)"
	server=
}

check_module() {
	prints "$version ok 42" python3 -c '
import remit
result = remit.run("print(6 * 7)")
print(remit.__version__, result.status, result.stdout.strip())'
	prints "remit $version" sh -c 'python3 -m remit --version | cut -d, -f1'
}

# These files are only in the Debian packages.
check_debian_files() {
	for file in man/man1/remit.1.gz man/man5/remit-policy.5.gz doc/remit/copyright \
		bash-completion/completions/remit.bash remit/apparmor/remit; do
		has_file "/usr/share/$file"
	done
	for unit in remit-keeper.service remit-keeper.socket remit-serve.service; do
		has_file "/usr/lib/systemd/user/$unit"
	done
	has_file /usr/include/remit.h
	has_file "$(echo /usr/lib/*/pkgconfig/remit.pc)"
	prints True python3 -c 'import ctypes; print(bool(ctypes.CDLL("libremit.so.0").remit_open))'
}

check_command
check_benchmark
check_server
check_module
[ "$kind" != deb ] || check_debian_files
echo "check_installed: all checks passed ($kind, $(id -un))"
