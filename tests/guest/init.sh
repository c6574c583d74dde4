#!/bin/busybox sh
# The first process of the guest: finds the disk and starts what is on it.
# It must be a disk: from an initramfs no root can be left.
export PATH=/bin
busybox mkdir -p /proc /dev /disk
busybox mount -t proc proc /proc
busybox ifconfig lo up
busybox mount -t devtmpfs dev /dev
for module in $(busybox cat /modules/order); do
	busybox insmod "/modules/$module.ko"
done
busybox mount -t ext4 /dev/vda /disk
busybox umount /dev /proc
exec busybox switch_root /disk /remit/tests/guest/start.sh
