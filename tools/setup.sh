#!/bin/sh
# Installs the Debian packages that building (and with "test", testing) needs.
# Does nothing where they are there already, so that an ordinary user can build
# on a machine that root has set up.
set -eu

build="meson ninja-build pkg-config gcc libc6-dev linux-libc-dev libjansson-dev
libseccomp-dev python3 python3-dev scdoc"
test="libcmocka-dev clang clang-tidy clang-format libclang-rt-14-dev cppcheck
mandoc bubblewrap python3-pytest python3-venv python3-numpy python3-pandas
python3-matplotlib python3-scipy util-linux keyutils procps"

wanted=$build
[ "${1:-}" != test ] || wanted="$build $test"

missing=
for package in $wanted; do
	dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok' ||
		missing="$missing $package"
done
[ -n "$missing" ] || exit 0

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
