#include "base/file/beneath.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/own.h"

int
beneath_open(int directory, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	/* openat2(2) refuses these flags together with O_PATH. */
	if (!(flags & O_PATH))
		how.flags |= O_NONBLOCK | O_NOCTTY;
	return (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
}

/* Opens the directory with this name of `len` bytes. Creates it if missing. */
static int
make_below(int directory, const char *path, size_t len, mode_t mode)
{
	char part[NAME_MAX + 1];

	if (len > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(part, path, len);
	part[len] = '\0';
	if (!len || beneath_is_dots(part)) {
		errno = EINVAL;
		return -1;
	}
	if (mkdirat(directory, part, mode) < 0 && errno != EEXIST)
		return -1;
	return openat(directory, part,
		      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int
beneath_make_parent(int directory, const char *path, mode_t mode,
		    const char **name)
{
	own_fd int at = fcntl(directory, F_DUPFD_CLOEXEC, 0);
	const char *slash;

	for (; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		int below = make_below(at, path, (size_t)(slash - path), mode);

		own_fd_close(&at);
		at = below;
	}
	*name = path;
	return take_fd(&at);
}

bool
beneath_is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}
