#include "jail/cgroup/home.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/xattr.h>

#include "base/deadline.h"
#include "base/number.h"

/* Where a controller can be found: its name on version 1, and the file that
   shows on version 2 that a cgroup has it. */
static const struct {
	const char *v1;
	const char *v2_file;
} controllers[CGROUP_CONTROLLERS] = {
	[CGROUP_MEMORY] = { .v1 = "memory", .v2_file = "memory.max" },
	[CGROUP_PIDS] = { .v1 = "pids", .v2_file = "pids.max" },
	[CGROUP_CPU] = { .v1 = "cpuacct", .v2_file = "cpu.stat" },
	[CGROUP_KILL] = { .v1 = NULL, .v2_file = "cgroup.kill" },
	[CGROUP_SHARE] = { .v1 = "cpu", .v2_file = "cpu.weight" },
};

static bool
has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == ',') &&
		    (at[n] == ',' || at[n] == '\0'))
			return true;
	return false;
}

/* The cgroup of this process: in the hierarchy of a version 1 controller, or,
   with NULL, in version 2. */
static int
read_own_group(const char *v1, char *out, size_t size)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX + 256];
	int found = -1;

	while (f && found < 0 && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':');
		char *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		names++;
		path[strcspn(path, "\n")] = '\0';
		if (v1 ? has_word(names, v1) : !*names) {
			snprintf(out, size, "%s", path);
			found = 0;
		}
	}
	if (f)
		fclose(f);
	return found;
}

/* Where a hierarchy is mounted, and which of its cgroups is the mount's
   root. */
static int
find_hierarchy(const char *v1, char *point, char *root, size_t size)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[2 * PATH_MAX];
	int found = -1;

	while (f && found < 0 && fgets(line, sizeof(line), f)) {
		char r[512], p[512], type[32], options[256];
		char *tail = strstr(line, " - ");

		if (!tail ||
		    sscanf(line, "%*d %*d %*s %511s %511s", r, p) != 2 ||
		    sscanf(tail, " - %31s %*s %255s", type, options) != 2)
			continue;
		if (v1 ? !strcmp(type, "cgroup") && has_word(options, v1)
		       : !strcmp(type, "cgroup2")) {
			snprintf(point, size, "%s", p);
			snprintf(root, size, "%s", r);
			found = 0;
		}
	}
	if (f)
		fclose(f);
	return found;
}

static int
own_group_directory(const char *v1, char *out, size_t size)
{
	char group[PATH_MAX], point[512], root[512];
	const char *below;
	size_t n;

	if (read_own_group(v1, group, sizeof(group)) < 0 ||
	    find_hierarchy(v1, point, root, sizeof(point)) < 0)
		return -1;
	n = strcmp(root, "/") ? strlen(root) : 0;
	below = strncmp(group, root, n) ? group : group + n;
	return (size_t)snprintf(out, size, "%s%s", point, below) < size ? 0
									: -1;
}

#define DELEGATE_XATTR "user.delegate"

bool
cgroup_home_is_delegated(const char *directory)
{
	char mark;

	return getxattr(directory, DELEGATE_XATTR, &mark, 1) == 1 &&
	       mark == '1';
}

int
cgroup_home_mark_delegated(const char *directory)
{
	return setxattr(directory, DELEGATE_XATTR, "1", 1, 0);
}

/* Under systemd, use only what it has delegated. Elsewhere it is enough that
   the cgroup is writable. */
static bool
is_delegated_to_us(const char *directory)
{
	char procs[PATH_MAX + 16];

	if (access("/run/systemd/system", F_OK) == 0)
		return cgroup_home_is_delegated(directory);
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", directory);
	return access(directory, W_OK) == 0 && access(procs, W_OK) == 0;
}

/* The directory below which runs get their cgroups. */
static int
home_directory(const char *v1, char *out, size_t size)
{
	char point[512], root[512], above[PATH_MAX];

	if (own_group_directory(v1, out, size) < 0)
		return -1;
	if (v1 || find_hierarchy(v1, point, root, sizeof(point)) < 0 ||
	    strlen(out) <= strlen(point) + 1)
		return 0;
	snprintf(above, sizeof(above), "%.*s", (int)(strrchr(out, '/') - out),
		 out);
	if (is_delegated_to_us(above))
		snprintf(out, size, "%s", above);
	return 0;
}

