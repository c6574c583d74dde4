#!/bin/sh
# Installs the Debian packages that the build needs; with "deb" also those that
# make Debian packages; with "wasm" also those that tools/wasm.sh needs; with "test"
# also those that the tests need, the guest's kernel (tests/guest) and the npm
# packages of the tests (tests/npm). If all of
# them are installed it changes nothing, so an ordinary user can build on a machine
# that root has set up. With "check" it only checks whether Remit can be built on
# this machine.
#
# REMIT_SETUP=skip installs no packages: for a distribution without apt, where you
# install the packages in the list below yourself.
set -eu

build="meson ninja-build pkg-config gcc libc6-dev linux-libc-dev libjansson-dev
libmbedtls-dev libseccomp-dev python3 python3-dev scdoc"
deb="debhelper dh-apparmor dh-python lintian"
test="libcmocka-dev clang clang-tidy-19 clang-format-19 libclang-rt-dev cppcheck ccache
mandoc bubblewrap python3-pytest python3-pytest-xdist python3-pip python3-venv
python3-numpy python3-pandas python3-matplotlib python3-scipy util-linux keyutils procps
podman runc qemu-system-x86 busybox-static e2fsprogs systemd dbus dbus-user-session
libpam-systemd chromium curl prometheus nginx-light openssl git mmdebstrap iproute2 mount
passwd xz-utils"
# Only Debian 12 has all of these (tools/wasm.sh).
wasm="python3.11 clang-14 lld-14 llvm-14 libclang-rt-14-dev-wasm32 wasi-libc wabt gcc make
dpkg-dev"
# An npm from elsewhere comes with its own Node, which conflicts with Debian's npm.
command -v npm >/dev/null || test="$test nodejs npm"
kernel=linux-image-cloud-amd64
kernel_dir="$(dirname "$0")/../build/guest/kernel"

fail() {
	echo "setup: $*" >&2
	exit 1
}

# ---- can this machine build and run Remit at all? ----

# is_older A B: version A is older than version B
is_older() {
	[ "$1" != "$2" ] &&
		[ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

check_machine() {
	system=$(uname -s) machine=$(uname -m) release=$(uname -r)
	[ "$system" = Linux ] ||
		fail "Remit needs Linux, and this is $system. Use a Linux machine or a virtual machine."
	case $machine in
	x86_64 | aarch64) ;;
	*) fail "Remit has system call filters for x86_64 and aarch64 only, and this is $machine." ;;
	esac
	# uname names the kernel's architecture, which may differ, as on Raspberry Pi OS.
	[ "$(getconf LONG_BIT 2>/dev/null || echo 64)" = 64 ] ||
		fail "Remit needs a 64-bit system, and this one has 32-bit programs on a 64-bit kernel" \
			"($machine). Install the distribution's 64-bit edition."
	! is_older "${release%%[!0-9.]*}" 5.14 ||
		fail "Remit needs Linux 5.14 or newer, and this kernel is $release. Boot a newer kernel."
}

read_distribution() {
	ID=unknown VERSION_ID= PRETTY_NAME="a system without /etc/os-release"
	[ ! -r /etc/os-release ] || . /etc/os-release
}

check_apt() {
	command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
		fail "this script installs packages with apt only, and $PRETTY_NAME has none." \
			"Install the equivalents of these Debian packages and run again with" \
			"REMIT_SETUP=skip:" $build
}

# The oldest release of each distribution whose packages are new enough.
check_distribution() {
	oldest=
	case $ID in
	debian) oldest=12 ;;
	ubuntu) oldest=24.04 ;;
	esac
	if [ -n "$oldest" ] && [ -n "$VERSION_ID" ] && is_older "$VERSION_ID" "$oldest"; then
		fail "Remit needs $ID $oldest or newer (for meson 1.0 and Mbed TLS 2.28), and this is" \
			"$PRETTY_NAME. Upgrade, or install the wheel, which brings what it needs."
	fi
}

