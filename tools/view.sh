#!/bin/sh
# view.sh: makes the include path of one folder of src: links to the folder itself
# and to those that it may include from.
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
