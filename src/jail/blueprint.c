#include "jail/blueprint.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/file/fd.h"
#include "base/file/path.h"
#include "jail/linux_abi.h"
#include "jail/mount/idmap.h"
#include "jail/mount/overlay.h"

const char *const blueprint_device_names[BLUEPRINT_DEVICES] = {
	"null",
	"random",
	"urandom",
	"zero",
};

/*
 * The path is made canonical once and then opened without following any link. A
 * link that appears in between causes an error and leads nowhere else.
 */
static int
open_host_path(const struct plan_mount *m, struct remit_error *err)
{
	const char *field = fields[m->field].name;
	/* Discovered paths are canonical already. */
	own_mem char *real =
		m->runtime ? strdup(m->host) : realpath(m->host, NULL);
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	if (!real)
		return fail_refused(err, field, "Name a folder that exists.",
				    "%s: %s", m->host, strerror(errno));
	fd = (int)syscall(SYS_openat2, AT_FDCWD, real, &how, sizeof(how));
	if (fd < 0)
		return fail_refused(
			err, field,
			"Keep the folder unchanged while a run starts.",
			"%s changed while it was opened: %s", m->host,
			strerror(errno));
	return fd;
}

/* Opens a folder or file of the plan, and fills *st. */
static int
open_mount_path(const struct plan_mount *m, struct stat *st,
		struct remit_error *err)
{
	own_fd int fd = open_host_path(m, err);

	if (fd < 0)
		return -1;
	if (fstat(fd, st) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fstat %s", m->host);
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
		return fail_refused(err, fields[m->field].name,
				    "Name a folder or a regular file.",
				    "%s is neither a folder nor a file",
				    m->host);
	return take_fd(&fd);
}

int
blueprint_check_paths(const struct plan *p, struct remit_error *err)
{
	struct stat st;

	for (size_t i = 0; i < p->mount_count; i++) {
		own_fd int fd = open_mount_path(&p->mounts[i], &st, err);

		if (fd < 0)
			return -1;
	}
	return 0;
}

/* Whether to include the mounts below the directory. */
enum mount_depth {
	DEPTH_ONE = 0,
	DEPTH_RECURSIVE = AT_RECURSIVE,
};

/*
 * A clone of a shared mount is its peer (mount_namespaces(7)): a mount that the
 * jail makes on it would appear on the host, and a later mount of the host
 * would appear in the jail without these flags. So make the clone private
 * first.
 */
static int
detach_mount(int path_fd, enum mount_depth mount_depth, uint64_t attr,
	     int userns, const char *what, struct remit_error *err)
{
	struct mount_attr a = { .attr_set = attr, .propagation = MS_PRIVATE };
	own_fd int fd = -1;

	fd = open_tree(path_fd, "",
		       AT_EMPTY_PATH | (unsigned)mount_depth | OPEN_TREE_CLONE |
			       OPEN_TREE_CLOEXEC);
	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open_tree %s", what);
	if (userns >= 0) {
		a.attr_set |= MOUNT_ATTR_IDMAP;
		a.userns_fd = (uint64_t)userns;
	}
	if (mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &a, sizeof(a)) <
	    0)
		return fail_sys(err, REMIT_E_KERNEL, "mount_setattr %s%s", what,
				userns >= 0 ? " (idmapped)" : "");
	return take_fd(&fd);
}

int
blueprint_detach(int directory, struct remit_error *err)
{
	return detach_mount(directory, DEPTH_ONE,
			    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
				    MOUNT_ATTR_NODEV,
			    -1, "packages", err);
}

/* The code must not be able to change programs that run outside of the jail. */
static int
check_direct(const struct blueprint *b, const struct plan_mount *m,
	     struct remit_error *err)
{
	own_mem char *real = realpath(m->host, NULL);
	own(list) struct list guarded = { 0 };

	if (!real ||
	    guard_list(&guarded, b->plan->interpreter, b->runtime_dir) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "resolve %s", m->host);
	if (!guard_overlaps(&guarded, real))
		return 0;
	return fail_refused(err, fields[m->field].name,
			    "Use mode rw, or a folder that contains neither.",
			    "mode direct would let code change the interpreter "
			    "or Remit itself, in %s",
			    m->host);
}

static int
resolve_mount(struct blueprint *b, const struct plan_mount *m, uint32_t uid,
	      struct remit_error *err)
{
	struct blueprint_mount *out = &b->own.mounts[b->own.mount_count];
	bool overlaid =
		plan_mount_is_overlaid(m) && plan_keeps(b->plan, MECH(OVERLAY));
	uint64_t attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	struct stat st;
	own_fd int path_fd = open_mount_path(m, &st, err);
	own_fd int userns = -1;

