#include "jail/cgroup/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/deadline.h"

/* Processes of a run: pid 1 and the code. */
#define RUN_PIDS 2
/* How much memory of a finished run may still be charged to a reused cgroup. */
#define RESIDUAL_BYTES_MAX (1 << 20)

static int
write_file_at(int directory, const char *file, const char *text)
{
	own_fd int fd = openat(directory, file, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	return write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

static int
open_file_at(int directory, const char *file)
{
	return openat(directory, file, O_RDONLY | O_CLOEXEC);
}

/* The number after `key`, or the first one if key is NULL. */
static int
find_number(int fd, const char *key, uint64_t *out)
{
	char text[4096]; /* of memory.stat, the beginning */
	const char *at = text;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	if (key) {
		at = strstr(text, key);
		if (!at)
			return -1;
		at += strlen(key);
	}
	*out = strtoull(at, NULL, 10);
	return 0;
}

static int
find_number_at(int directory, const char *file, const char *key, uint64_t *out)
{
	own_fd int fd = open_file_at(directory, file);

	return fd < 0 ? -1 : find_number(fd, key, out);
}

/* Returns 0 if it cannot be read. */
static uint64_t
read_number_at(int directory, const char *file, const char *key)
{
	uint64_t n = 0;

	return find_number_at(directory, file, key, &n) < 0 ? 0 : n;
}

static int
write_limit(const struct cgroup *c, enum cgroup_controller which,
	    const char *file, uint64_t value, struct remit_error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	if (write_file_at(c->at[which], file, text) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "write %s to %s/%s/%s",
				text, c->home->at[which].path, c->name, file);
	return 0;
}

static int
set_memory_limits(const struct cgroup *c, struct remit_error *err)
{
	const struct cgroup_limits *l = &c->limits;
	uint64_t bytes = l->memory_bytes, tcp = l->tcp_bytes;
	int at = c->at[CGROUP_MEMORY];

	if (c->home->at[CGROUP_MEMORY].v2) {
		if (write_limit(c, CGROUP_MEMORY, "memory.max", bytes, err) < 0)
			return -1;
		/* The file is absent without swap, and then there is nothing to
		   limit. */
		if (write_file_at(at, "memory.swap.max", "0") < 0 &&
		    errno != ENOENT)
			return fail_sys(err, REMIT_E_KERNEL,
					"write memory.swap.max");
		return write_limit(c, CGROUP_MEMORY, "memory.oom.group",
				   !l->keeps_init, err);
	}
	/* Version 1 can account for TCP buffers separately. */
	if (tcp && write_limit(c, CGROUP_MEMORY,
			       "memory.kmem.tcp.limit_in_bytes", tcp, err) < 0)
		return -1;
	bytes -= tcp;
	/* In this order: the limit with swap must not be below the memory
	   limit. */
	if (write_limit(c, CGROUP_MEMORY, "memory.limit_in_bytes", bytes, err) <
	    0)
		return -1;
	if (faccessat(at, "memory.memsw.limit_in_bytes", F_OK, 0) < 0)
		return 0;
	return write_limit(c, CGROUP_MEMORY, "memory.memsw.limit_in_bytes",
			   bytes, err);
}

int
cgroup_clone_fd(const struct cgroup *c)
{
	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		if (c->at[i] >= 0 && c->home->at[i].v2)
			return c->at[i];
	return -1;
}

/* An earlier controller with the same directory, or -1. Version 2 has one
   directory for all controllers, and version 1 may mount "cpu" and "cpuacct"
   together. */
static int
find_same_directory(const struct cgroup *c, int which)
{
	const struct cgroup_place *at = c->home->at;

	for (int i = 0; i < which; i++)
		if (c->at[i] >= 0 && !strcmp(at[i].path, at[which].path))
			return i;
	return -1;
}

/* A directory shared by several controllers is locked only once. */
static int
share_directory(struct cgroup *c, enum cgroup_controller which)
{
	int same = find_same_directory(c, (int)which);

	if (same < 0)
		return -1;
	c->at[which] = fcntl(c->at[same], F_DUPFD_CLOEXEC, 0);
	return c->at[which] < 0 ? -1 : 0;
}

static int
make_group(struct cgroup *c, enum cgroup_controller which,
	   struct remit_error *err)
{
	if (share_directory(c, which) == 0)
		return 0;
	c->at[which] = cgroup_home_make(c->home->at[which].fd, c->name);
	if (c->at[which] >= 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return deadline_missed(err, DEADLINE_GROUP);
	return fail_sys(err, REMIT_E_KERNEL, "make and lock the cgroup %s/%s",
			c->home->at[which].path, c->name);
}

void
cgroup_limits_of(struct cgroup_limits *out, const struct cgroup_home *home,
		 const struct plan_limits *l)
{
	*out = (struct cgroup_limits){
		.memory_bytes = l->memory_cgroup_bytes,
		.tcp_bytes = l->tcp_cgroup_bytes,
		.pids = l->pids_cgroup,
		.wanted = {
			[CGROUP_MEMORY] = l->memory_cgroup_bytes,
			[CGROUP_PIDS] = l->pids_cgroup,
			[CGROUP_CPU] = l->cpu_cgroup_ms,
			[CGROUP_KILL] = l->many_processes &&
					home->at[CGROUP_KILL].usable,
			[CGROUP_SHARE] = home->at[CGROUP_SHARE].usable,
		},
		.keeps_init = l->keeps_init,
	};
}

bool
cgroup_limits_equal(const struct cgroup_limits *a,
		    const struct cgroup_limits *b)
{
	return a->memory_bytes == b->memory_bytes &&
	       a->tcp_bytes == b->tcp_bytes && a->pids == b->pids &&
	       a->keeps_init == b->keeps_init &&
	       !memcmp(a->wanted, b->wanted, sizeof(a->wanted));
}

static int
make_groups(struct cgroup *c, struct remit_error *err)
{
	const struct cgroup_limits *l = &c->limits;

	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		if (l->wanted[i] &&
		    make_group(c, (enum cgroup_controller)i, err) < 0)
			return -1;
	if (l->wanted[CGROUP_MEMORY] && set_memory_limits(c, err) < 0)
		return -1;
	if (l->wanted[CGROUP_PIDS] &&
	    write_limit(c, CGROUP_PIDS, "pids.max", l->pids, err) < 0)
		return -1;
	return 0;
}

int
cgroup_make(struct cgroup *c, const struct cgroup_home *home,
	    const struct cgroup_limits *l, const char *name,
	    struct remit_error *err)
{
	*c = (struct cgroup)CGROUP_INIT;
	c->home = home;
	c->limits = *l;
	snprintf(c->name, sizeof(c->name), CGROUP_PREFIX "%s", name);
	if (make_groups(c, err) == 0)
		return 0;
	/* A cgroup without its limits must not be used by later runs. */
	cgroup_free(c);
	return -1;
}

int
cgroup_open_joins(const struct cgroup *c, bool all, int out[CGROUP_CONTROLLERS],
		  struct remit_error *err)
{
	bool joined_v2 = !all;

	for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
		bool v2 = c->at[i] >= 0 && c->home->at[i].v2;
		const char *file = v2 ? "cgroup.procs" : "tasks";

		out[i] = -1;
		if (c->at[i] < 0 || (v2 && joined_v2) ||
		    (!v2 && find_same_directory(c, i) >= 0))
			continue;
		joined_v2 |= v2;
		out[i] = openat(c->at[i], file, O_WRONLY | O_CLOEXEC);
		if (out[i] < 0)
			return fail_sys(err, REMIT_E_KERNEL, "open %s/%s/%s",
					c->home->at[i].path, c->name, file);
	}
	return 0;
}

/* The number of hierarchies in which a process is in a cgroup of this name. */
static unsigned
count_memberships(const struct cgroup *c, pid_t pid)
{
	char path[48], text[4096];
	unsigned count = 0;
	own_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	for (const char *at = text; (at = strstr(at, c->name)); at++)
		count++;
	return count;
}

int
cgroup_check(const struct cgroup *c, pid_t pid, struct remit_error *err)
{
	unsigned wanted = cgroup_clone_fd(c) >= 0;

	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		wanted += c->at[i] >= 0 && !c->home->at[i].v2 &&
			  find_same_directory(c, i) < 0;
	if (!wanted || count_memberships(c, pid) == wanted)
		return 0;
	return fail(err, REMIT_E_INTERNAL,
		    "the code is not in the cgroups of its run");
}

static uint64_t
read_cpu(const struct cgroup *c)
{
	int at = c->at[CGROUP_CPU];

	if (c->home->at[CGROUP_CPU].v2)
		return read_number_at(at, "cpu.stat", "usage_usec ");
	return read_number_at(at, "cpuacct.usage", NULL) / 1000;
}

static const char *
memory_peak_file(const struct cgroup *c)
{
	return c->home->at[CGROUP_MEMORY].v2 ? "memory.peak"
					     : "memory.max_usage_in_bytes";
}

#define PIDS_PEAK_FILE "pids.peak"

void
cgroup_open_peaks(struct cgroup *c)
{
	cgroup_close_peaks(c);
	if (c->at[CGROUP_MEMORY] >= 0)
		c->memory_peak =
			open_file_at(c->at[CGROUP_MEMORY], memory_peak_file(c));
	if (c->at[CGROUP_PIDS] >= 0)
		c->pids_peak = open_file_at(c->at[CGROUP_PIDS], PIDS_PEAK_FILE);
}

void
cgroup_close_peaks(struct cgroup *c)
{
	own_fd_close(&c->memory_peak);
	own_fd_close(&c->pids_peak);
	c->memory_peak = c->pids_peak = -1;
}

/* Returns 0 if it cannot be read. */
static uint64_t
read_peak(int opened, int directory, const char *file)
{
	uint64_t n = 0;

	if (opened < 0)
		return read_number_at(directory, file, NULL);
	return find_number(opened, NULL, &n) < 0 ? 0 : n;
}

static void
read_charge(int memory, bool v2, struct cgroup_usage *out)
{
	out->has_charge =
		find_number_at(memory,
			       v2 ? "memory.current" : "memory.usage_in_bytes",
			       NULL, &out->memory_bytes) == 0;
	out->cache_bytes =
		read_number_at(memory, "memory.stat", v2 ? "file " : "cache ");
}

void
cgroup_read(const struct cgroup *c, unsigned details, struct cgroup_usage *out)
{
	int memory = c->at[CGROUP_MEMORY], pids = c->at[CGROUP_PIDS];
	bool v2 = memory >= 0 && c->home->at[CGROUP_MEMORY].v2;
	bool peaks = details & CGROUP_READ_PEAKS;

	*out = (struct cgroup_usage){
		.has_memory = memory >= 0 && peaks,
		.has_cpu = c->at[CGROUP_CPU] >= 0 && details & CGROUP_READ_CPU,
		.has_pids = pids >= 0 && peaks,
	};
	if (out->has_memory)
		out->memory_peak_bytes =
			read_peak(c->memory_peak, memory, memory_peak_file(c));
	if (memory >= 0 && details & CGROUP_READ_OOM)
		out->oom_kills = read_number_at(
			memory, v2 ? "memory.events" : "memory.oom_control",
			"oom_kill ");
	if (out->has_cpu)
		out->cpu_us = read_cpu(c);
	if (out->has_pids)
		out->pids_peak = read_peak(c->pids_peak, pids, PIDS_PEAK_FILE);
	if (details & CGROUP_READ_CHARGE && memory >= 0)
		read_charge(memory, v2, out);
}

/* The kernel's values for a new cgroup. */
#define NEW_GROUP_SHARES_V1 1024
#define NEW_GROUP_WEIGHT_V2 100

void
cgroup_set_share(struct cgroup *c, uint64_t parts)
{
	bool v2 = c->home && c->home->at[CGROUP_SHARE].v2;
	uint64_t share =
		(v2 ? NEW_GROUP_WEIGHT_V2 : NEW_GROUP_SHARES_V1) / parts;
	uint64_t before = c->share_parts ? c->share_parts : 1;
	char text[24];

	if (c->at[CGROUP_SHARE] < 0 || parts == before)
		return;
	c->share_parts = parts;
	snprintf(text, sizeof(text), "%llu",
		 (unsigned long long)(share ? share : 1));
	/* The write fails only while the cgroup is being removed. */
	if (write_file_at(c->at[CGROUP_SHARE], v2 ? "cpu.weight" : "cpu.shares",
			  text) < 0)
		return;
}

void
cgroup_kill(const struct cgroup *c)
{
	/* The file is absent before Linux 5.14. There, the death of pid 1 does
	   the same. */
	if (c->at[CGROUP_KILL] >= 0 &&
	    write_file_at(c->at[CGROUP_KILL], "cgroup.kill", "1") < 0)
		return;
}

static bool
is_empty_at(int directory, const char *file)
{
	own_fd int fd = openat(directory, file, O_RDONLY | O_CLOEXEC);
	char one;

	return fd >= 0 && read(fd, &one, 1) == 0;
}

/* Check all controllers: code that has obtained a file to join cgroups could be
   in only one of them. */
static bool
has_no_processes(const struct cgroup *c)
{
	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		if (c->at[i] >= 0 &&
		    !is_empty_at(c->at[i],
				 c->home->at[i].v2 ? "cgroup.procs" : "tasks"))
			return false;
	return true;
}

/*
 * Only version 1 can reset its counters. TCP's counters are not fully visible,
 * and a process that is cloned into a cgroup whose processes were once killed
 * together is killed too (kill_seq in the kernel): cgroups with these are not
 * reused.
 */
static bool
can_be_renewed(const struct cgroup *c)
{
	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		if (c->limits.wanted[i] != (c->at[i] >= 0) ||
		    (c->at[i] >= 0 && c->home->at[i].v2))
			return false;
	return !c->limits.tcp_bytes && !c->limits.wanted[CGROUP_KILL];
}

static int
renew_memory(int at)
{
	uint64_t left, kills;

	/* Include swapped memory, if it is counted. */
	if (find_number_at(at, "memory.memsw.usage_in_bytes", NULL, &left) <
		    0 &&
	    find_number_at(at, "memory.usage_in_bytes", NULL, &left) < 0)
		return -1;
	if (left > RESIDUAL_BYTES_MAX ||
	    find_number_at(at, "memory.oom_control", "oom_kill ", &kills) < 0 ||
	    kills)
		return -1;
	return write_file_at(at, "memory.max_usage_in_bytes", "0");
}

int
cgroup_renew(const struct cgroup *c)
{
	int memory = c->at[CGROUP_MEMORY], pids = c->at[CGROUP_PIDS],
	    cpu = c->at[CGROUP_CPU];
	uint64_t peak;

	if (!can_be_renewed(c) || !has_no_processes(c))
		return -1;
	if (pids >= 0 &&
	    (find_number_at(pids, PIDS_PEAK_FILE, NULL, &peak) < 0 ||
	     peak > RUN_PIDS))
		return -1;
	if (memory >= 0 && renew_memory(memory) < 0)
		return -1;
	return cpu < 0 ? 0 : write_file_at(cpu, "cpuacct.usage", "0");
}

void
cgroup_free(struct cgroup *c)
{
	cgroup_close_peaks(c);
	for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
		if (c->at[i] < 0)
			continue;
		unlinkat(c->home->at[i].fd, c->name, AT_REMOVEDIR);
		own_fd_close(&c->at[i]);
		c->at[i] = -1;
	}
}

/* ---- reusing cgroups for the next run ---- */

int
cgroup_stock_acquire(struct cgroup_stock *s, struct cgroup *out,
		     const struct cgroup_home *home,
		     const struct plan_limits *l, const char *name,
		     struct remit_error *err)
{
	struct cgroup_limits limits;

	cgroup_limits_of(&limits, home, l);
	for (size_t i = s ? s->count : 0; i-- > 0;) {
		struct cgroup *c = &s->spare[i];

		if (!cgroup_limits_equal(&c->limits, &limits))
			continue;
		*out = *c;
		s->count--;
		memmove(c, c + 1, (s->count - i) * sizeof(*c));
		return 0;
	}
	return cgroup_make(out, home, &limits, name, err);
}

void
cgroup_stock_release(struct cgroup_stock *s, struct cgroup *c)
{
	if (!s || !c->home || s->count == CGROUP_STOCK_MAX ||
	    cgroup_renew(c) < 0) {
		cgroup_free(c);
		return;
	}
	cgroup_close_peaks(c);
	s->spare[s->count++] = *c;
	*c = (struct cgroup)CGROUP_INIT;
}

/* The stock is used from its end, so its first entry has been unused for
   longest. */
void
cgroup_stock_shrink(struct cgroup_stock *s)
{
	if (!s->count)
		return;
	cgroup_free(&s->spare[0]);
	s->count--;
	memmove(s->spare, s->spare + 1, s->count * sizeof(s->spare[0]));
}

void
cgroup_stock_clear(struct cgroup_stock *s)
{
	while (s->count)
		cgroup_free(&s->spare[--s->count]);
}
