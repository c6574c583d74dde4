#include "cgroup_home.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#define PREFIX "remit-"

/* Where a controller can be: the name on version 1, and the file on version 2
   that shows that a group has it. */
static const struct {
	const char *v1;
	const char *v2_file;
} controllers[CGROUP_CONTROLLERS] = {
	[CGROUP_MEMORY] = { .v1 = "memory", .v2_file = "memory.max" },
	[CGROUP_PIDS] = { .v1 = "pids", .v2_file = "pids.max" },
	[CGROUP_CPU] = { .v1 = "cpuacct", .v2_file = "cpu.stat" },
	[CGROUP_KILL] = { .v1 = NULL, .v2_file = "cgroup.kill" },
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

/* The group of this process: on the hierarchy of a v1 controller, or, with
   NULL, on version 2. */
static int
own_group(const char *v1, char *out, size_t size)
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

/* Where a hierarchy is mounted, and which group of it is the mount's root. */
static int
mount_point(const char *v1, char *point, char *root, size_t size)
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
own_folder(const char *v1, char *out, size_t size)
{
	char group[PATH_MAX], point[512], root[512];
	const char *below;
	size_t n;

	if (own_group(v1, group, sizeof(group)) < 0 ||
	    mount_point(v1, point, root, sizeof(point)) < 0)
		return -1;
	n = strcmp(root, "/") ? strlen(root) : 0;
	below = strncmp(group, root, n) ? group : group + n;
	return (size_t)snprintf(out, size, "%s%s", point, below) < size ? 0
									: -1;
}

static void
enable_v2(const char *folder)
{
	static const char *const words[] = { "+memory", "+pids", "+cpu" };
	char path[PATH_MAX + 32];
	own_fd int fd = -1;

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	/* Whether it worked shows in the files of the new group. */
	for (size_t i = 0; fd >= 0 && i < ARRAY_LEN(words); i++)
		if (write(fd, words[i], strlen(words[i])) < 0)
			continue;
}

static int
make_home(struct cgroup_place *p, const char *folder)
{
	uint32_t noise = 0;

	if (getrandom(&noise, sizeof(noise), 0) < 0)
		return -1;
	if ((size_t)snprintf(p->path, sizeof(p->path), "%s/" PREFIX "%d-%08x",
			     folder, (int)getpid(), noise) >= sizeof(p->path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (mkdir(p->path, 0755) < 0)
		return -1;
	p->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->fd < 0 || flock(p->fd, LOCK_EX | LOCK_NB) < 0) {
		rmdir(p->path);
		own_fd_close(&p->fd);
		p->fd = -1;
		return -1;
	}
	return 0;
}

static int
try_v2(struct cgroup_home *h, enum cgroup_controller c, const char *folder)
{
	struct cgroup_place *p = &h->at[c];
	char file[PATH_MAX + 64];

	/* One home on version 2 serves all its controllers. */
	for (int i = 0; i < (int)c; i++)
		if (h->at[i].usable && h->at[i].v2) {
			*p = h->at[i];
			p->fd = dup(h->at[i].fd);
			break;
		}
	if (!p->v2) {
		if (make_home(p, folder) < 0)
			return -1;
		enable_v2(p->path);
	}
	snprintf(file, sizeof(file), "%s/%s", p->path, controllers[c].v2_file);
	if (access(file, F_OK) < 0) {
		own_fd_close(&p->fd);
		rmdir(p->path);
		p->fd = -1;
		p->usable = p->v2 = false;
		return -1;
	}
	p->v2 = p->usable = true;
	snprintf(p->why, sizeof(p->why), "cgroup v2 at %.120s", folder);
	return 0;
}

static void
find_place(struct cgroup_home *h, enum cgroup_controller c)
{
	struct cgroup_place *p = &h->at[c];
	char folder[PATH_MAX];

	*p = (struct cgroup_place){ .fd = -1 };
	if (own_folder(NULL, folder, sizeof(folder)) == 0) {
		if (c == CGROUP_MEMORY)
			enable_v2(folder);
		if (try_v2(h, c, folder) == 0)
			return;
		snprintf(p->why, sizeof(p->why), "cgroup v2 %.100s: %s", folder,
			 strerror(errno));
	}
	if (!controllers[c].v1 ||
	    own_folder(controllers[c].v1, folder, sizeof(folder)) < 0) {
		if (!p->why[0])
			snprintf(p->why, sizeof(p->why),
				 "no cgroup hierarchy is mounted");
		return;
	}
	if (make_home(p, folder) < 0) {
		snprintf(p->why, sizeof(p->why), "tried %.110s: %s", folder,
			 strerror(errno));
		return;
	}
	p->usable = true;
	snprintf(p->why, sizeof(p->why), "cgroup v1 at %.120s", folder);
}

void
cgroup_home_make(struct cgroup_home *h)
{
	for (int c = 0; c < CGROUP_CONTROLLERS; c++)
		find_place(h, (enum cgroup_controller)c);
}

void
cgroup_home_free(struct cgroup_home *h)
{
	for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
		if (h->at[c].fd < 0)
			continue;
		rmdir(h->at[c].path);
		own_fd_close(&h->at[c].fd);
		h->at[c].fd = -1;
	}
}

/* A home nobody has locked, with the groups in it. */
static bool
remove_stale(const char *folder, const char *name)
{
	char path[PATH_MAX], inner[2 * PATH_MAX];
	own_fd int fd = -1;
	struct dirent *e;
	DIR *d;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >=
	    sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
		rmdir(inner);
	}
	if (d)
		closedir(d);
	return rmdir(path) == 0;
}

static unsigned
clean_folder(const char *folder)
{
	unsigned removed = 0;
	struct dirent *e;
	DIR *d = opendir(folder);

	while (d && (e = readdir(d)))
		if (e->d_type == DT_DIR &&
		    !strncmp(e->d_name, PREFIX, strlen(PREFIX)))
			removed += remove_stale(folder, e->d_name);
	if (d)
		closedir(d);
	return removed;
}

unsigned
cgroup_home_clean(void)
{
	char folder[PATH_MAX];
	unsigned removed = 0;

	if (own_folder(NULL, folder, sizeof(folder)) == 0)
		removed += clean_folder(folder);
	for (int c = 0; c < CGROUP_CONTROLLERS; c++)
		if (controllers[c].v1 &&
		    own_folder(controllers[c].v1, folder, sizeof(folder)) == 0)
			removed += clean_folder(folder);
	return removed;
}
