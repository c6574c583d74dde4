/*
 * keeper: the one trusted process. It takes doors, queues their sessions,
 * builds jails and supervises them, in one thread.
 */
#ifndef REMIT_KEEPER_H
#define REMIT_KEEPER_H

#include "jail.h"
#include "loop.h"

struct session;

/* More at once are made to wait; more waiting are turned away as busy. */
#define KEEPER_RUNNING_MAX 64
#define KEEPER_WAITING_MAX 4096

struct keeper {
	struct loop loop;
	struct source on_control, on_listen;
	int control; /* a private keeper's: doors come as descriptors */
	int listen;  /* a shared keeper's */
	struct session *sessions, *dead;
	struct session *queue[KEEPER_WAITING_MAX]; /* a ring */
	size_t queue_head, queue_count;
	size_t running;

	char *runtime_dir;
	bool has_host;
	struct host host;
	bool has_ground;
	struct cgroup_home cgroups;
	struct jail_site site;
};

struct keeper_options {
	int control_fd;		 /* -1: none */
	const char *listen_path; /* NULL: none */
};

/* Run until the control descriptor closes or SIGTERM comes. */
int keeper_main(const struct keeper_options *opt,
		struct remit_error *err) must_check;

/* For sessions. */
void keeper_enqueue(struct keeper *k, struct session *s);
void keeper_remove(struct keeper *k, struct session *s);
/* Its jail is gone: another may run, though the door has not read all. */
void keeper_ended(struct keeper *k, struct session *s);
/* What a plan needs: the host and the session's interpreter. */
int keeper_prepare(struct keeper *k, struct session *s,
		   struct remit_error *err) must_check;
/* What a jail needs: groups, and the keeper's own ground and filter. */
int keeper_stand(struct keeper *k, struct remit_error *err) must_check;

#endif
