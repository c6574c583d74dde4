#!/bin/sh
# Builds the Debian packages in build-deb/ from the tracked files, as they are in
# the work tree, and checks the packages with lintian. tools/setup.sh installs what
# this needs.
set -eu
cd "$(dirname "$0")/.."

out=$PWD/build-deb
log=$out/build.log

fail() {
	echo "deb: $*" >&2
	exit 1
}

fail_with_log() {
	tail -n 50 "$log" >&2
	fail "$* The end of $log is above."
}

# A file that is tracked but deleted is left out.
export_sources() {
	git ls-files -z | tar -c --null --ignore-failed-read -T - 2>/dev/null |
		tar -x -C "$sources"
	[ -f "$sources/debian/rules" ] ||
		fail "the list of source files comes from git: run this in a git checkout that you own."
}

# The version comes from VERSION, the text from CHANGELOG.md, the date from git.
write_changelog() {
	. /etc/os-release
	{
		echo "remit ($version) ${VERSION_CODENAME:-unstable}; urgency=medium"
		echo
		awk -v version="$version" '
			/^## / { wanted = $2 == version }
			wanted && /^- / { print "  * " substr($0, 3) }
			wanted && /^  / { print "  " $0 }' CHANGELOG.md |
			fmt --tagged-paragraph --width=78
		echo
		echo " -- $(sed -n 's/^Maintainer: //p' debian/control)  $(git log -1 --format=%cD)"
	} >"$sources/debian/changelog"
}

# On a terminal, shows the compiler's progress.
build() {
	set -- dpkg-buildpackage --build=binary --no-sign --ignore-builtin-builddeps -j"$(nproc)"
	cd "$sources"
	if [ -t 1 ]; then
		"$@" || fail "the build failed, see above."
	else
		"$@" >"$log" 2>&1 || fail_with_log "The build failed."
	fi
	cd "$out"
}

check() {
	set -- --fail-on error,warning --tag-display-limit 0 ./*.changes
	[ "$(id -u)" != 0 ] || set -- --allow-root "$@"
	lintian "$@" || fail "lintian does not accept the packages, see above."
}

tools/setup.sh deb
rm -rf "$out"
mkdir "$out"
version=$(cat VERSION)
sources=$out/remit-$version
mkdir "$sources"
export_sources
write_changelog
export LC_ALL=C.UTF-8 DEB_BUILD_OPTIONS="terse noautodbgsym"
echo "deb: building Remit $version in $out (takes minutes)"
build
echo "deb: checking the packages with lintian"
check
rm -rf "$sources"
ls ./*.deb | sed 's|^\./|build-deb/|'