static bool
is_v2_memory(void)
{
	char group[PATH_MAX];

	return read_own_group(controllers[CGROUP_MEMORY].v1, group,
			      sizeof(group)) < 0;
}

int
cgroup_home_own(char *out, size_t size)
{
	return is_v2_memory() ? own_group_directory(NULL, out, size) : -1;
}

int
cgroup_home_directory(char *out, size_t size)
{
	return is_v2_memory() ? home_directory(NULL, out, size) : -1;
}

/* The number in a line of a file: the first line, or the one that begins with
   `name`. */
static bool
read_group_number(const char *directory, const char *file, const char *name,
		  uint64_t *out)
{
	char path[PATH_MAX + 32], line[128];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		char *at = line;

		if (name && strncmp(at, name, strlen(name)) != 0)
			continue;
		at += name ? strlen(name) + 1 : 0;
		at[strcspn(at, "\n")] = '\0';
		found = number_parse(out, at) == 0;
	}
	if (f)
		fclose(f);
	return found;
}

/* Version 1 reports the lowest limit of all cgroups above in a file. */
static uint64_t
group_memory_bytes(void)
{
	uint64_t least = UINT64_MAX, limit;
	char directory[PATH_MAX];

	if (!is_v2_memory()) {
		if (own_group_directory("memory", directory,
					sizeof(directory)) == 0 &&
		    read_group_number(directory, "memory.stat",
				      "hierarchical_memory_limit", &limit))
			least = limit;
		return least;
	}
	if (own_group_directory(NULL, directory, sizeof(directory)) < 0)
		return least;
	/* A cgroup without a limit has "max" in this file. */
	for (char *end = directory + strlen(directory); end > directory;
	     end = strrchr(directory, '/')) {
		*end = '\0';
		if (read_group_number(directory, "memory.max", NULL, &limit) &&
		    limit < least)
			least = limit;
	}
	return least;
}

uint64_t
cgroup_home_memory_bytes(void)
{
	uint64_t group = group_memory_bytes(), machine = UINT64_MAX;
	struct sysinfo info;

	if (sysinfo(&info) == 0)
		machine = number_mul(info.totalram, info.mem_unit);
	return group < machine ? group : machine;
}

static void
enable_v2(const char *directory)
{
	static const char *const words[] = { "+memory", "+pids", "+cpu" };
	char path[PATH_MAX + 32];
	own_fd int fd = -1;

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", directory);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	/* The files of a new cgroup show whether this worked. */
	for (size_t i = 0; fd >= 0 && i < ARRAY_LEN(words); i++)
		if (write(fd, words[i], strlen(words[i])) < 0)
			continue;
}

static int
make_locked_group(int directory, const char *name)
{
	own_fd int fd = -1;
	struct stat st;

	if (mkdirat(directory, name, 0755) < 0 && errno != EEXIST)
		return -1;
	fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ||
	    fstatat(directory, name, &st, 0) < 0)
		return -1;
	return take_fd(&fd);
}

/* Between creating and locking, another keeper that cleans up may remove the
   directory as a stale one. Then make it again. */
int
cgroup_home_make(int directory, const char *name)
{
	const uint64_t pause_us = 1000;

	for (uint64_t us = deadline_us(DEADLINE_GROUP); us > pause_us;
	     us -= pause_us) {
		int fd = make_locked_group(directory, name);

		if (fd >= 0 || (errno != ENOENT && errno != EWOULDBLOCK))
			return fd;
		/* The process that holds the lock may be waiting for the
		   kernel. */
		if (errno == EWOULDBLOCK)
			usleep(pause_us);
	}
	return -1;
}

/* Create a cgroup and check that it has `file`, unless that is NULL. */
static int
try_group(int directory, const char *file)
{
	own_fd int fd = -1;
	char name[64];
	int there;

	snprintf(name, sizeof(name), CGROUP_PREFIX "try-%d", (int)getpid());
	fd = cgroup_home_make(directory, name);
	if (fd < 0)
		return -1;
	there = file ? faccessat(fd, file, F_OK, 0) : 0;
	unlinkat(directory, name, AT_REMOVEDIR);
	if (there < 0)
		errno = ENOTSUP;
	return there;
}

