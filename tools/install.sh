#!/bin/sh
# Installs what is built in a folder, if its user may write where it goes: below
# the prefix that the folder was set up with, or below $DESTDIR.
#
#	install.sh BUILD
set -eu

folder=$(python3 -c 'import json, sys
print(*(o["value"] for o in json.load(open(sys.argv[1])) if o["name"] == "prefix"))' \
	"$1/meson-info/intro-buildoptions.json")
case ${DESTDIR:=} in
'') ;;
/*) folder=$DESTDIR ;;
*) folder=$PWD/$DESTDIR ;; # Meson would take it for a folder in BUILD.
esac
[ -z "$DESTDIR" ] || export DESTDIR="$folder"
while [ ! -e "$folder" ]; do
	folder=$(dirname "$folder")
done
[ -w "$folder" ] || {
	echo "install: $folder cannot be written by you. Run it as root, or install" \
		"elsewhere: make install DESTDIR=FOLDER," \
		"or meson configure $1 -Dprefix=FOLDER before." >&2
	exit 1
}
meson install -C "$1" --quiet
# The linker's cache is of this machine.
if [ -z "$DESTDIR" ] && [ "$(id -u)" = 0 ] && command -v ldconfig >/dev/null; then
	ldconfig
fi
