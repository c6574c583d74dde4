#!/bin/busybox sh
# The first process of the guest: mounts the disk and starts the first process on
# it. The tests need a disk, because pivot_root cannot leave an initramfs.
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
