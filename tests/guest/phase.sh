#!/bin/sh
# Runs one part of the tests in the guest: phase.sh bare|systemd
. /remit/guest.env
cd /remit || exit 1
export PYTHONDONTWRITEBYTECODE=1 PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PYTHONPATH=/remit/tests/e2e REMIT_MUST_WORK=all
eval "args=\$$1"
eval "set -- $args"
[ $# -gt 0 ] || exit 0
/usr/bin/python3 -m pytest -q --color=no --no-header --tb=short \
	-p no:cacheprovider -o "markers=full: not in the core" "$@"
echo "phase ended: $?"
