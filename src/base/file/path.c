#include "base/file/path.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/io.h"
#include "base/text.h"

/* How much a trial writes, to test whether the cache can be used: more than
   Remit stores there for one interpreter. */
#define TRIAL_BYTES (1024 * 1024)

static int
path_make_private(const char *path, struct remit_error *err)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", path);
	if (stat(path, &st) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "stat %s", path);
	if (st.st_uid != geteuid() || st.st_mode & 022)
		return fail(err, REMIT_E_INPUT,
			    "%s must belong to you and must not be writable by "
			    "other users",
			    path);
	return 0;
}

int
path_cache_dir(char **out, struct remit_error *err)
{
	const char *base = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	own_mem char *own = NULL;
	char directory[PATH_MAX];

	if (base && base[0] == '/') {
		snprintf(directory, sizeof(directory), "%s", base);
	} else {
		if (!home || home[0] != '/')
			return fail(err, REMIT_E_INPUT,
				    "neither XDG_CACHE_HOME nor HOME names a "
				    "directory for the cache");
		snprintf(directory, sizeof(directory), "%s/.cache", home);
	}
	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", directory);
	if (asprintf(&own, "%s/remit", directory) < 0) {
		own = NULL;
		return fail_memory(err, "cache directory");
	}
	if (path_make_private(own, err) < 0)
		return -1;
	*out = take_ptr(&own);
	return 0;
}

static int
write_zeroes(int fd, size_t len)
{
	static const char zeroes[4096];

	for (size_t n; len; len -= n) {
		n = len < sizeof(zeroes) ? len : sizeof(zeroes);
		if (io_write_all(fd, zeroes, n) < 0)
			return -1;
	}
	return 0;
}

int
path_cache_try(struct remit_error *err)
{
	own_mem char *cache = NULL;
	char file[PATH_MAX];
	int fd, bad;

	if (path_cache_dir(&cache, err) < 0)
		return -1;
	snprintf(file, sizeof(file), "%s/trial", cache);
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "write %s", file);
	/* Write real bytes: fallocate(2) would not notice a failing write. */
	bad = write_zeroes(fd, TRIAL_BYTES) < 0;
	bad |= close(fd) < 0;
	if (bad)
		fail_sys(err, REMIT_E_KERNEL, "write %s", file);
	unlink(file);
	return bad ? -1 : 0;
}

int
path_keeper_socket(char *out, size_t size)
{
	const char *base = getenv("XDG_RUNTIME_DIR");
	int n;

	if ((!base || base[0] != '/') && geteuid() == 0)
		base = "/run";
	if (!base || base[0] != '/') {
		errno = ENOENT;
		return -1;
	}
	n = snprintf(out, size, "%s/remit/keeper.sock", base);
	if (n < 0 || (size_t)n >= size) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return 0;
}

int
path_own_dir(char **out, struct remit_error *err)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (n < 0)
		return fail_sys(err, REMIT_E_KERNEL, "readlink /proc/self/exe");
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	*out = strndup(exe, slash ? (size_t)(slash - exe) : 0);
	if (!*out)
		return fail_memory(err, "directory of the program");
	return 0;
}

const char *
path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool
path_lies_in(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return !strncmp(path, directory, n) && (path[n] == '/' || !path[n]);
}

int
path_read_file(struct buf *b, const char *path, struct remit_error *err)
{
	/* Without O_NONBLOCK, opening a FIFO would block. */
	own_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_sys(err, REMIT_E_INPUT, "%s", path);
	if (!S_ISREG(st.st_mode))
		return fail(err, REMIT_E_INPUT, "%s is %s, not a regular file",
			    path, S_ISDIR(st.st_mode) ? "a folder" : "special");
	if (io_read_all(fd, b) < 0)
		return fail_sys(err, REMIT_E_INPUT, "%s", path);
	return 0;
}

int
path_write_file(const char *path, const char *text, size_t len,
		struct remit_error *err)
{
	char temp[PATH_MAX];
	int fd, bad;

	if ((size_t)snprintf(temp, sizeof(temp), "%s.%d.new", path,
			     (int)getpid()) >= sizeof(temp))
		return fail(err, REMIT_E_INPUT, "%s: name too long", path);
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "write %s", path);
	bad = io_write_all(fd, text, len) < 0;
	bad |= close(fd) < 0;
	if (bad || rename(temp, path) < 0) {
		fail_sys(err, REMIT_E_KERNEL, "write %s", path);
		unlink(temp);
		return -1;
	}
	return 0;
}

/* ---- plain paths ---- */

static bool
has_control(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		/* U+0080 to U+009F are control characters, too: c2 80 to c2
		   9f. */
		if (c < 0x20 || c == 0x7f ||
		    (c == 0xc2 && (unsigned char)s[i + 1] < 0xa0))
			return true;
	}
	return false;
}

static bool
is_plain(const char *s, size_t len)
{
	if (!len || len > NAME_MAX || s[0] == '-')
		return false;
	if (s[0] == '.' && (len == 1 || (len == 2 && s[1] == '.')))
		return false;
	return text_valid_prefix(s, len) == len && !has_control(s, len);
}

bool
plain_name(const char *name)
{
	return !strchr(name, '/') && is_plain(name, strlen(name));
}

bool
plain_path(const char *path)
{
	if (strnlen(path, PLAIN_PATH_SIZE) == PLAIN_PATH_SIZE)
		return false;
	for (;;) {
		size_t n = strcspn(path, "/");

		if (!is_plain(path, n))
			return false;
		if (!path[n])
			return true;
		path += n + 1;
	}
}
