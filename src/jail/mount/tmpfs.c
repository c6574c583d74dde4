#include "jail/mount/tmpfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>

#include "base/file/fd.h"
#include "base/file/io.h"
#include "base/own.h"
#include "jail/inside.h"
#include "jail/linux_abi.h"

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

/* ---- the authorities that code trusts ---- */

/* A host's list of authorities has about 200 KiB. */
#define TRUST_BYTES_MAX (8 * 1024 * 1024)

int
trust_file_send(int to, int file)
{
	return pass_send(to, "t", 1, &file, 1, 0) == 1 ? 0 : -1;
}

static int
trust_copy(int from, int to)
{
	char bytes[16384];
	ssize_t n;

	while ((n = io_read(from, bytes, sizeof(bytes))) > 0)
		if (io_write_all(to, bytes, (size_t)n) < 0)
			return -1;
	return n < 0 ? -1 : 0;
}

static int
trust_make_directory(int file)
{
	struct mount_attr a = { .attr_set = MOUNT_ATTR_RDONLY };
	own_fd int fs = tmpfs_new(TRUST_BYTES_MAX, 4, MOUNT_ATTR_NOEXEC);
	own_fd int copied = -1;

	if (fs < 0)
		return -1;
	copied = openat(fs, JAIL_TRUST_NAME,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (copied < 0 || trust_copy(file, copied) < 0)
		return -1;
	/* Close the last writer first: the mount cannot become read-only
	   otherwise. */
	own_fd_close(&copied);
	copied = -1;
	if (mount_setattr(fs, "", AT_EMPTY_PATH, &a, sizeof(a)) < 0)
		return -1;
	return take_fd(&fs);
}

int
trust_file_recv(int from)
{
	int got[PASS_MAX], directory;
	size_t count;
	char tag;

	if (pass_recv(from, &tag, 1, got, &count, 0) != 1)
		return -1;
	if (tag != 't' || count != 1) {
		errno = EPROTO;
		return -1;
	}
	directory = trust_make_directory(got[0]);
	own_fd_close(&got[0]);
	return directory;
}
