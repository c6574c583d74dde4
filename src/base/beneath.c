#include "beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int
beneath_open(int folder, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	/* Those say how to read, which O_PATH does not. */
	if (!(flags & O_PATH))
		how.flags |= O_NONBLOCK | O_NOCTTY;
	return (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

bool
beneath_is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}
