/*
 * cgroup: the groups of one run, one directory for each controller, fresh or as
 * if it were (a stock, below).
 */
#ifndef REMIT_CGROUP_H
#define REMIT_CGROUP_H

#include <stdint.h>
#include <sys/types.h>

#include "jail/cgroup/home.h"
#include "policy/plan/plan.h"

/* What a group is made for. */
struct cgroup_limits {
	uint64_t memory_bytes, tcp_bytes, pids;
	bool wanted[CGROUP_CONTROLLERS];
	bool keeps_init;
};

struct cgroup {
	const struct cgroup_home *home;
	struct cgroup_limits limits;
	char name[40];
	uint64_t share_parts;	    /* see cgroup_set_share(); 0: as made */
	int at[CGROUP_CONTROLLERS]; /* directory descriptors, -1: not used */
	/* Files that were opened ahead, or -1. */
	int memory_peak, pids_peak;
};

struct cgroup_usage {
	bool has_memory, has_cpu, has_pids;
	uint64_t memory_peak_bytes;
	uint64_t cpu_us;
	uint64_t pids_peak;
	uint64_t oom_kills;
};

#define CGROUP_INIT                                      \
	{ .at = { [0 ... CGROUP_CONTROLLERS - 1] = -1 }, \
	  .memory_peak = -1,                             \
	  .pids_peak = -1 }

/* The part of a plan's limits that groups keep. */
void cgroup_limits_of(struct cgroup_limits *out, const struct cgroup_home *home,
		      const struct plan_limits *l);
bool cgroup_limits_equal(const struct cgroup_limits *a,
			 const struct cgroup_limits *b);
/* Make the directories that the limits need, and set the limits. */
int cgroup_make(struct cgroup *c, const struct cgroup_home *home,
		const struct cgroup_limits *l, const char *name,
		struct remit_error *err) must_check;
/* The version 2 directory for CLONE_INTO_CGROUP, or -1. */
int cgroup_clone_fd(const struct cgroup *c);
/*
 * The groups' files (-1: none) into which a process that has one thread writes
 * "0" to join: of version 1, or of `all`. Put there by another process it would
 * take milliseconds, and stop every fork of the machine for as long: that waits
 * for a grace period (cgroup_procs_write_start() in the kernel).
 */
int cgroup_open_joins(const struct cgroup *c, bool all,
		      int out[CGROUP_CONTROLLERS],
		      struct remit_error *err) must_check;
/* See that a process is in all groups; it is an error if it is not. */
int cgroup_check(const struct cgroup *c, pid_t pid,
		 struct remit_error *err) must_check;
enum cgroup_detail {
	CGROUP_READ_OOM = 1, /* kills for memory */
	CGROUP_READ_CPU = 2,
	CGROUP_READ_PEAKS = 4,
	CGROUP_READ_ALL = 7,
};
/* What is asked for, where there is a group for it: each is a file. */
void cgroup_read(const struct cgroup *c, unsigned details,
		 struct cgroup_usage *out);
/* Open what will be read at the end of a run, while nobody waits for it. */
void cgroup_open_peaks(struct cgroup *c);
void cgroup_close_peaks(struct cgroup *c);
/* Weigh it against other groups: as much as a new group, divided by `parts`.
   Does nothing where no group divides processor time. */
void cgroup_set_share(struct cgroup *c, uint64_t parts);
/* Kill everything in it in one step, if the kernel can. */
void cgroup_kill(const struct cgroup *c);
/*
 * Set back what is counted, so that it is as before the first run. -1 where
 * that cannot be: somebody is in it, its run had more than two processes or too
 * little memory, much memory is still accounted for, or it is of a kind that
 * keeps a trace (version 2, TCP, killed as a whole). Then it is only good for
 * cgroup_free().
 */
int cgroup_renew(const struct cgroup *c) must_check;
/* Remove the directories; what is still busy stays for cgroup_home_clean(). */
void cgroup_free(struct cgroup *c);

/*
 * A stock: groups whose run is over, for the next run with the same limits. To
 * make and remove them is a tenth of a warm run, most of it later, in threads
 * of the kernel.
 *
 * Only limits and counters are used again, and only where all counters are as
 * in a fresh group (cgroup_renew); a group holds nothing that code could leave.
 */
#define CGROUP_STOCK_MAX 16

struct cgroup_stock {
	struct cgroup spare[CGROUP_STOCK_MAX];
	size_t count;
};

/* Groups with these limits: spare ones, or new ones of that name. */
int cgroup_stock_acquire(struct cgroup_stock *s, struct cgroup *out,
			 const struct cgroup_home *home,
			 const struct plan_limits *l, const char *name,
			 struct remit_error *err) must_check;
/* Nobody is in them any more. What is not worth keeping is removed. */
void cgroup_stock_release(struct cgroup_stock *s, struct cgroup *c);
/* Remove what was not needed for longest, if there is any. */
void cgroup_stock_shrink(struct cgroup_stock *s);
void cgroup_stock_clear(struct cgroup_stock *s);

#endif
