#!/bin/sh
# Makes a man page with SCDOC, from its source on standard input. The first line
# asks for tbl, which draws the tables: man does not always run it unasked.
#
#	page.sh SCDOC
printf '%s\n' "'\\\" t"
exec "$1"
