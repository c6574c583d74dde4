#include "cli/ask/policy_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/file/io.h"
#include "policy/edit.h"

#define DOCUMENT_MAX ((size_t)1024 * 1024)

struct place {
	const char *path; /* for messages */
	const char *name; /* in the directory */
	int directory;
	struct stat old;
};

static void
place_free(struct place *p)
{
	own_fd_close(&p->directory);
}

static int
open_directory(struct place *p, const char *path, struct remit_error *err)
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX];

	p->path = path;
	p->name = slash ? slash + 1 : path;
	if ((size_t)snprintf(directory, sizeof(directory), "%.*s%s",
			     slash ? (int)(slash - path) : 0, path,
			     slash ? "/" : ".") >= sizeof(directory))
		return fail(err, REMIT_E_INPUT, "%s: name too long", path);
	p->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->directory < 0)
		return fail_sys(err, REMIT_E_KERNEL, "the folder of %s", path);
	return 0;
}

static int
read_old(struct place *p, struct buf *out, struct remit_error *err)
{
	own_fd int fd = openat(p->directory, p->name,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == ELOOP)
		return fail(err, REMIT_E_INPUT,
			    "%s is a link: give --policy the file itself",
			    p->path);
	if (fd < 0 || fstat(fd, &p->old) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "%s", p->path);
	if (!S_ISREG(p->old.st_mode) || p->old.st_nlink != 1)
		return fail(err, REMIT_E_INPUT,
			    "%s is no regular file with one name", p->path);
	if (io_read_all(fd, out) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "%s", p->path);
	return 0;
}

/* The owner first: changing it may take bits off the mode. */
static int
fill_new(const struct place *p, int fd, const struct buf *text,
	 struct remit_error *err)
{
	if (fchown(fd, p->old.st_uid, p->old.st_gid) < 0 ||
	    fchmod(fd, p->old.st_mode & 07777) < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"write %s: its owner and group cannot be kept",
				p->path);
	if (io_write_all(fd, text->data, text->len) < 0 || fsync(fd) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "write %s", p->path);
	return 0;
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Who changed the file since it was read must not lose what they wrote. */
static int
take_name(const struct place *p, const char *temp, struct remit_error *err)
{
	struct stat now;

	if (fstatat(p->directory, p->name, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !is_same(&now, &p->old))
		return fail(err, REMIT_E_KERNEL,
			    "write %s: somebody else changed it", p->path);
	if (renameat(p->directory, temp, p->directory, p->name) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "write %s", p->path);
	return 0;
}

static int
replace(const struct place *p, const struct buf *text, struct remit_error *err)
{
	uint64_t number = 0;
	own_fd int fd = -1;
	char temp[48];

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return fail_sys(err, REMIT_E_KERNEL, "getrandom");
	snprintf(temp, sizeof(temp), ".remit-policy-%016llx",
		 (unsigned long long)number);
	fd = openat(p->directory, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "a new file beside %s",
				p->path);
	if (fill_new(p, fd, text, err) < 0 || take_name(p, temp, err) < 0) {
		unlinkat(p->directory, temp, 0);
		return -1;
	}
	if (fsync(p->directory) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "sync %s", p->path);
	return 0;
}

int
policy_file_grant(const char *path, const struct field *f, const char *text,
		  struct remit_error *err)
{
	own(buf) struct buf old = BUF_INIT(DOCUMENT_MAX);
	own(buf) struct buf new = BUF_INIT(DOCUMENT_MAX);
	own(place) struct place p = { .directory = -1 };

	if (open_directory(&p, path, err) < 0 || read_old(&p, &old, err) < 0 ||
	    policy_edit_grant(&old, f, text, &new, err) < 0)
		return -1;
	return replace(&p, &new, err);
}
