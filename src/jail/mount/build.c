/*
 * build: the stage of the lock-down that runs in pid 1: ids, root, mounts.
 */
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "base/file/beneath.h"
#include "base/file/io.h"
#include "base/file/path.h"
#include "jail/blueprint.h"
#include "jail/linux_abi.h"
#include "jail/lock/rules.h"
#include "jail/lock/step.h"
#include "jail/mount/copy.h"
#include "jail/mount/overlay.h"
#include "jail/mount/root_files.h"
#include "jail/mount/tmpfs.h"
#include "policy/rules/path_rule.h"

const struct jail_directory jail_writable[JAIL_WRITABLE] = {
	{ "workspace", NULL, 0755, true },
	/* Compilers, build tools and tests run what they have made in it. */
	{ "tmp", "/tmp", 01777, true },
	/* Nothing runs programs in shared memory, and containers forbid it. */
	{ "shm", "/dev/shm", 01777, false },
};

const char *
jail_writable_path(const struct plan *plan, int i)
{
	return jail_writable[i].path ? jail_writable[i].path
				     : plan->policy->workspace;
}

bool
jail_is_writable(const struct plan *plan, const char *path)
{
	for (int i = 0; i < JAIL_WRITABLE; i++)
		if (path_lies_in(path, jail_writable_path(plan, i)))
			return true;
	return false;
}

static int
step_groups(struct blueprint *b, uint32_t *detail)
{
	for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
		*detail = (uint32_t)i + 1;
		if (b->groups[i] >= 0 && write(b->groups[i], "0", 1) != 1)
			return -1;
	}
	return 0;
}

