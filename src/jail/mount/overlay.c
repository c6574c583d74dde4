#include "jail/mount/overlay.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/file/path.h"
#include "jail/linux_abi.h"
#include "jail/mount/tmpfs.h"

/* ---- in pid 1 ---- */

static int
overlay_set(int fs, const char *key, const char *value)
{
	return fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0);
}

/* The names are relative: the current directory contains all three. */
static int
new_overlay(void)
{
	own_fd int fs = fsopen("overlay", FSOPEN_CLOEXEC);

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0)
		return -1;
	if (overlay_set(fs, "lowerdir", "lower") < 0 ||
	    overlay_set(fs, "upperdir", "upper") < 0 ||
	    overlay_set(fs, "workdir", "work") < 0)
		return -1;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(fs, FSMOUNT_CLOEXEC,
		       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			       MOUNT_ATTR_NOEXEC);
}

/* The code sees the upper directory's mode as that of the whole overlay. */
static int
make_overlay_directories(int directory, int host)
{
	struct stat st;

	if (fstat(host, &st) < 0)
		return -1;
	if (mkdirat(directory, "lower", 0700) < 0 ||
	    mkdirat(directory, "upper", 0700) < 0 ||
	    mkdirat(directory, "work", 0700) < 0)
		return -1;
	return fchmodat(directory, "upper", st.st_mode & 0777, 0);
}

/* Returns a directory in the scratch file system, or, if the mount has a size
   limit, a separate file system mounted there. */
