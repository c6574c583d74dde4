/*
 * keeper: the one trusted process. In one thread it accepts clients, queues
 * their sessions, builds jails and supervises them.
 */
#ifndef REMIT_KEEPER_H
#define REMIT_KEEPER_H

#include "base/loop.h"
#include "jail/jail.h"
#include "keeper/audit.h"
#include "keeper/overview.h"
#include "keeper/packages/package_layer.h"
#include "keeper/pool/cpu_share.h"
#include "proxy/proxy_launcher.h"

struct worker;
struct install;
struct zygote_server;
struct pool;
struct session;

/* Limits of the runs in progress and of the queue. A run that does not fit into
   the queue is refused as busy. */
#define KEEPER_RUNNING_MAX 64
#define KEEPER_WAITING_MAX 4096
/* Limit of open sessions. Their jails stay while they wait for the next
   cell. */
#define KEEPER_SESSIONS_MAX 64
/* Limit of all jails: in use, ready or dying. */
#define KEEPER_WORKERS_MAX 192
/* The latency percentiles are those of this many recent runs. */
#define KEEPER_LATENCIES 1024

struct keeper {
	struct loop loop;
	struct source on_control, on_listen, on_child;
	int child;   /* a signalfd for SIGCHLD */
	int control; /* of a private keeper: receives clients as descriptors */
	int listen;  /* of a shared keeper */
	struct session *sessions, *dead;
	struct worker *workers, *buried;
	size_t worker_count;
	struct install *installs;
	struct pool *pools;
	size_t pool_count;
	struct zygote_server *zygote_servers;
	struct timer refill, housekeeping;
	uint64_t refill_since_us; /* when the refill was first postponed; 0: it
				     was not */
	uint32_t latencies_us[KEEPER_LATENCIES];
	uint64_t latency_count;
	struct journal journal;
	struct audit_writer audit_writer;
	uint64_t began_us;
	struct session *queue[KEEPER_WAITING_MAX]; /* a ring buffer */
	size_t queue_head, queue_count;
	struct deferred admit; /* admits sessions from the head of the queue
				  while slots are free */
	size_t running;
	size_t open_count; /* number of sessions with many cells */

	char *runtime_dir;
	bool has_host;
	struct host host;
	bool is_stopping; /* no more events are dispatched */
	bool has_ground;
	bool is_alone; /* it has moved into a network namespace without any
			  device */
	/* the lock-down was attempted, with or without success */
	bool is_locked;
	/* why the lock-down failed; OK: it succeeded */
	struct remit_error lock_error;
	struct proxy_launcher proxy_launcher; /* runs in a shared keeper from
						 the first jail on */
	struct cgroup_home cgroups;
	struct cgroup_stock spare_groups;
	struct cpu_shares cpu_shares;
	struct package_layer_trust package_layer_trust;
	struct jail_site site;
};

struct keeper_options {
	int control_fd;		 /* -1: none */
	const char *listen_path; /* NULL: none */
	int listen_fd;		 /* a socket that is already listening, or -1 */
	/* The pool for this policy is filled from the start; NULL: none. The
	   keeper takes ownership. */
	struct policy *policy;
	/* One line for each run is appended to this file; NULL: no audit. */
	const char *audit_path;
};

/* Sets up a keeper that is not locked down yet and dispatches nothing; and
   releases everything. For keeper_main() and for tests. */
int keeper_open(struct keeper *k, const struct keeper_options *opt,
		struct remit_error *err) must_check;
void keeper_close(struct keeper *k);
/* Runs until the control descriptor is closed or SIGTERM arrives. */
int keeper_main(const struct keeper_options *opt,
		struct remit_error *err) must_check;

/* Called by sessions. */

/* Adds the client of this descriptor and takes ownership of it. Returns NULL if
   memory is short. */
struct session *keeper_add_client(struct keeper *k, int fd);
void keeper_enqueue(struct keeper *k, struct session *s);
void keeper_remove(struct keeper *k, struct session *s);
/* Counts one more session with many cells. Returns -1 if KEEPER_SESSIONS_MAX
   are open. */
int keeper_reserve_session(struct keeper *k) must_check;
/* Frees the run's slot: its jail is gone or idle. Its client may not have read
   the whole answer yet. */
void keeper_session_ended(struct keeper *k, struct session *s);
/* The run waits for another run of this keeper, and leaves its slot until
   then. */
void keeper_set_aside(struct keeper *k, struct session *s);
void keeper_take_back(struct keeper *k, struct session *s);
/* Code has started, and may end soon: poll for a moment instead of sleeping. */
void keeper_stay_awake(struct keeper *k);
/* Finds what a plan needs: the facts about the host, and the policy's
   interpreter. */
int keeper_prepare(struct keeper *k, const struct policy *p,
		   struct interpreter *out, struct remit_error *err) must_check;
/* Records the latency of a run that was requested at that time and is answered
   now. */
void keeper_note_latency(struct keeper *k, uint64_t requested_us);

/* The functions of keeper/upkeep.c. */

int upkeep_open(struct keeper *k, struct remit_error *err) must_check;
/* Ends all jails and zygotes, and waits until they are gone. */
void upkeep_close(struct keeper *k);

/* Called by workers and pools. */
void keeper_add_worker(struct keeper *k, struct worker *i);
/* Queues a dead worker to be freed once no handler uses it any more. */
void keeper_bury_worker(struct keeper *k, struct worker *i);
bool keeper_is_full(const struct keeper *k);
/* Ends one waiting worker of another pool, to free a slot for a session of `p`.
   Returns false if no pool can spare one. */
bool keeper_evict_worker(struct keeper *k, const struct pool *p);
void keeper_add_pool(struct keeper *k, struct pool *p);
/* Makes pool `p` one of the POOL_MAX that may be warm, in place of another pool
   that no session waits for. Returns false if sessions wait for all of them. */
bool keeper_keep_warm(struct keeper *k, const struct pool *p) must_check;
/* Ends zygotes while all together keep more than POOL_ZYGOTE_BYTES, but never
   that of the most recently used pool. */
void keeper_limit_zygotes(struct keeper *k);
/* Schedules a refill of the pools: at once if a session waits for a worker,
   otherwise when no request is in progress. */
void keeper_refill_soon(struct keeper *k);
/* Returns -1 unless the keeper is locked down. A jail may not be built
   before. */
int keeper_check_lock(const struct keeper *k,
		      struct remit_error *err) must_check;
/* Starts the proxy launcher if it is not running. A jail with network hosts
   needs it. */
int keeper_ensure_proxy_launcher(struct keeper *k,
				 struct remit_error *err) must_check;

#endif
