#!/bin/sh
# view.sh: the include path of one folder of src, as links to itself and to the
# folders below it.
#
#	view.sh SRC VIEW FOLDER...
set -e
src=$1 view=$2
shift 2
rm -rf "$view"
mkdir -p "$view"
for folder in "$@"; do
	ln -s "$src/$folder" "$view/$folder"
done
