#include "jail/mount/workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "jail/mount/sweep.h"

/* The descriptors are numbered from here on until the jail starts, above the
   numbers that they get inside. */
#define WORKSPACE_FIRST_FD 16
/* How often another keeper may remove a new directory as a stale one, or the
   base directory as an empty one. */
#define MAKE_TRIES 100

#define TMPDIR_HINT "(TMPDIR can name another folder)"

const char *const workspace_names[WORKSPACE_DIRECTORIES] = {
	[WORKSPACE_HOME] = "workspace",
	[WORKSPACE_TEMP] = "tmp",
};

static int
base_path(char *out, size_t size)
{
	const char *temp = getenv("TMPDIR");
	int n;

	if (!temp || temp[0] != '/')
		temp = "/tmp";
	n = snprintf(out, size, "%s/remit-%u", temp, (unsigned)geteuid());
	if (n < 0 || (size_t)n >= size) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return 0;
}

/* Code in root's jails has another user, and must be able to pass through. */
static mode_t
base_mode(void)
{
	return geteuid() == 0 ? 0711 : 0700;
}

/* Another user may have made the directory first, so that we write into it. */
static bool
is_private_to_us(int directory)
{
	struct stat st;

	return fstat(directory, &st) == 0 && st.st_uid == geteuid() &&
	       !(st.st_mode & 022);
}

/* Another keeper may remove the empty directory between mkdir and open: then
   try again. */
static int
make_and_open(const char *path)
{
	int fd = -1;

	for (int tries = 0; fd < 0 && tries < MAKE_TRIES; tries++) {
		if (mkdir(path, base_mode()) < 0 && errno != EEXIST)
			break;
		fd = open(path,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT)
			break;
	}
	return fd;
}

static int
open_base(const char *path, struct remit_error *err)
{
	own_fd int fd = make_and_open(path);

	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "make %s " TMPDIR_HINT,
				path);
	if (!is_private_to_us(fd))
		return fail(err, REMIT_E_KERNEL,
			    "%s must belong to you and be writable only by "
			    "you " TMPDIR_HINT,
			    path);
	if (fchmod(fd, base_mode()) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "chmod %s", path);
	return take_fd(&fd);
}

/* Make a directory and lock it. Returns -1 with EAGAIN if another keeper has
   taken it for a stale one. */
static int
make_locked_run(int base, const char *name)
{
	own_fd int fd = -1;
	struct stat st;

	if (mkdirat(base, name, base_mode()) < 0)
		return -1;
	fd = openat(base, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
	    st.st_nlink == 0) {
		errno = EAGAIN;
		return -1;
	}
	return fchmod(fd, base_mode()) < 0 ? -1 : take_fd(&fd);
}

static int
make_sentinel(int directory)
{
	own_fd int fd = openat(
		directory, ".sentinel",
		O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);

	return fd < 0 ? -1 : fchmod(fd, 0644);
}

/* Make a directory that only the code's user may enter. *out is opened
   before this process could lose access to it. */
static int
make_code_directory(int at, const char *name, uint32_t uid, int *out)
{
	own_fd int place = -1;

	if (mkdirat(at, name, 0700) < 0)
		return -1;
	if (uid != geteuid() &&
	    fchownat(at, name, uid, uid, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	place = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (place < 0)
		return -1;
	*out = fcntl(place, F_DUPFD_CLOEXEC, WORKSPACE_FIRST_FD);
	return *out < 0 ? -1 : 0;
}

static int
workspace_fill(struct workspace *w, uint32_t uid,
	       int out[WORKSPACE_DIRECTORIES])
{
	for (int i = 0; i < WORKSPACE_DIRECTORIES; i++)
		if (make_code_directory(w->fd, workspace_names[i], uid,
					&out[i]) < 0)
			return -1;
	return make_sentinel(w->fd);
}

int
workspace_make(struct workspace *w, uint32_t uid,
	       int out[WORKSPACE_DIRECTORIES], struct remit_error *err)
{
	char base[PATH_MAX - 32];

	if (base_path(base, sizeof(base)) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "TMPDIR");
	for (int tries = 0; w->fd < 0 && tries < MAKE_TRIES; tries++) {
		uint64_t noise = 0;

		free(w->path);
		own_fd_close(&w->base);
		w->path = NULL;
		w->base = open_base(base, err);
		if (w->base < 0)
			return -1;
		if (getrandom(&noise, sizeof(noise), 0) < 0 ||
		    asprintf(&w->path, "%s/%016llx", base,
			     (unsigned long long)noise) < 0) {
			w->path = NULL;
			return fail_sys(err, REMIT_E_KERNEL, "workspace");
		}
		w->fd = make_locked_run(w->base, strrchr(w->path, '/') + 1);
		/* Another keeper removes the base directory when it is
		   empty. */
		if (w->fd < 0 && errno != EAGAIN && errno != ENOENT)
			break;
	}
	if (w->fd < 0 || workspace_fill(w, uid, out) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "make %s " TMPDIR_HINT,
				base);
	return 0;
}

/* The caller must have locked it. */
static bool
remove_run(int base, const char *name, int directory)
{
	return sweep(directory) == 0 && unlinkat(base, name, AT_REMOVEDIR) == 0;
}

static void
remove_base(void)
{
	char base[PATH_MAX - 32];

	/* rmdir() fails while the base has other workspaces. */
	if (base_path(base, sizeof(base)) == 0 && rmdir(base) < 0)
		errno = 0;
}

static void
close_between(int above, unsigned below)
{
	if ((unsigned)above + 1 < below)
		syscall(SYS_close_range, above + 1, below - 1, 0);
}

/* Runs in a child of the keeper. It closes all other descriptors: a copy of a
   jail's lifeline would keep that jail alive after its keeper has died. */
static void __attribute__((noreturn))
sweep_main(const struct workspace *w)
{
	int low = w->base < w->fd ? w->base : w->fd;
	int high = w->base < w->fd ? w->fd : w->base;

	close_between(-1, (unsigned)low);
	close_between(low, (unsigned)high);
	close_between(high, UINT_MAX);
	if (remove_run(w->base, strrchr(w->path, '/') + 1, w->fd))
		remove_base();
	_exit(0);
}

void
workspace_free(struct workspace *w)
{
	if (w->fd >= 0 && fork() == 0)
		sweep_main(w);
	own_fd_close(&w->fd);
	own_fd_close(&w->base);
	free(w->path);
	*w = (struct workspace)WORKSPACE_INIT;
}

static bool
remove_stale_run(int base, const char *name)
{
	own_fd int fd = openat(base, name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	return remove_run(base, name, fd);
}

unsigned
workspace_clean(void)
{
	char base[PATH_MAX - 32];
	unsigned removed = 0;
	struct dirent *e;
	DIR *d;
	int fd;

	if (base_path(base, sizeof(base)) < 0)
		return 0;
	fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	d = fd < 0 || !is_private_to_us(fd) ? NULL : fdopendir(fd);
	if (!d) {
		own_fd_close(&fd);
		return 0;
	}
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			removed += remove_stale_run(dirfd(d), e->d_name);
	closedir(d);
	remove_base();
	return removed;
}

void
workspace_clean_soon(void)
{
	char base[PATH_MAX - 32];

	if (base_path(base, sizeof(base)) < 0 || access(base, F_OK) < 0 ||
	    fork() != 0)
		return;
	close_between(-1, UINT_MAX);
	workspace_clean();
	_exit(0);
}
