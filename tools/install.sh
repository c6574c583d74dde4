#!/bin/sh
# Installs a build, if the user may write to the destination: the prefix with which
# the build was set up, or $DESTDIR.
#
#	install.sh BUILD
set -eu

folder=$(python3 -c 'import json, sys
print(*(o["value"] for o in json.load(open(sys.argv[1])) if o["name"] == "prefix"))' \
	"$1/meson-info/intro-buildoptions.json")
case ${DESTDIR:=} in
'') ;;
/*) folder=$DESTDIR ;;
*) folder=$PWD/$DESTDIR ;; # Meson would resolve it below BUILD.
esac
[ -z "$DESTDIR" ] || export DESTDIR="$folder"
while [ ! -e "$folder" ]; do
	folder=$(dirname "$folder")
done
[ -w "$folder" ] || {
	echo "install: you cannot write to $folder. Run this as root, or install" \
		"elsewhere: make install DESTDIR=FOLDER," \
		"or run meson configure $1 -Dprefix=FOLDER first." >&2
	exit 1
}
meson install -C "$1" --quiet
# The dynamic linker's cache belongs to this machine, not to $DESTDIR.
if [ -z "$DESTDIR" ] && [ "$(id -u)" = 0 ] && command -v ldconfig >/dev/null; then
	ldconfig
fi