	if (path_fd < 0)
		return -1;
	if (overlaid && overlay_check(m, path_fd, err) < 0)
		return -1;
	if (m->mode == MOUNT_DIRECT && check_direct(b, m, err) < 0)
		return -1;
	if (overlaid || m->mode == MOUNT_RO)
		attr |= MOUNT_ATTR_RDONLY;
	if (!m->runtime) {
		attr |= MOUNT_ATTR_NOEXEC;
		hash_number(&b->roots, (uint64_t)st.st_dev);
		hash_number(&b->roots, (uint64_t)st.st_ino);
	}
	out->jail = m->jail;
	out->is_directory = S_ISDIR(st.st_mode);
	out->runtime = m->runtime;
	out->overlaid = overlaid;
	out->writable = m->mode != MOUNT_RO;
	out->max_bytes = m->max_bytes;
	out->write_root = m->write_root;
	if (b->kind == BLUEPRINT_BARE) {
		out->fd = take_fd(&path_fd);
		b->own.mount_count++;
		return 0;
	}
	/* All users can read runtime files. A directory named by the
	   policy is mapped so that the jail's user appears to own what its
	   owner owns. */
	if (b->by_root && !m->runtime &&
	    idmap_make(&userns, st.st_uid, st.st_gid, uid, err) < 0)
		return -1;
	out->fd = detach_mount(path_fd, overlaid ? DEPTH_ONE : DEPTH_RECURSIVE,
			       attr, userns, m->host, err);
	if (out->fd < 0)
		return userns < 0 ? -1
				  : fail_refused(err, fields[m->field].name,
						 "Move the data to a file "
						 "system with idmapped mounts "
						 "(ext4, xfs, btrfs, tmpfs), "
						 "or run as an ordinary user.",
						 "%s cannot be shown to a jail "
						 "started by root: %s",
						 m->host,
						 strerror(err->sys_errno));
	b->own.mount_count++;
	if (m->write_root >= 0)
		b->hosts[m->write_root] = take_fd(&path_fd);
	return 0;
}

static int
resolve_devices(struct blueprint *b, struct remit_error *err)
{
	int count = b->plan->filter & PLAN_FILTER_STRICT_MEMORY
			    ? BLUEPRINT_DEVICES - 1
			    : BLUEPRINT_DEVICES;

	for (int i = 0; i < count; i++) {
		own_fd int fd = -1;
		char path[32];

		snprintf(path, sizeof(path), "/dev/%s",
			 blueprint_device_names[i]);
		fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return fail_sys(err, REMIT_E_KERNEL, "open %s", path);
		/* Read-only: the device can still be written, but its times and
		   mode belong to the host. */
		b->own.devices[i] =
			b->kind == BLUEPRINT_BARE
				? take_fd(&fd)
				: detach_mount(fd, DEPTH_ONE,
					       MOUNT_ATTR_RDONLY |
						       MOUNT_ATTR_NOSUID |
						       MOUNT_ATTR_NOEXEC,
					       -1, path, err);
		if (b->own.devices[i] < 0)
			return -1;
	}
	return 0;
}

#ifdef REMIT_HOLES
/* Test builds only: show the host's directories, writable. */
static int
resolve_host_root(struct blueprint *b, struct remit_error *err)
{
	static const char *const own[] = { "dev", "tmp" };
	static char names[64][64];
	struct dirent *e;
	DIR *d = opendir("/");
	size_t n = 0;

	while (d && (e = readdir(d)) && n < 64) {
		struct blueprint_mount *out =
			&b->own.mounts[b->own.mount_count];
		own_fd int fd = -1;
		bool mine = e->d_name[0] == '.' || e->d_type != DT_DIR;

		for (size_t i = 0; i < ARRAY_LEN(own); i++)
			mine |= !strcmp(e->d_name, own[i]);
		if (mine)
			continue;
		snprintf(names[n], sizeof(names[n]), "/%.60s", e->d_name);
		if (path_lies_in(b->plan->policy->workspace, names[n]))
			continue;
		fd = open(names[n], O_PATH | O_CLOEXEC);
		out->fd =
			detach_mount(fd, DEPTH_RECURSIVE, 0, -1, names[n], err);
		if (out->fd < 0)
			continue;
		out->jail = names[n++];
		out->is_directory = true;
		b->own.mount_count++;
	}
	if (d)
		closedir(d);
	return 0;
}
#endif

/* Shorter paths come first: a directory must be mounted before the mounts
   inside it. */
static int
compare_by_length(const void *a, const void *b)
{
	const struct blueprint_mount *x = a, *y = b;
	size_t m = strlen(x->jail), n = strlen(y->jail);

	if (m != n)
		return m < n ? -1 : 1;
	return (int)x->runtime - (int)y->runtime;
}

