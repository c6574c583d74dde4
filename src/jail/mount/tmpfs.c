#include "jail/mount/tmpfs.h"

#include <stdio.h>
#include <sys/mount.h>

#include "base/own.h"

int
tmpfs_new(uint64_t bytes, uint64_t inodes, unsigned attr)
{
	own_fd int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	char text[24];

	if (fs < 0)
		return -1;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	if (bytes && fsconfig(fs, FSCONFIG_SET_STRING, "size", text, 0) < 0)
		return -1;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)inodes);
	if (inodes &&
	    fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", text, 0) < 0)
		return -1;
	if (fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(fs, FSMOUNT_CLOEXEC,
		       attr | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}
