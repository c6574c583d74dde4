#include "jail/lock/rules.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "jail/linux_abi.h"

#define RULE_READ (LL_FS_READ_FILE | LL_FS_READ_DIR)
#define RULE_WRITE                                                             \
	(RULE_READ | LL_FS_WRITE_FILE | LL_FS_REMOVE_DIR | LL_FS_REMOVE_FILE | \
	 LL_FS_MAKE_DIR | LL_FS_MAKE_REG | LL_FS_MAKE_SOCK | LL_FS_MAKE_FIFO | \
	 LL_FS_MAKE_SYM | LL_FS_REFER | LL_FS_TRUNCATE)
#define RULE_FILE_ONLY                                                         \
	(LL_FS_EXECUTE | LL_FS_WRITE_FILE | LL_FS_READ_FILE | LL_FS_TRUNCATE | \
	 LL_FS_IOCTL_DEV)

/* The rights that each ABI can handle. A right that is not handled is not
   checked. */
static const struct {
	uint64_t fs, net, scoped;
} abis[] = {
	[1] = { .fs = (UINT64_C(1) << 13) - 1 },
	[2] = { .fs = (UINT64_C(1) << 14) - 1 },
	[3] = { .fs = (UINT64_C(1) << 15) - 1 },
	[4] = { .fs = (UINT64_C(1) << 15) - 1, .net = 3 },
	[5] = { .fs = (UINT64_C(1) << 16) - 1, .net = 3 },
	[6] = { .fs = (UINT64_C(1) << 16) - 1, .net = 3, .scoped = 3 },
};

static int
abi_row(int abi)
{
	int last = (int)ARRAY_LEN(abis) - 1;

	return abi > last ? last : abi;
}

int
rules_abi(void)
{
	int abi = sys_landlock_create(NULL, 0, LL_CREATE_VERSION);

	return abi < 0 ? 0 : abi;
}

static int
allow_fd(int ruleset, int fd, uint64_t access, uint64_t handled)
{
	struct ll_path rule = {
		.access = access & handled,
		.parent_fd = fd,
	};

	return sys_landlock_add_path(ruleset, &rule);
}

static int
allow_path(int ruleset, const char *path, uint64_t access, uint64_t handled)
{
	own_fd int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -1 : allow_fd(ruleset, fd, access, handled);
}

/* Whether all mounts are open as descriptors: in a bare jail, and in the keeper
   for a clone. */
static bool
mounts_are_open(const struct blueprint *b)
{
	return b->kind == BLUEPRINT_BARE || b->kind == BLUEPRINT_CLONE;
}

/* Use open descriptors where there are any: then it does not matter what is at
   the path by now. */
static int
allow_mounts(const struct blueprint *b, int ruleset, uint64_t handled,
	     uint32_t *detail)
{
	uint64_t exec =
		b->plan->filter & PLAN_FILTER_SUBPROCESS ? LL_FS_EXECUTE : 0;

	for (size_t i = 0; i < b->contents->mount_count; i++) {
		const struct blueprint_mount *m = &b->contents->mounts[i];
		uint64_t access = (m->writable ? RULE_WRITE : RULE_READ) |
				  (m->runtime ? exec : 0);

#ifdef REMIT_HOLES
		/* A hole left in another mechanism must not become a hole in
		   Landlock. */
		if (!plan_keeps(b->plan, MECH(MOUNT_NAMESPACE)) &&
		    !m->runtime && !strchr(m->jail + 1, '/'))
			continue;
#endif
		if (!m->is_directory)
			access &= RULE_FILE_ONLY;
		*detail = (uint32_t)i + 1;
		if ((mounts_are_open(b)
			     ? allow_fd(ruleset, m->fd, access, handled)
			     : allow_path(ruleset, m->jail, access, handled)) <
		    0)
			return -1;
	}
	return 0;
}

static int
allow_devices(const struct blueprint *b, int ruleset, uint64_t handled,
	      uint32_t *detail)
{
	const uint64_t access = LL_FS_READ_FILE | LL_FS_WRITE_FILE;

	for (int i = 0; i < BLUEPRINT_DEVICES; i++) {
		int fd = b->contents->devices[i];
		char path[32];

		*detail = 2000 + (uint32_t)i;
		if (fd < 0)
			continue;
		snprintf(path, sizeof(path), "/dev/%s",
			 blueprint_device_names[i]);
		if ((mounts_are_open(b)
			     ? allow_fd(ruleset, fd, access, handled)
			     : allow_path(ruleset, path, access, handled)) < 0)
			return -1;
	}
	return 0;
}