static int
find_font_file(struct blueprint *b)
{
	const char *directory = b->plan->interpreter->font_cache;
	struct dirent *e;
	DIR *d = directory ? opendir(directory) : NULL;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, "fontlist", 8) && !b->own.font_file)
			b->own.font_file = strdup(e->d_name);
	if (d)
		closedir(d);
	return 0;
}

#define OWN_PART(from, to)   \
	{ .host = (from),    \
	  .jail = (to),      \
	  .runtime = true,   \
	  .field = F_PYTHON, \
	  .mode = MOUNT_RO,  \
	  .write_root = -1 }

int
blueprint_resolve(struct blueprint *b, uint32_t uid, struct remit_error *err)
{
	const struct plan *p = b->plan;
	struct plan_mount own_mounts[] = {
		OWN_PART(b->runtime_dir, JAIL_RUNTIME),
		OWN_PART(p->interpreter->compiled, JAIL_COMPILED),
		OWN_PART(p->interpreter->font_cache, JAIL_FONTS),
	};

	b->contents = &b->own;
	b->own.mounts = calloc(p->mount_count + ARRAY_LEN(own_mounts) + 64,
			       sizeof(*b->own.mounts));
	if (!b->own.mounts)
		return fail_memory(err, "mounts");
	for (size_t i = 0; i < p->mount_count; i++) {
		if (resolve_mount(b, &p->mounts[i], uid, err) < 0)
			return -1;
		b->own.mounts[b->own.mount_count - 1].number = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(own_mounts); i++)
		if (own_mounts[i].host &&
		    resolve_mount(b, &own_mounts[i], uid, err) < 0)
			return -1;
#ifdef REMIT_HOLES
	if (!plan_keeps(p, MECH(MOUNT_NAMESPACE)) &&
	    b->kind != BLUEPRINT_BARE && resolve_host_root(b, err) < 0)
		return -1;
#endif
	qsort(b->own.mounts, b->own.mount_count, sizeof(*b->own.mounts),
	      compare_by_length);
	find_font_file(b);
	return resolve_devices(b, err);
}

int
blueprint_list_kept(struct blueprint *b, struct remit_error *err)
{
	const int ends[] = { b->channel, b->lifeline, b->in,
			     b->out,	 b->err,      b->proc,
			     b->egress,	 b->slot,     b->ruleset };
	size_t n = 0;

	b->keep = calloc(b->own.mount_count + BLUEPRINT_DEVICES +
				 CGROUP_CONTROLLERS + WORKSPACE_DIRECTORIES +
				 ARRAY_LEN(ends),
			 sizeof(*b->keep));
	if (!b->keep)
		return fail_memory(err, "descriptors");
	for (size_t i = 0; i < b->own.mount_count; i++)
		b->keep[n++] = b->own.mounts[i].fd;
	for (int i = 0; i < BLUEPRINT_DEVICES; i++)
		if (b->own.devices[i] >= 0)
			b->keep[n++] = b->own.devices[i];
	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		if (b->groups[i] >= 0)
			b->keep[n++] = b->groups[i];
	for (int i = 0; i < WORKSPACE_DIRECTORIES; i++)
		if (b->writable[i] >= 0)
			b->keep[n++] = b->writable[i];
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (ends[i] >= 0)
			b->keep[n++] = ends[i];
	fds_sort(b->keep, n);
	b->keep_count = n;
	return 0;
}

void
blueprint_close_others(const struct blueprint *b)
{
	fds_close_others(b->keep, b->keep_count);
}

void
contents_free(struct contents *c)
{
	for (size_t i = 0; i < c->mount_count; i++)
		own_fd_close(&c->mounts[i].fd);
	for (int i = 0; i < BLUEPRINT_DEVICES; i++)
		own_fd_close(&c->devices[i]);
	own_fd_close(&c->etc);
	free(c->mounts);
	free(c->font_file);
	*c = (struct contents)CONTENTS_INIT;
}

void
blueprint_free(struct blueprint *b)
{
	int *const fds[] = { &b->channel, &b->lifeline, &b->in,	  &b->out,
			     &b->err,	  &b->proc,	&b->root, &b->workspace,
			     &b->scratch, &b->egress,	&b->slot, &b->ruleset };

	free(b->keep);
	b->keep = NULL;
	for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
		own_fd_close(&b->groups[i]);
		b->groups[i] = -1;
	}
	for (int i = 0; i < WORKSPACE_DIRECTORIES; i++) {
		own_fd_close(&b->writable[i]);
		b->writable[i] = -1;
	}
	for (int i = 0; i < PLAN_WRITE_ROOTS_MAX; i++) {
		own_fd_close(&b->hosts[i]);
		own_fd_close(&b->uppers[i]);
		b->hosts[i] = b->uppers[i] = -1;
	}
	contents_free(&b->own);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		own_fd_close(fds[i]);
		*fds[i] = -1;
	}
}
