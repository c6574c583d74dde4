#!/bin/sh
# The first process on the disk: runs the tests on the bare kernel, then starts
# systemd, which runs the tests that need it (tests.service) and ends the guest.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec </dev/null >/dev/ttyS0 2>&1
/remit/tests/guest/phase.sh bare
. /remit/guest.env
# shellcheck disable=SC2154
[ -z "$systemd" ] || exec /lib/systemd/systemd --unit=tests.target
echo b >/proc/sysrq-trigger
