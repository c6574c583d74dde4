/*
 * keeper: the one trusted process. It takes clients, queues their sessions,
 * builds jails and supervises them, in one thread.
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

/* More at once are made to wait; more waiting are turned away as busy. */
#define KEEPER_RUNNING_MAX 64
#define KEEPER_WAITING_MAX 4096
/* Sessions with many cells: their jails wait for the next one. */
#define KEEPER_SESSIONS_MAX 64
/* Jails at once, in use or ready or dying. */
#define KEEPER_WORKERS_MAX 192
/* The last so many runs make the latency that is shown. */
#define KEEPER_LATENCIES 1024

struct keeper {
	struct loop loop;
	struct source on_control, on_listen, on_child;
	int child;   /* a signalfd for SIGCHLD */
	int control; /* a private keeper's: clients come as descriptors */
	int listen;  /* a shared keeper's */
	struct session *sessions, *dead;
	struct worker *workers, *buried;
	size_t worker_count;
	struct install *installs;
	struct pool *pools;
	size_t pool_count;
	struct zygote_server *zygote_servers;
	struct timer refill, housekeeping;
	uint64_t refill_since_us; /* it is put off since then; 0: it is not */
	uint32_t latencies_us[KEEPER_LATENCIES];
	uint64_t latency_count;
	struct journal journal;
	struct audit_writer audit_writer;
	uint64_t began_us;
	struct session *queue[KEEPER_WAITING_MAX]; /* a ring */
	size_t queue_head, queue_count;
	struct deferred admit; /* the first of the queue, as far as there is
				  room */
	size_t running;
	size_t open_count; /* sessions with many cells */

	char *runtime_dir;
	bool has_host;
	struct host host;
	bool is_stopping; /* the next event is not dispatched any more */
	bool has_ground;
	bool is_alone;	/* it stands in a network without any device */
	bool is_locked; /* its lock-down is behind it, well or not */
	struct remit_error lock_error; /* why it is not; OK: it is */
	struct proxy_launcher
		proxy_launcher; /* a shared keeper's from the first jail on */
	struct cgroup_home cgroups;
	struct cgroup_stock spare_groups;
	struct cpu_shares cpu_shares;
	struct package_layer_trust package_layer_trust;
	struct jail_site site;
};

struct keeper_options {
	int control_fd;		 /* -1: none */
	const char *listen_path; /* NULL: none */
	int listen_fd;		 /* a socket that listens already, or -1 */
	/* Children for this policy wait from the beginning on; NULL: none. It
	   is taken over. */
	struct policy *policy;
	/* A line for each run is appended to this file; NULL: none is. */
	const char *audit_path;
};

/* Unlocked, with nothing that is dispatched yet; and the end of all. For
   keeper_main() and for tests. */
int keeper_open(struct keeper *k, const struct keeper_options *opt,
		struct remit_error *err) must_check;
void keeper_close(struct keeper *k);
/* Run until the control descriptor closes or SIGTERM comes. */
int keeper_main(const struct keeper_options *opt,
		struct remit_error *err) must_check;

/* For sessions. */

/* One comes by this descriptor, which is taken; NULL without memory. */
struct session *keeper_add_client(struct keeper *k, int fd);
void keeper_enqueue(struct keeper *k, struct session *s);
void keeper_remove(struct keeper *k, struct session *s);
/* There is room for one more with many cells; -1: there is not. */
int keeper_reserve_session(struct keeper *k) must_check;
/* Its jail is gone, or idle: another may run, though the client has not read
 * all.
 */
void keeper_session_ended(struct keeper *k, struct session *s);
/* Code has begun, and may be done soon. */
void keeper_stay_awake(struct keeper *k);
/* What a plan needs: the host, and the policy's interpreter. */
int keeper_prepare(struct keeper *k, const struct policy *p,
		   struct interpreter *out, struct remit_error *err) must_check;
/* A run was answered that was asked for then. */
void keeper_note_latency(struct keeper *k, uint64_t requested_us);

/* Its upkeep (keeper/upkeep.c). */

int upkeep_open(struct keeper *k, struct remit_error *err) must_check;
/* End all jails and zygotes, and wait for it. */
void upkeep_close(struct keeper *k);

/* For workers and pools. */
void keeper_add_worker(struct keeper *k, struct worker *i);
/* It is dead: free it when no handler works for it any more. */
void keeper_bury_worker(struct keeper *k, struct worker *i);
bool keeper_is_full(const struct keeper *k);
/* For somebody who waits at pool `p`: end one that waits where nobody came for
   longest. False if there is none. */
bool keeper_evict_worker(struct keeper *k, const struct pool *p);
void keeper_add_pool(struct keeper *k, struct pool *p);
/* Make pool `p` one of the POOL_MAX that may be warm, in place of another one
   that no session waits for. Returns false if sessions wait for all of them. */
bool keeper_keep_warm(struct keeper *k, const struct pool *p) must_check;
/* Pools lack something; it is seen to when no request is in progress, or at
   once where a session waits. */
void keeper_refill_soon(struct keeper *k);
/* What a jail needs: that the keeper is locked down. */
int keeper_check_lock(const struct keeper *k,
		      struct remit_error *err) must_check;
/* What a jail needs whose plan is proxied. */
int keeper_ensure_proxy_launcher(struct keeper *k,
				 struct remit_error *err) must_check;

#endif
