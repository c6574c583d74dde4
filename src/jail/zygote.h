/*
 * zygote: a warm CPython that forks into jails. It stands in a root of its own
 * (the runtime, read-only) with an empty network, has no rights, and takes
 * fixed-size commands from the keeper only.
 */
#ifndef REMIT_ZYGOTE_H
#define REMIT_ZYGOTE_H

#include "jail/jail.h"

struct zygote {
	pid_t pid; /* 0 once it is reaped */
	int control;
	struct uid_lease lease;
	uint32_t host_uid;
};

#define ZYGOTE_INIT { .control = -1, .lease = UID_LEASE_INIT }

/* Start it; it answers JOIN_READY or JOIN_UNFIT when it has preloaded. `plan`
   is any plan with its interpreter: of its mounts only the interpreter's are
   taken, and of its path nothing of its packages.
   `env` is what its children find unless they are told otherwise. */
int zygote_open(struct zygote *z, const struct plan *plan,
		const struct jail_site *site, const struct list *env,
		const struct list *preload, struct remit_error *err) must_check;
int zygote_send(struct zygote *z, const struct join_command *cmd,
		const int fds[JOIN_FDS], struct remit_error *err) must_check;
/* 1 with the next answer, 0 if there is none yet, -1 if it is gone. */
int zygote_recv(struct zygote *z, struct join_answer *out,
		struct remit_error *err) must_check;
/* Kills it and waits for it, if it was not reaped before. */
void zygote_free(struct zygote *z);

#endif
