#!/bin/sh
# Installs the Debian packages that building (and with "test", testing) needs,
# and with "test" unpacks the kernel of the guest (tests/guest) and the packages
# of npm that tests use (tests/npm).
# Does nothing where they are there already, so that an ordinary user can build
# on a machine that root has set up.
set -eu

build="meson ninja-build pkg-config gcc libc6-dev linux-libc-dev libjansson-dev
libmbedtls-dev libseccomp-dev python3 python3-dev scdoc"
test="libcmocka-dev clang clang-tidy clang-format libclang-rt-14-dev cppcheck
mandoc bubblewrap python3-pytest python3-pip python3-venv python3-numpy python3-pandas
python3-matplotlib python3-scipy util-linux keyutils procps
podman runc qemu-system-x86 busybox-static e2fsprogs systemd dbus dbus-user-session
libpam-systemd chromium curl prometheus nginx-light openssl"
# Node that came from elsewhere has brought npm along, and Debian's would not fit it.
command -v npm >/dev/null || test="$test nodejs npm"
kernel=linux-image-cloud-amd64
kernel_folder="$(dirname "$0")/../build/guest/kernel"

# Not installed: no machine shall offer to boot it because of our tests. Where
# it cannot be had, the guest's tests say so.
unpack_kernel() {
	[ "$(dpkg --print-architecture)" = amd64 ] || return 0
	[ -z "$(find "$kernel_folder" -name 'vmlinuz-*' 2>/dev/null)" ] ||
		return 0
	name=$(apt-cache depends "$kernel" 2>/dev/null |
		sed -n 's/^ *Depends: //p')
	[ -n "$name" ] || return 0
	echo "setup: unpacking $name"
	rm -rf "$kernel_folder"
	mkdir -p "$kernel_folder"
	(cd "$kernel_folder" && apt-get download -qq "$name" 2>/dev/null &&
		dpkg-deb -x ./*.deb . && rm -f ./*.deb) || rm -rf "$kernel_folder"
}

# What is not packaged: where it cannot be had, the tests that need it say so.
fetch_for_tests() {
	unpack_kernel
	/usr/bin/python3 "$(dirname "$0")/../tests/npm/packages.py"
}

wanted=$build
[ "${1:-}" != test ] || wanted="$build $test"

missing=
for package in $wanted; do
	dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok' ||
		missing="$missing $package"
done
if [ -z "$missing" ]; then
	[ "${1:-}" != test ] || fetch_for_tests
	exit 0
fi

echo "setup: installing$missing"
sudo=
if [ "$(id -u)" != 0 ]; then
	sudo="sudo -n"
	if ! $sudo true 2>/dev/null; then
		echo "setup: these packages are missing, and only root can" \
			"install them:$missing" >&2
		exit 1
	fi
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
[ "${1:-}" != test ] || fetch_for_tests
