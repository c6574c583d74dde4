/*
 * zygote: a warm CPython that forks into jails. It has its own root (the
 * runtime, read-only), an empty network and no capabilities, and accepts only
 * fixed-size commands from the keeper.
 */
#ifndef REMIT_ZYGOTE_H
#define REMIT_ZYGOTE_H

#include "jail/jail.h"

struct zygote {
	pid_t pid; /* 0 once it has been reaped */
	int control;
	struct uid_lease lease;
	uint32_t host_uid;
};

#define ZYGOTE_INIT { .control = -1, .lease = UID_LEASE_INIT }

/* Start a zygote. It reports JOIN_READY or JOIN_UNFIT when it has preloaded its
   modules. `plan` is any plan with its interpreter: only the interpreter's
   mounts and the module paths outside of packages are used. `env` is the
   environment of its children unless they get another one. */
int zygote_open(struct zygote *z, const struct plan *plan,
		const struct jail_site *site, const struct list *env,
		const struct list *preload, struct remit_error *err) must_check;
int zygote_send(struct zygote *z, const struct join_command *cmd,
		const int fds[JOIN_FDS], struct remit_error *err) must_check;
/* Returns 1 with the next answer, 0 if none has arrived yet, -1 if the zygote
   is gone. */
int zygote_recv(struct zygote *z, struct join_answer *out,
		struct remit_error *err) must_check;
/* Kill it and wait for it, unless it has been reaped. */
void zygote_free(struct zygote *z);

#endif
