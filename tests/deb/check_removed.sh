#!/bin/sh
# Checks that removing a package leaves no files: compares the files of the system
# before the installation with those after the removal. Install the package's
# dependencies first, since their removal is not checked.
#
#	check_removed.sh before LIST    writes the list
#	check_removed.sh after LIST     fails if a file was added or is missing
set -eu

# Caches and logs of apt and dpkg always change. /run is not listed, since it is
# empty after each boot; runs by root keep their leases of user ids there.
system_files() {
	find /boot /etc /opt /srv /tmp /usr /var \
		\( -path /var/cache -o -path /var/lib/apt -o -path /var/log -o -path /var/tmp \) \
		-prune -o -print | LC_ALL=C sort
}

case $1 in
before) system_files >"$2" ;;
after)
	if ! system_files | diff "$2" - >"$2.changes"; then
		echo "check_removed: these files were added (>) or are missing (<):" >&2
		grep '^[<>]' "$2.changes" >&2
		exit 1
	fi
	echo "check_removed: nothing is left"
	;;
esac