static int
write_sysctl(const struct blueprint *b, const char *path, const char *value)
{
	own_fd int fd = openat(b->proc, path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	return write(fd, value, strlen(value)) > 0 ? 0 : -1;
}

static int
step_memfd_noexec(struct blueprint *b, uint32_t *detail)
{
	(void)detail;
	if (!b->plan->memfd_noexec)
		return 0;
	return write_sysctl(b, "sys/vm/memfd_noexec", "2");
}

static int
step_ids(struct blueprint *b, uint32_t *detail)
{
	uid_t uid = b->params.uid;
	/* For an ordinary user, the code of a bare jail keeps that user's
	   group. */
	gid_t gid = b->params.bare && !b->by_root ? getegid() : uid;

	(void)detail;
	/* When started by an ordinary user, the kernel does not let us drop the
	   supplementary groups. Keeping them gives the code nothing that the
	   user does not have. */
	if (b->by_root && setgroups(0, NULL) < 0)
		return -1;
	if (setresgid(gid, gid, gid) < 0)
		return -1;
	return setresuid(uid, uid, uid);
}

static int
step_private_mounts(struct blueprint *b, uint32_t *detail)
{
	(void)b;
	(void)detail;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static int
step_root(struct blueprint *b, uint32_t *detail)
{
	(void)detail;
	if (b->kind == BLUEPRINT_CLONE || b->kind == BLUEPRINT_BRANCH) {
		b->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		return b->root < 0 ? -1 : 0;
	}
	b->root = tmpfs_new(1024 * 1024, 4096, MOUNT_ATTR_NOEXEC);
	if (b->root < 0)
		return -1;
	/* Mount it over the old root: then no directory of the host is needed
	   as a mount point. */
	return move_mount(b->root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH);
}

static int
step_links(struct blueprint *b, uint32_t *detail)
{
	return root_files_make(b, detail);
}

static int
place_mount(int root, int mount_fd, const char *jail, bool is_directory)
{
	const char *name;
	own_fd int parent = root_files_parent(root, jail, &name);

	if (parent < 0)
		return -1;
	if (is_directory) {
		if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
			return -1;
	} else {
		/* The file may exist already, as a part of another mount. */
		int fd = openat(parent, name,
				O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
				0644);

		if (fd < 0 && errno != EROFS)
			return -1;
		own_fd_close(&fd);
	}
	/* Without MOVE_MOUNT_T_SYMLINKS a link is not followed. */
	return move_mount(mount_fd, "", parent, name, MOVE_MOUNT_F_EMPTY_PATH);
}

/* Each jail has its own authorities, even if the root is shared. */
static int
place_trust(const struct blueprint *b)
{
	own_fd int fd = trust_file_recv(b->egress);

	return fd < 0 ? -1
		      : place_mount(b->root, fd, JAIL_TRUST_DIRECTORY, true);
}

static int
step_network(struct blueprint *b, uint32_t *detail)
{
	if (b->egress < 0)
		return b->plan->has_loopback ? listeners_loopback() : 0;
	if (listeners_open(&b->listeners, b->egress, detail) < 0 ||
	    (b->plan->ends_tls && place_trust(b) < 0))
		return -1;
	/* Code inside must not be able to send more listeners. */
	own_fd_close(&b->egress);
	b->egress = -1;
	return 0;
}

static int
step_runtime(struct blueprint *b, uint32_t *detail)
{
	for (size_t i = 0; i < b->contents->mount_count; i++) {
		*detail = (uint32_t)i + 1;
		if (place_mount(b->root, b->contents->mounts[i].fd,
				b->contents->mounts[i].jail,
				b->contents->mounts[i].is_directory) < 0)
			return -1;
	}
	return 0;
}

static int
step_devices(struct blueprint *b, uint32_t *detail)
{
	for (int i = 0; i < BLUEPRINT_DEVICES; i++) {
		char path[32];

		*detail = (uint32_t)i + 1;
		if (b->contents->devices[i] < 0)
			continue;
		snprintf(path, sizeof(path), "/dev/%s",
			 blueprint_device_names[i]);
		if (place_mount(b->root, b->contents->devices[i], path, false) <
		    0)
			return -1;
	}
	return 0;
}

/* matplotlib looks for its font list in a directory that it can write. */
static int
link_fonts(int fs, const char *tmp, const char *fonts, const char *font_file)
{
	char directory[40], target[PATH_MAX], link[300];

	snprintf(target, sizeof(target), "%s/%.200s", fonts, font_file);
	snprintf(directory, sizeof(directory), "%s/.matplotlib", tmp);
	snprintf(link, sizeof(link), "%s/%.200s", directory, font_file);
	if (mkdirat(fs, directory, 0755) < 0)
		return -1;
	return symlinkat(target, fs, link);
}

static int
make_directory(int root, const char *path)
{
	const char *name;
	own_fd int parent = root_files_parent(root, path, &name);

	return parent < 0 ? -1 : mkdirat(parent, name, 0755);
}

static int
make_mount_points(const struct blueprint *b)
{
	for (int i = 0; i < JAIL_WRITABLE; i++)
		if (make_directory(b->root, jail_writable_path(b->plan, i)) < 0)
			return -1;
	return 0;
}

/* ---- terminals ---- */

#define TERMINALS     "/dev/pts"
#define TERMINAL_MAKE "/dev/ptmx"

/* An instance of devpts for this jail alone: its terminals exist in no other,
   and no other's exist here. Returns -1 with EINVAL on kernels that need a root
   user in the namespace. */
static int
devpts_new(void)
{
	static const char *const settings[][2] = {
		{ "ptmxmode", "0666" },
		{ "mode", "0600" },
		/* The host has 4096 in all, of which jails cannot take the
		   last 1024 (kernel.pty.reserve). */
		{ "max", "32" },
	};
	own_fd int fs = fsopen("devpts", FSOPEN_CLOEXEC);

	for (size_t i = 0; fs >= 0 && i < ARRAY_LEN(settings); i++)
		if (fsconfig(fs, FSCONFIG_SET_STRING, settings[i][0],
			     settings[i][1], 0) < 0)
			return -1;
	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(fs, FSMOUNT_CLOEXEC,
		       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
}

/* Only programs use terminals. Without devpts in the kernel there are none,
   which takes nothing from a policy. */
static int
place_terminals(const struct blueprint *b)
{
	bool is_template = b->kind == BLUEPRINT_ROOT_TEMPLATE;
	own_fd int fs = -1;

	if (!(b->plan->filter & PLAN_FILTER_SUBPROCESS) ||
	    b->kind == BLUEPRINT_ZYGOTE || b->kind == BLUEPRINT_BRANCH)
		return 0;
	/* The root of a clone cannot be written. */
	if (b->kind != BLUEPRINT_CLONE &&
	    root_files_link(b->root, TERMINAL_MAKE, "pts/ptmx") < 0)
		return -1;
	if (is_template)
		return make_directory(b->root, TERMINALS);
	fs = devpts_new();
	if (fs < 0)
		return errno == EINVAL || errno == ENODEV ? 0 : -1;
	return place_mount(b->root, fs, TERMINALS, true);
}

/* The keeper has made the workspace: see workspace.h. */
static int
finish_bare_workspace(const struct blueprint *b)
{
	if (!b->contents->font_file)
		return 0;
	return link_fonts(b->writable[WORKSPACE_TEMP], ".",
			  b->plan->interpreter->font_cache,
			  b->contents->font_file);
}

static int
make_writable_directories(int fs, uint32_t *detail)
{
	umask(0);
	for (int i = 0; i < JAIL_WRITABLE; i++) {
		*detail = (uint32_t)i + 1;
		if (mkdirat(fs, jail_writable[i].name, jail_writable[i].mode) <
		    0)
			return -1;
	}
	return 0;
}

static int
new_writable_tmpfs(const struct blueprint *b, uint32_t *detail)
{
	const struct plan_limits *l = &b->plan->limits;
	own_fd int fs =
		tmpfs_new(l->tmpfs_bytes, l->tmpfs_inodes, MOUNT_ATTR_NOEXEC);

	if (fs < 0 || make_writable_directories(fs, detail) < 0)
		return -1;
	return take_fd(&fs);
}

/*
 * A branch inherits the Landlock rules, which apply to directories and not to
 * names. So the directories that branches will write must exist from the
 * beginning, mounted nowhere.
 */
static int
make_slots(struct blueprint *b, uint32_t *detail)
{
	uint64_t count = b->plan->forkable ? b->plan->policy->branches : 0;

	for (uint64_t i = 0; i < count && i < PLAN_BRANCHES_MAX; i++) {
		b->slots[i] = new_writable_tmpfs(b, detail);
		if (b->slots[i] < 0)
			return -1;
	}
	return 0;
}

/* What the code has written so far is still mounted at these paths. */
static int
copy_writable(const struct blueprint *b, int slot, uint32_t *detail)
{
	for (int i = 0; i < JAIL_WRITABLE; i++) {
		own_fd int from = open(jail_writable_path(b->plan, i),
				       O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		*detail = 10 + (uint32_t)i;
		if (from < 0 ||
		    copy_tree(from, slot, jail_writable[i].name) < 0)
			return -1;
	}
	return copy_end(slot);
}

/* Whether files of this writable directory can be executed. */
static bool
runs_programs(const struct plan *plan, int i)
{
	if (!plan_keeps(plan, MECH(NOEXEC_MOUNT)))
		return true;
	return plan->runs_workspace && jail_writable[i].has_programs;
}

/* Returns a mount of one of the tmpfs's directories, not placed anywhere yet.
   It has the flags of the tmpfs: nosuid, nodev and noexec. */
static int
clone_writable(const struct blueprint *b, int fs, int i)
{
	struct mount_attr exec = { .attr_clr = MOUNT_ATTR_NOEXEC };
	own_fd int fd = open_tree(fs, jail_writable[i].name,
				  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (fd < 0)
		return -1;
	if (runs_programs(b->plan, i) &&
	    mount_setattr(fd, "", AT_EMPTY_PATH, &exec, sizeof(exec)) < 0)
		return -1;
	return take_fd(&fd);
}

/*
 * One tmpfs contains everything that can be written, so that its limits apply
 * to all of it together. Its directories are mounted at three places. The tmpfs
 * itself is mounted at the first of them, and hidden there by its own
 * directory.
 */
static int
step_workspace(struct blueprint *b, uint32_t *detail)
{
	bool branch = b->kind == BLUEPRINT_BRANCH;
	int clones[JAIL_WRITABLE];
	own_fd int fs = -1;

	if (b->kind == BLUEPRINT_ROOT_TEMPLATE)
		return make_mount_points(b) < 0 ? -1 : place_terminals(b);
	if (b->kind == BLUEPRINT_BARE)
		return finish_bare_workspace(b);
	fs = branch ? take_fd(&b->slot) : new_writable_tmpfs(b, detail);
	if (fs < 0 || (branch && copy_writable(b, fs, detail) < 0) ||
	    place_mount(b->root, fs, jail_writable_path(b->plan, 0), true) < 0)
		return -1;
	for (int i = 0; i < JAIL_WRITABLE; i++) {
		*detail = (uint32_t)i + 1;
		clones[i] = clone_writable(b, fs, i);
		if (clones[i] < 0)
			return -1;
	}
	if (b->contents->font_file && !branch &&
	    link_fonts(fs, "tmp", JAIL_FONTS, b->contents->font_file) < 0)
		return -1;
	if (b->plan->exports || b->plan->watched) {
		/* Open it in this mount, on which nothing else is ever
		   mounted. */
		b->workspace = openat(fs, jail_writable[0].name,
				      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (b->workspace < 0)
			return -1;
	}
	for (int i = 0; i < JAIL_WRITABLE; i++)
		if (place_mount(b->root, clones[i],
				jail_writable_path(b->plan, i), true) < 0)
			return -1;
	b->scratch = take_fd(&fs);
	*detail = 100;
	if (place_terminals(b) < 0)
		return -1;
	return branch ? 0 : make_slots(b, detail);
}

static int
step_overlays(struct blueprint *b, uint32_t *detail)
{
	int done = overlays_make(b, b->scratch, detail);

	own_fd_close(&b->scratch);
	b->scratch = -1;
	return done;
}

/* Each branch needs one user namespace inside this one, made by the keeper. */
static int
allow_branches(const struct blueprint *b)
{
	char number[24];

	snprintf(number, sizeof(number), "%llu",
		 (unsigned long long)b->plan->policy->branches);
	return write_sysctl(b, "sys/user/max_user_namespaces", number);
}

static int
step_no_user_namespaces(struct blueprint *b, uint32_t *detail)
{
	(void)detail;
	if (b->plan->forkable)
		return allow_branches(b);
	if (write_sysctl(b, "sys/user/max_user_namespaces", "0") < 0)
		return -1;
	if (unshare(CLONE_NEWUSER) == 0) {
		errno = EACCES;
		return -1;
	}
	return 0;
}

static int
step_pivot(struct blueprint *b, uint32_t *detail)
{
	(void)detail;
	if (fchdir(b->root) < 0 || sys_pivot_root(".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0)
		return -1;
	return chdir("/");
}

static int
step_read_only(struct blueprint *b, uint32_t *detail)
{
	struct mount_attr a = { .attr_set = MOUNT_ATTR_RDONLY };

	(void)b;
	(void)detail;
	return mount_setattr(AT_FDCWD, "/", 0, &a, sizeof(a));
}

static int
step_hostname(struct blueprint *b, uint32_t *detail)
{
	(void)b;
	(void)detail;
	return sethostname("remit", 5);
}

static int
step_landlock_rules(struct blueprint *b, uint32_t *detail)
{
	if (!plan_keeps(b->plan, MECH(LANDLOCK)))
		return 0;
	if (b->ruleset < 0) {
		own_fd int fd = rules_begin(b, detail);

		if (fd < 0)
			return -1;
		b->ruleset = fcntl(fd, F_DUPFD_CLOEXEC, BLUEPRINT_FIRST_FD);
	}
	return b->ruleset < 0 ? -1 : rules_finish(b, b->ruleset, detail);
}

/* Which kinds of blueprint carry out a step. */
#define IS(kind)      (1u << BLUEPRINT_##kind)
#define WITH_ROOT     (IS(COLD) | IS(WARM) | IS(ZYGOTE) | IS(ROOT_TEMPLATE))
#define IN_NAMESPACES (IS(COLD) | IS(WARM) | IS(CLONE) | IS(BRANCH))
#define FOR_CODE      (IN_NAMESPACES | IS(BARE))
#define CLONED_ROOT   (IS(CLONE) | IS(BRANCH))

static const struct {
	int (*run)(struct blueprint *b, uint32_t *detail);
	unsigned kinds;
} build_steps[STEP_COUNT] = {
	[STEP_GROUPS] = { step_groups, FOR_CODE },
	/* The jail of a zygote's child is owned by the zygote's user, who may
	   not write the file: see plan_can_be_warm(). */
	[STEP_MEMFD_NOEXEC] = { step_memfd_noexec, IS(COLD) },
	[STEP_IDS] = { step_ids, FOR_CODE },
	[STEP_PRIVATE_MOUNTS] = { step_private_mounts, WITH_ROOT },
	[STEP_ROOT] = { step_root, WITH_ROOT | CLONED_ROOT },
	[STEP_LINKS] = { step_links, WITH_ROOT },
	[STEP_NETWORK] = { step_network, IS(COLD) | IS(WARM) | IS(CLONE) },
	[STEP_WORKSPACE] = { step_workspace,
			     WITH_ROOT | CLONED_ROOT | IS(BARE) },
	[STEP_OVERLAYS] = { step_overlays, IS(COLD) | IS(WARM) | IS(CLONE) },
	[STEP_RUNTIME] = { step_runtime, WITH_ROOT },
	[STEP_DEVICES] = { step_devices, WITH_ROOT },
	[STEP_NO_USER_NAMESPACES] = { step_no_user_namespaces, IN_NAMESPACES },
	[STEP_PIVOT] = { step_pivot, WITH_ROOT },
	[STEP_READ_ONLY] = { step_read_only, WITH_ROOT },
	[STEP_HOSTNAME] = { step_hostname, IN_NAMESPACES | IS(ZYGOTE) },
	[STEP_LANDLOCK_RULES] = { step_landlock_rules,
				  IS(COLD) | IS(WARM) | IS(CLONE) | IS(BARE) },
};

int
build_run(struct blueprint *b, uint32_t *step, uint32_t *detail)
{
	for (*step = STEP_GROUPS; *step <= STEP_LANDLOCK_RULES; ++*step) {
		*detail = 0;
		if (!(build_steps[*step].kinds & 1u << b->kind))
			continue;
		if (step_is_to_fail(*step) ||
		    build_steps[*step].run(b, detail) < 0)
			return -1;
	}
	return 0;
}
