/*
 * cgroup: the cgroups of one run, one directory for each controller, either new
 * or reused from a stock (below).
 */
#ifndef REMIT_CGROUP_H
#define REMIT_CGROUP_H

#include <stdint.h>
#include <sys/types.h>

#include "jail/cgroup/home.h"
#include "policy/plan/plan.h"

/* What a cgroup enforces. */
struct cgroup_limits {
	uint64_t memory_bytes, tcp_bytes, pids;
	bool wanted[CGROUP_CONTROLLERS];
	bool keeps_init;
};

struct cgroup {
	const struct cgroup_home *home;
	struct cgroup_limits limits;
	char name[40];
	uint64_t share_parts;	    /* see cgroup_set_share(); 0: as created */
	int at[CGROUP_CONTROLLERS]; /* directory descriptors; -1: not used */
	/* Files that were opened in advance, or -1. */
	int memory_peak, pids_peak;
};

struct cgroup_usage {
	bool has_memory, has_cpu, has_pids, has_charge;
	uint64_t memory_peak_bytes;
	uint64_t cpu_us;
	uint64_t pids_peak;
	uint64_t oom_kills;
	uint64_t memory_bytes; /* charged now */
	uint64_t cache_bytes;  /* of them, pages of files */
};

#define CGROUP_INIT                                      \
	{ .at = { [0 ... CGROUP_CONTROLLERS - 1] = -1 }, \
	  .memory_peak = -1,                             \
	  .pids_peak = -1 }

/* The part of a plan's limits that cgroups enforce. */
void cgroup_limits_of(struct cgroup_limits *out, const struct cgroup_home *home,
		      const struct plan_limits *l);
bool cgroup_limits_equal(const struct cgroup_limits *a,
			 const struct cgroup_limits *b);
/* Create the directories that the limits need, and set the limits. On failure
   nothing is left. */
int cgroup_make(struct cgroup *c, const struct cgroup_home *home,
		const struct cgroup_limits *l, const char *name,
		struct remit_error *err) must_check;
/* The version 2 directory for CLONE_INTO_CGROUP, or -1. */
int cgroup_clone_fd(const struct cgroup *c);
/*
 * Open the files into which a process with one thread writes "0" to join (-1:
 * none): those of version 1, or, with `all`, of both versions. Moving a process
 * from outside takes milliseconds and stalls every fork on the machine
 * meanwhile, since the kernel waits for a grace period
 * (cgroup_procs_write_start()).
 */
int cgroup_open_joins(const struct cgroup *c, bool all,
		      int out[CGROUP_CONTROLLERS],
		      struct remit_error *err) must_check;
/* Returns -1 if the process is not in all of these cgroups. */
int cgroup_check(const struct cgroup *c, pid_t pid,
		 struct remit_error *err) must_check;
enum cgroup_detail {
	CGROUP_READ_OOM = 1, /* kills for lack of memory */
	CGROUP_READ_CPU = 2,
	CGROUP_READ_PEAKS = 4,
	CGROUP_READ_ALL = 7,	/* what the result of a run needs */
	CGROUP_READ_CHARGE = 8, /* the memory that is charged now */
};
/* Read the requested values of the controllers in use. Each of them costs a
   file. */
void cgroup_read(const struct cgroup *c, unsigned details,
		 struct cgroup_usage *out);
/* Open in advance the files that are read at the end of a run, while no client
   waits. */
void cgroup_open_peaks(struct cgroup *c);
void cgroup_close_peaks(struct cgroup *c);
/* Set the weight against other cgroups: that of a new cgroup, divided by
   `parts`. Does nothing if processor time is not shared by cgroups. */
void cgroup_set_share(struct cgroup *c, uint64_t parts);
/* Kill every process in it in one step, if the kernel supports that. */
void cgroup_kill(const struct cgroup *c);
/*
 * Reset the counters, so that the cgroup is as it was before its first run.
 * Returns -1 if that is impossible: a process is in it; its run had more than
 * two processes or ran out of memory; much memory is still charged to it; or it
 * is of a kind that keeps traces (version 2, a TCP limit, killed as a whole).
 * Then only cgroup_free() may be called.
 */
int cgroup_renew(const struct cgroup *c) must_check;
/* Remove the directories. A directory that is still busy is left for
   cgroup_home_clean(). */
void cgroup_free(struct cgroup *c);

/*
 * A stock: cgroups of finished runs, kept for the next run with the same
 * limits. Creating and removing cgroups takes a tenth of a warm run, most of it
 * afterwards, in kernel threads.
 *
 * Only limits and counters are used again, and only if all counters are as in a
 * new cgroup (cgroup_renew). A cgroup contains nothing else that code could
 * leave behind.
 */
#define CGROUP_STOCK_MAX 16

struct cgroup_stock {
	struct cgroup spare[CGROUP_STOCK_MAX];
	size_t count;
};

/* Get cgroups with these limits: from the stock, or new ones with this name.
   `s` may be NULL. */
int cgroup_stock_acquire(struct cgroup_stock *s, struct cgroup *out,
			 const struct cgroup_home *home,
			 const struct plan_limits *l, const char *name,
			 struct remit_error *err) must_check;
/* Give the cgroups of a dead run to the stock, or remove them if they cannot be
   reused. `s` may be NULL. */
void cgroup_stock_release(struct cgroup_stock *s, struct cgroup *c);
/* Remove the cgroups that have been unused for longest, if there are any. */
void cgroup_stock_shrink(struct cgroup_stock *s);
void cgroup_stock_clear(struct cgroup_stock *s);

#endif