check_tools() {
	for tool in meson ninja python3; do
		command -v "$tool" >/dev/null ||
			fail "the program $tool is missing. Install the equivalents of these Debian" \
				"packages:" $build
	done
	# Distributions that check_distribution does not know.
	meson=$(meson --version) || fail "meson --version failed (see above). Reinstall meson."
	! is_older "$meson" 1.0 ||
		fail "Remit needs meson 1.0 or newer, and this is meson $meson. Use a newer release of the" \
			"distribution, or install the wheel, which brings what it needs."
}

check_python() {
	[ -x /usr/bin/python3 ] || return 0
	/usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
		fail "Remit needs CPython 3.9 or newer, and /usr/bin/python3 is" \
			"$(/usr/bin/python3 -V 2>&1). Use a newer release of the distribution."
}

# ---- packages ----

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

apt() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null
}

# One call per package, since apt-cache succeeds if it knows any of several.
are_known() {
	for package in $missing; do
		apt-cache show "$package" >/dev/null 2>&1 || return 1
	done
}

# The packages are checked afterwards, since apt-get succeeds without fetching a list.
fetch_lists() {
	apt update -qq || true
	are_known ||
		fail "apt does not know all of these packages. If its lists could not be fetched (see" \
			"above), check this machine's network and /etc/apt; else this distribution" \
			"lacks one:$missing"
}

# If a first attempt fails, the package lists may be old: fetch them and try again.
install_packages() {
	[ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null ||
		fail "these packages are missing, and only root can install them:$missing." \
			"Ask root to run tools/setup.sh${1:+ $1}."
	echo "setup: installing$missing"
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	if are_known && apt install -y -qq --no-install-recommends $missing >"$log" 2>&1; then
		return
	fi
	fetch_lists
	apt install -y -qq --no-install-recommends $missing >"$log" 2>&1 || {
		cat "$log" >&2
		fail "apt-get could not install what is missing (see above)."
	}
}

# ---- what only tests need and no package contains ----

# Unpacks the kernel without installing it, so that the machine does not offer to
# boot it. If it cannot be fetched, the guest's tests report that.
unpack_kernel() {
	[ "$(dpkg --print-architecture)" = amd64 ] || return 0
	[ -z "$(find "$kernel_dir" -name 'vmlinuz-*' 2>/dev/null)" ] ||
		return 0
	name=$(apt-cache depends "$kernel" 2>/dev/null |
		sed -n 's/^ *Depends: //p')
	[ -n "$name" ] || return 0
	echo "setup: unpacking $name"
	rm -rf "$kernel_dir"
	mkdir -p "$kernel_dir"
	(cd "$kernel_dir" && apt-get download -qq "$name" 2>/dev/null &&
		dpkg-deb -x ./*.deb . && rm -f ./*.deb) || rm -rf "$kernel_dir"
}

# If a download fails, the tests that need it report that. Root would leave files
# in another user's checkout that this user cannot replace; "make test" calls this
# script again as that user.
fetch_for_tests() {
	[ "$(stat -c %u "$(dirname "$0")")" = "$(id -u)" ] || return 0
	unpack_kernel
	/usr/bin/python3 "$(dirname "$0")/../tests/npm/packages.py"
}

# ---- all of it ----

check_machine
check_python
read_distribution
if [ "${1:-}" = check ]; then
	check_distribution
	exit
fi
if [ "${REMIT_SETUP:-}" != skip ]; then
	check_apt
	check_distribution
	case ${1:-build} in
	build) wanted=$build ;;
	deb) wanted="$build $deb" ;;
	wasm) wanted="$build $wasm" ;;
	test) wanted="$build $deb $test" ;;
	*) fail "unknown argument \"$1\": it must be deb, wasm, test or check." ;;
	esac
	missing=
	for package in $wanted; do
		is_installed "$package" || missing="$missing $package"
	done
	[ -z "$missing" ] || install_packages "$@"
fi
check_tools
[ "${1:-}" != test ] || fetch_for_tests