static int
try_place(struct cgroup_place *p, const char *v1, const char *file)
{
	own_fd int fd = -1;

	if (home_directory(v1, p->path, sizeof(p->path)) < 0)
		return -1;
	fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !v1)
		enable_v2(p->path);
	if (fd < 0 || try_group(fd, file) < 0) {
		snprintf(p->why, sizeof(p->why), "tried %.110s: %s", p->path,
			 errno == ENOTSUP ? "the controller is missing"
					  : strerror(errno));
		return -1;
	}
	p->fd = take_fd(&fd);
	p->v2 = !v1;
	p->usable = true;
	snprintf(p->why, sizeof(p->why), "cgroup %s at %.120s",
		 v1 ? "v1" : "v2", p->path);
	return 0;
}

void
cgroup_home_find(struct cgroup_home *h)
{
	for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
		struct cgroup_place *p = &h->at[c];

		*p = (struct cgroup_place){
			.fd = -1,
			.why = "no cgroup hierarchy is mounted",
		};
		/* Try version 1 first. A controller is in one version only,
		   except for cpu.stat, and joining a cgroup of version 2 other
		   than at the clone waits for a grace period of the kernel. */
		if (!controllers[c].v1 ||
		    try_place(p, controllers[c].v1, NULL) < 0)
			try_place(p, NULL, controllers[c].v2_file);
	}
}

int
cgroup_home_open(struct cgroup_home *h, const struct host *host,
		 struct remit_error *err)
{
	*h = (struct cgroup_home)CGROUP_HOME_INIT;
	for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
		struct cgroup_place *p = &h->at[c];

		p->usable = host->can[CAN_CGROUP_MEMORY + c].yes;
		p->v2 = host->cgroups_v2 & UINT32_C(1) << c;
		if (!p->usable)
			continue;
		if (home_directory(p->v2 ? NULL : controllers[c].v1, p->path,
				   sizeof(p->path)) < 0)
			return fail(err, REMIT_E_KERNEL,
				    "the cgroups of this process have changed");
		/* This may be another cgroup than the one that was probed, with
		   the same name, so enable its controllers again. */
		if (p->v2)
			enable_v2(p->path);
		p->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (p->fd < 0)
			return fail_sys(err, REMIT_E_KERNEL, "open %s",
					p->path);
	}
	return 0;
}

void
cgroup_home_free(struct cgroup_home *h)
{
	for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
		own_fd_close(&h->at[c].fd);
		h->at[c].fd = -1;
	}
}

/* Remove a cgroup, unless a keeper has locked it. */
static bool
remove_stale(int directory, const char *name, bool waits)
{
	own_fd int fd =
		openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	for (int tries = waits ? 200 : 1; tries; tries--) {
		if (unlinkat(directory, name, AT_REMOVEDIR) == 0)
			return true;
		if (errno != EBUSY)
			break;
		if (waits)
			usleep(5000);
	}
	return false;
}

/* Scopes that systemd made for us have a dot in their names. systemd removes
   them itself. */
static bool
is_keeper_group(const char *name)
{
	return !strncmp(name, CGROUP_PREFIX, strlen(CGROUP_PREFIX)) &&
	       !strchr(name, '.');
}

/* Remove stale cgroups in a directory and, with `everywhere`, below it. */
static unsigned
clean_groups_in(int directory, bool everywhere)
{
	unsigned removed = 0;
	struct dirent *e;
	DIR *d = fdopendir(directory);

	if (!d)
		own_fd_close(&directory);
	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		if (is_keeper_group(e->d_name))
			removed +=
				remove_stale(dirfd(d), e->d_name, everywhere);
		else if (everywhere)
			removed += clean_groups_in(
				openat(dirfd(d), e->d_name,
				       O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				true);
	}
	if (d)
		closedir(d);
	return removed;
}

unsigned
cgroup_home_clean(bool everywhere)
{
	char directory[PATH_MAX], root[PATH_MAX];
	unsigned removed = 0;

	for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
		const char *v1 = controllers[c].v1;
		int found = everywhere ? find_hierarchy(v1, directory, root,
							sizeof(directory))
				       : home_directory(v1, directory,
							sizeof(directory));

		if (found == 0)
			removed += clean_groups_in(
				open(directory,
				     O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				everywhere);
	}
	return removed;
}
