/*
 * plan: policy × job × host, decided. The only place with choices: everything
 * below does what the plan says or fails. Pure: it asks nothing of the system.
 */
#ifndef REMIT_PLAN_H
#define REMIT_PLAN_H

#include "policy/fields/field.h"
#include "policy/host.h"
#include "policy/interpreter.h"

enum strength {
	STRENGTH_ENFORCED, /* kept by the mechanisms named */
	STRENGTH_FALLBACK, /* kept in a weaker way the policy accepted */
	STRENGTH_GRANTED,  /* the policy gives it: nothing to keep */
	STRENGTH_NONE,	   /* not enforced: only in the unsafe tier */
};

extern const char *const strength_names[];

struct plan_row {
	bool present;
	uint64_t mechanisms;
	enum strength strength;
	char note[256]; /* for people, or "" */
};

/* The most directories of mode rw that a run may have. */
#define PLAN_WRITE_ROOTS_MAX 8

struct plan_mount {
	const char *host;
	const char *jail;
	bool runtime; /* part of the interpreter: may be executable */
	enum field_id field;
	enum mount_mode mode;
	uint64_t max_bytes; /* of its own overlay; 0: it shares the workspace's
			     */
	int write_root;	    /* which one of mode rw it is, or -1 */
};

static inline bool
plan_mount_is_overlaid(const struct plan_mount *m)
{
	return m->mode == MOUNT_RW || m->mode == MOUNT_OVERLAY;
}

/* 0 means that this limit is not set by this mechanism. */
struct plan_limits {
	uint64_t memory_cgroup_bytes;
	uint64_t tcp_cgroup_bytes; /* of these, where they are not counted */
	uint64_t pids_cgroup;
	uint64_t cpu_cgroup_ms;
	uint64_t address_space_bytes;
	uint64_t cpu_rlimit_s;
	uint64_t cpu_clock_ms; /* of each cell of a session */
	uint64_t nproc;
	uint64_t open_files;
	uint64_t file_bytes;
	uint64_t tmpfs_bytes;
	uint64_t tmpfs_inodes;
	uint64_t cpus;
	bool keeps_init;     /* no memory: the code dies, and pid 1 does not */
	bool many_processes; /* a group is needed to kill them all at once */
};

/* What the field branches can be at most. */
#define PLAN_BRANCHES_MAX 64

struct plan {
	enum tier tier;
	const struct policy *policy; /* must outlive the plan */
	const struct interpreter *interpreter;
	bool by_root;
	int landlock_abi;
	struct plan_row rows[FIELD_TOTAL];
	struct plan_mount *mounts;
	size_t mount_count;
	struct plan_limits limits;
	unsigned filter; /* FILTER_ bits of jail/seccomp/filter.h */
	bool own_network;
	bool ends_tls;	/* the proxy has certificates of its own for code */
	bool has_given; /* credentials that only one session's client knows */
	bool proxied;	/* sockets inside lead to a proxy, or nowhere */
	uint64_t disk_share_bytes; /* of the memory, for files; 0: no bound */
	bool memfd_noexec;
	bool exports;	   /* the keeper needs a way into the workspace */
	int write_roots;   /* directories of mode rw */
	bool has_direct;   /* some directory has no limits */
	bool session;	   /* more cells may follow */
	bool forkable;	   /* the session may have branches */
	uint64_t left_out; /* always 0 but in test builds */
};

/* The bits of plan.filter; jail/seccomp/filter.h checks that they agree. */
enum plan_filter {
	PLAN_FILTER_NETWORK = 1,
	PLAN_FILTER_SUBPROCESS = 2,
	PLAN_FILTER_FORKABLE = 4,
	PLAN_FILTER_STRICT_MEMORY = 8,
};

/* What a plan needs to know of a job: the sizes that fields bound, and whether
   it is one of many. */
struct plan_job {
	uint64_t code_bytes;
	uint64_t stdin_bytes;
	bool session;  /* more cells may follow */
	bool forkable; /* it may have branches */
};

/*
 * Decide everything, or refuse with REMIT_E_REFUSED (the host cannot keep a
 * field: field in err.where, err.remedy says what would help) or
 * REMIT_E_INPUT (the job does not fit the policy).
 */
int plan_build(struct plan *out, const struct policy *policy,
	       const struct plan_job *job, const struct host *host,
	       const struct interpreter *in,
	       struct remit_error *err) must_check;
void plan_free(struct plan *p);

/* Whether the plan's policy could name this package too, and does not yet: the
   tier shows packages to code, and one can be fetched and installed here. */
bool plan_accepts_package(const struct plan *p, const struct host *host,
			  const char *name);

static inline bool
plan_keeps(const struct plan *p, uint64_t mechanism)
{
	return !(p->left_out & mechanism);
}

/* A zygote's child can be the code of this plan. */
bool plan_can_be_warm(const struct plan *p);

/* [{field, value, mechanisms, strength, note?}] for results. */
json_t *plan_enforcement(const struct plan *p);
/* {tier, python, enforcement}; NULL: no memory. */
json_t *plan_to_json(const struct plan *p);

#endif
