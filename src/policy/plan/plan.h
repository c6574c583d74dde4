/*
 * plan: decides how a policy is enforced for a job on this host. This is the
 * only place with choices: everything below executes the plan or fails. It
 * makes no system calls.
 */
#ifndef REMIT_PLAN_H
#define REMIT_PLAN_H

#include "policy/fields/field.h"
#include "policy/host.h"
#include "policy/interpreter.h"

enum strength {
	STRENGTH_ENFORCED, /* enforced by the listed mechanisms */
	STRENGTH_FALLBACK, /* enforced in a weaker way that the policy accepts
			    */
	STRENGTH_GRANTED,  /* allowed by the policy: nothing to enforce */
	STRENGTH_NONE,	   /* not enforced: only in the tier unsafe */
};

extern const char *const strength_names[];

struct plan_row {
	bool present;
	uint64_t mechanisms;
	enum strength strength;
	char note[256]; /* an explanation, or "" */
};

/* The maximum number of directories of mode rw in a run. */
#define PLAN_WRITE_ROOTS_MAX 8

struct plan_mount {
	const char *host;
	const char *jail;
	bool runtime; /* part of the interpreter: may contain executables */
	enum field_id field;
	enum mount_mode mode;
	uint64_t max_bytes; /* size of its overlay; 0: it shares the workspace's
			       file system */
	int write_root; /* its index among the directories of mode rw, or -1 */
};

static inline bool
plan_mount_is_overlaid(const struct plan_mount *m)
{
	return m->mode == MOUNT_RW || m->mode == MOUNT_OVERLAY;
}

/* A value of 0 means that this mechanism does not set the limit. */
struct plan_limits {
	uint64_t memory_cgroup_bytes;
	uint64_t tcp_cgroup_bytes; /* the part for TCP buffers, if the memory
				      cgroup does not count them */
	uint64_t pids_cgroup;
	uint64_t cpu_cgroup_ms;
	uint64_t address_space_bytes;
	uint64_t linear_bytes; /* of the guest; only in the tier wasm */
	uint64_t cpu_rlimit_s;
	uint64_t cpu_clock_ms; /* of each cell of a session */
	uint64_t nproc;
	uint64_t open_files;
	uint64_t file_bytes;
	uint64_t tmpfs_bytes;
	uint64_t tmpfs_inodes;
	uint64_t cpus;
	bool keeps_init; /* out of memory, the kernel must kill the code and not
			    pid 1 */
	bool many_processes; /* a cgroup is needed to kill all of them at once
			      */
};

/* The aliases of a workspace; the file system of a jail's root is small. */
#define PLAN_ALIASES_MAX 16

/* The maximum of the field branches. */
#define PLAN_BRANCHES_MAX 64

/* With package_installation: the maximum number of package layers that are
   mounted in a jail while it runs, and of requests for them. */
#define PLAN_INSTALLS_MAX	  16
#define PLAN_INSTALL_REQUESTS_MAX 64

struct plan {
	enum tier tier;
	const struct policy *policy; /* must outlive the plan */
	const struct interpreter *interpreter;
	bool by_root;
	int landlock_abi;
	struct plan_row rows[FIELD_TOTAL];
	struct plan_mount *mounts;
	size_t mount_count;
	struct list places; /* paths in the jail that mounts refer to */
	struct plan_limits limits;
	unsigned filter; /* FILTER_ bits of jail/seccomp/filter.h */
	bool own_network;
	bool has_loopback;    /* the jail can reach itself over IP */
	bool private_network; /* other jails must not be in its network */
	bool has_ports; /* the code can listen, in a network without other jails
			 */
	bool ends_tls;	/* the proxy terminates TLS with its own certificates */
	bool has_given; /* some credentials are given by the client of the
			   session */
	bool proxied;	/* sockets in the jail reach only the proxy */
	uint64_t disk_share_bytes; /* share of memory_bytes for files; 0: no
				      limit */
	bool memfd_noexec;
	bool runs_workspace; /* files of the workspace and /tmp can be
				executed */
	bool exports;	     /* the keeper must be able to read the workspace */
	bool watched;	     /* a client may watch directories of it */
	int write_roots;     /* directories of mode rw */
	bool has_direct;     /* some directory has no limits */
	bool shares_paths; /* it has directories of the host without an overlay,
			      and so sockets that are files there */
	bool session;	   /* more cells may follow */
	bool forkable;	   /* the session may have branches */
	bool installs;	   /* the code may have packages installed */
	uint64_t left_out; /* always 0 except in test builds */
};

/* The bits of plan.filter; jail/seccomp/filter.h checks that they agree. */
enum plan_filter {
	PLAN_FILTER_NETWORK = 1,
	PLAN_FILTER_SUBPROCESS = 2,
	PLAN_FILTER_FORKABLE = 4,
	PLAN_FILTER_STRICT_MEMORY = 8,
	PLAN_FILTER_UNIX = 16,
	PLAN_FILTER_WASM = 32,
};

/* What a plan needs to know about a job: the sizes that fields limit, and
   whether it belongs to a session. */
struct plan_job {
	uint64_t code_bytes;
	uint64_t stdin_bytes;
	bool session;  /* more cells may follow */
	bool forkable; /* it may have branches */
};

/*
 * Makes a plan. Fails with REMIT_E_REFUSED if the host cannot enforce a field
 * (err.where is the field and err.remedy what would help), or with
 * REMIT_E_INPUT if the job exceeds the policy.
 */
int plan_build(struct plan *out, const struct policy *policy,
	       const struct plan_job *job, const struct host *host,
	       const struct interpreter *in,
	       struct remit_error *err) must_check;
void plan_free(struct plan *p);

/* Whether this package could be added to the plan's policy: the policy does not
   list it yet, the tier supports packages, and packages can be installed
   here. */
bool plan_accepts_package(const struct plan *p, const struct host *host,
			  const char *name);

static inline bool
plan_keeps(const struct plan *p, uint64_t mechanism)
{
	return !(p->left_out & mechanism);
}

/* Whether a child of a zygote can run the code of this plan. */
bool plan_can_be_warm(const struct plan *p);

/*
 * Changes the network of a plan whose jail exists: the policy `now` differs
 * from the plan's only in network_access and network_allow. Afterwards the plan
 * refers to `now`, and its rows are those that the proxy enforces with the new
 * list. Fails with REMIT_E_REFUSED, and leaves the plan unchanged, if the jail
 * was not built for that. Whether it has the listeners for the new hosts is
 * known to listeners_cover().
 */
int plan_change_network(struct plan *p, const struct policy *now,
			struct remit_error *err) must_check;

/* Returns [{field, value, mechanisms, strength, note?}] for results. */
json_t *plan_enforcement(const struct plan *p);
/* Returns {tier, python, enforcement}; NULL if out of memory. */
json_t *plan_to_json(const struct plan *p);

#endif