/* Allow reading /etc, whose files Remit made. A bare jail does not have it. */
static int
allow_etc(const struct blueprint *b, int ruleset, uint64_t handled,
	  uint32_t *detail)
{
	*detail = 1000;
	if (b->kind == BLUEPRINT_BARE)
		return 0;
	return mounts_are_open(b)
		       ? allow_fd(ruleset, b->contents->etc, RULE_READ, handled)
		       : allow_path(ruleset, "/etc", RULE_READ, handled);
}

static int
allow_writable(const struct blueprint *b, int ruleset, uint64_t handled,
	       uint32_t *detail)
{
	if (b->kind == BLUEPRINT_BARE) {
		for (int i = 0; i < WORKSPACE_DIRECTORIES; i++) {
			*detail = 1001 + (uint32_t)i;
			if (allow_fd(ruleset, b->writable[i], RULE_WRITE,
				     handled) < 0)
				return -1;
		}
		return 0;
	}
	for (int i = 0; i < JAIL_WRITABLE; i++) {
		uint64_t exec =
			b->plan->runs_workspace && jail_writable[i].has_programs
				? LL_FS_EXECUTE
				: 0;

		*detail = 1001 + (uint32_t)i;
		if (allow_path(ruleset, jail_writable_path(b->plan, i),
			       RULE_WRITE | exec, handled) < 0)
			return -1;
	}
	return 0;
}

/* The terminals of this jail, if it has an instance of devpts. */
static int
allow_terminals(const struct blueprint *b, int ruleset, uint64_t handled,
		uint32_t *detail)
{
	const uint64_t access = RULE_READ | LL_FS_WRITE_FILE | LL_FS_IOCTL_DEV;

	*detail = 1100;
	if (!(b->plan->filter & PLAN_FILTER_SUBPROCESS) ||
	    b->kind == BLUEPRINT_BARE)
		return 0;
	if (allow_path(ruleset, "/dev/pts", access, handled) == 0)
		return 0;
	return errno == ENOENT ? 0 : -1;
}

static int
allow_in(int directory, const char *name, int ruleset, uint64_t handled)
{
	own_fd int fd =
		openat(directory, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : allow_fd(ruleset, fd, RULE_WRITE, handled);
}

static int
allow_slots(const struct blueprint *b, int ruleset, uint64_t handled,
	    uint32_t *detail)
{
	for (int i = 0; i < PLAN_BRANCHES_MAX && b->slots[i] >= 0; i++)
		for (int j = 0; j < JAIL_WRITABLE; j++) {
			*detail = 3000 + (uint32_t)(i * JAIL_WRITABLE + j);
			if (allow_in(b->slots[i], jail_writable[j].name,
				     ruleset, handled) < 0)
				return -1;
		}
	return 0;
}

/* The rule for this directory applies to what is mounted below it later: the
   kernel looks for rules from a file up to the root, across mounts. */
static int
allow_installed(const struct blueprint *b, int ruleset, uint64_t handled,
		uint32_t *detail)
{
	uint64_t exec =
		b->plan->filter & PLAN_FILTER_SUBPROCESS ? LL_FS_EXECUTE : 0;

	*detail = 4000;
	return b->plan->installs ? allow_path(ruleset, JAIL_INSTALLED,
					      RULE_READ | exec, handled)
				 : 0;
}

static uint64_t
handled_fs(const struct plan *p)
{
	return abis[abi_row(p->landlock_abi)].fs;
}

int
rules_begin(const struct blueprint *b, uint32_t *detail)
{
	int abi = b->plan->landlock_abi;
	struct ll_ruleset attr = {
		.fs = handled_fs(b->plan),
		.net = abis[abi_row(abi)].net,
		.scoped = abis[abi_row(abi)].scoped,
	};
	/* Older kernels expect a shorter struct. */
	size_t size = abi >= 6 ? sizeof(attr) : abi >= 4 ? 16 : 8;
	own_fd int ruleset = -1;

	if (b->plan->filter & PLAN_FILTER_NETWORK)
		attr.net = 0;
	ruleset = sys_landlock_create(&attr, size, 0);
	if (ruleset < 0 || allow_mounts(b, ruleset, attr.fs, detail) < 0 ||
	    allow_devices(b, ruleset, attr.fs, detail) < 0 ||
	    allow_etc(b, ruleset, attr.fs, detail) < 0)
		return -1;
	return take_fd(&ruleset);
}

int
rules_finish(const struct blueprint *b, int ruleset, uint32_t *detail)
{
	uint64_t handled = handled_fs(b->plan);

	if (allow_writable(b, ruleset, handled, detail) < 0 ||
	    allow_terminals(b, ruleset, handled, detail) < 0 ||
	    allow_installed(b, ruleset, handled, detail) < 0)
		return -1;
	return allow_slots(b, ruleset, handled, detail);
}