static int
open_overlay_space(const struct blueprint *b, const struct blueprint_mount *m,
		   int scratch, const char *name)
{
	own_fd int fs = -1;

	if (mkdirat(scratch, name, 0700) < 0)
		return -1;
	if (!m->max_bytes)
		return openat(scratch, name,
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fs = tmpfs_new(m->max_bytes, b->plan->limits.tmpfs_inodes,
		       MOUNT_ATTR_NOEXEC);
	if (fs < 0 ||
	    move_mount(fs, "", scratch, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -1;
	return take_fd(&fs);
}

/* The kernel marks in extended attributes which directories hide the host's
   (tmpfs supports them since Linux 6.6). Without them a directory could not be
   removed and made again. */
static int
check_xattrs(int space)
{
	own_fd int upper = openat(space, "upper", O_RDONLY | O_DIRECTORY);

	if (upper < 0)
		return -1;
	if (fgetxattr(upper, "user.overlay.opaque", NULL, 0) >= 0 ||
	    errno == ENODATA)
		return 0;
	return -1;
}

/* Mount the host's directory only until the overlay has found it. Afterwards it
   can be reached only through the overlay. */
static int
mount_overlay(struct blueprint_mount *m, int space)
{
	int overlay;

	if (make_overlay_directories(space, m->fd) < 0 ||
	    check_xattrs(space) < 0 ||
	    move_mount(m->fd, "", space, "lower", MOVE_MOUNT_F_EMPTY_PATH) <
		    0 ||
	    fchdir(space) < 0)
		return -1;
	overlay = new_overlay();
	if (overlay < 0)
		return -1;
	own_fd_close(&m->fd);
	m->fd = overlay;
	if (umount2("lower", MNT_DETACH) < 0)
		return -1;
	return unlinkat(space, "lower", AT_REMOVEDIR);
}

static int
make_overlay(struct blueprint *b, size_t i, int scratch)
{
	struct blueprint_mount *m = &b->own.mounts[i];
	own_fd int space = -1;
	char name[24];

	snprintf(name, sizeof(name), "overlay-%zu", i);
	space = open_overlay_space(b, m, scratch, name);
	if (space < 0 || mount_overlay(m, space) < 0)
		return -1;
	if (m->write_root < 0)
		return 0;
	b->uppers[m->write_root] =
		openat(space, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return b->uppers[m->write_root] < 0 ? -1 : 0;
}

int
overlays_make(struct blueprint *b, int scratch, uint32_t *detail)
{
	for (size_t i = 0; i < b->own.mount_count; i++) {
		*detail = b->own.mounts[i].number;
		if (b->own.mounts[i].overlaid &&
		    make_overlay(b, i, scratch) < 0)
			return -1;
	}
	return 0;
}

/* ---- in the keeper ---- */

/* Their timestamps come from another machine: a change could look older than it
   is. */
static const struct {
	unsigned long magic;
	const char *name;
} remote_file_systems[] = {
	{ NFS_SUPER_MAGIC, "NFS" },   { SMB_SUPER_MAGIC, "SMB" },
	{ CIFS_SUPER_MAGIC, "CIFS" }, { SMB2_SUPER_MAGIC, "SMB" },
	{ V9FS_MAGIC, "9P" },	      { FUSE_SUPER_MAGIC, "FUSE" },
	{ CEPH_SUPER_MAGIC, "Ceph" }, { AFS_SUPER_MAGIC, "AFS" },
	{ CODA_SUPER_MAGIC, "Coda" }, { AFS_FS_MAGIC, "AFS" },
};

static int
check_local(const struct plan_mount *m, int directory, struct remit_error *err)
{
	struct statfs fs;

	if (fstatfs(directory, &fs) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "statfs %s", m->host);
	for (size_t i = 0; i < ARRAY_LEN(remote_file_systems); i++)
		if ((unsigned long)fs.f_type == remote_file_systems[i].magic)
			return fail_refused(
				err, fields[m->field].name,
				"Use a folder on a local disk, or mode overlay "
				"with --export.",
				"%s is on %s, where changes by others cannot "
				"be recognised by this machine's clock",
				m->host, remote_file_systems[i].name);
	return 0;
}

/* mountinfo writes blanks and similar characters as \040. */
static void
unescape(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to++ = (char)((text[1] - '0') << 6 |
				       (text[2] - '0') << 3 | (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	*to = '\0';
}

static bool
has_mount(FILE *all, const char *path)
{
	size_t n = strlen(path), capacity = 0;
	own_mem char *line = NULL;

	while (getline(&line, &capacity, all) > 0) {
		char *at = line, *word = NULL;

		/* The fifth word is the mount point (proc(5)). */
		for (int i = 0; i < 5; i++)
			word = strsep(&at, " \n");
		if (!word)
			continue;
		unescape(word);
		if (!strncmp(word, path, n) &&
		    (word[n] == '/' || (n == 1 && word[1])))
			return true;
	}
	return false;
}

/* An overlay would show what such a mount hides. */
static int
check_no_mounts(const struct plan_mount *m, int directory,
		struct remit_error *err)
{
	char link[40], path[PATH_MAX];
	FILE *all = fopen("/proc/self/mountinfo", "re");
	bool found;
	ssize_t n;

	if (!all)
		return fail_sys(err, REMIT_E_KERNEL,
				"read /proc/self/mountinfo");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	found = has_mount(all, path);
	fclose(all);
	if (n < 0)
		return fail_sys(err, REMIT_E_KERNEL, "readlink %s", m->host);
	if (!found)
		return 0;
	return fail_refused(err, fields[m->field].name,
			    "Name a folder without mounts in it.",
			    "another file system is mounted in %s", m->host);
}

/* Get the status of a new file: an unnamed one or, if the file system does not
   support these, a directory that is removed again at once. */
static int
stat_new_file(int directory, struct stat *st)
{
	own_fd int fd =
		openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char name[40];
	int failed;

	if (fd >= 0)
		return fstat(fd, st);
	snprintf(name, sizeof(name), ".remit-time-%d", (int)getpid());
	if (mkdirat(directory, name, 0700) < 0)
		return -1;
	failed = fstatat(directory, name, st, AT_SYMLINK_NOFOLLOW);
	unlinkat(directory, name, AT_REMOVEDIR);
	return failed;
}

static bool
is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* If times have a resolution of whole seconds or come from another clock, a
   change by others could look older than the run. A new second may begin just
   now and hide this, so try twice. */
static int
check_clock(const struct plan_mount *m, int directory, struct remit_error *err)
{
	for (int looks = 0; looks < 2; looks++) {
		struct timespec before;
		struct stat st;

		clock_gettime(CLOCK_REALTIME_COARSE, &before);
		if (stat_new_file(directory, &st) < 0)
			return fail_refused(err, fields[m->field].name,
					    "Name a folder that you may write, "
					    "or use mode overlay.",
					    "no file can be made in %s: %s",
					    m->host, strerror(errno));
		if (is_before(&st.st_ctim, &before))
			return fail_refused(
				err, fields[m->field].name,
				"Use a folder on another file system, or mode "
				"overlay with --export.",
				"the file system of %s has inexact timestamps: "
				"changes by others would go unnoticed",
				m->host);
	}
	return 0;
}

int
overlay_check(const struct plan_mount *m, int directory,
	      struct remit_error *err)
{
	struct stat st;

	if (fstat(directory, &st) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fstat %s", m->host);
	if (!S_ISDIR(st.st_mode))
		return fail_refused(err, fields[m->field].name,
				    "Name the folder that contains it.",
				    "%s is a file, and mode \"%s\" needs a "
				    "folder",
				    m->host, mount_mode_names[m->mode]);
	if (check_no_mounts(m, directory, err) < 0)
		return -1;
	if (m->mode != MOUNT_RW)
		return 0;
	if (syscall(SYS_faccessat2, directory, "", W_OK | X_OK,
		    AT_EACCESS | AT_EMPTY_PATH) < 0)
		return fail_refused(err, fields[m->field].name,
				    "Name a folder that you may write, or use "
				    "mode overlay.",
				    "changes cannot be written to %s: %s",
				    m->host, strerror(errno));
	if (check_local(m, directory, err) < 0)
		return -1;
	return check_clock(m, directory, err);
}

/* ---- what no run may change ---- */

/* Add the path under its name and under its canonical name. */
static int
guard_add(struct list *out, const char *path)
{
	char real[PATH_MAX];

	if (!path || path[0] != '/' || !path[1])
		return 0;
	if (list_add(out, path) < 0)
		return -1;
	if (!realpath(path, real) || !strcmp(real, path))
		return 0;
	return list_add(out, real);
}

static int
guard_add_links(struct list *out, const struct list *links)
{
	for (size_t i = 0; i < links->count; i++) {
		own_mem char *path = strdup(links->items[i]);

		if (!path)
			return -1;
		path[strcspn(path, "\t")] = '\0';
		if (guard_add(out, path) < 0)
			return -1;
	}
	return 0;
}

int
guard_list(struct list *out, const struct interpreter *in,
	   const char *runtime_dir)
{
	const char *const paths[] = { in->executable,  in->real,
				      in->prefix,      in->exec_prefix,
				      in->compiled,    runtime_dir,
				      "/proc/self/exe" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (guard_add(out, paths[i]) < 0)
			return -1;
	for (size_t i = 0; i < in->mounts.count; i++)
		if (guard_add(out, in->mounts.items[i]) < 0)
			return -1;
	return guard_add_links(out, &in->links);
}

bool
guard_overlaps(const struct list *guarded, const char *directory)
{
	for (size_t i = 0; i < guarded->count; i++)
		if (path_lies_in(guarded->items[i], directory) ||
		    path_lies_in(directory, guarded->items[i]))
			return true;
	return false;
}
