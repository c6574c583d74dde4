/*
 * join: how a zygote puts a copy of itself into a jail that was built for it.
 *
 * The zygote has no capabilities. It may join because it owns the jail's user
 * namespace (its user created it, user_namespaces(7)). Joining cannot be
 * undone, so a helper does it that shares the zygote's memory and nothing else:
 *
 *	zygote ── vfork ──> helper ── setns × 5 or 6, fork ──> child
 *	waits for the helper          then exit                lock-down, report
 *
 * The child is adopted by the keeper (a subreaper), which learns from the
 * kernel how it ended. Messages have fixed sizes and no pointers, and nothing
 * is parsed.
 */
#ifndef REMIT_JOIN_H
#define REMIT_JOIN_H

#include <sys/types.h>

#include "jail/cgroup/home.h"
#include "jail/lock/step.h"
#include "jail/lock_params.h"

/* The zygote's socket to the keeper (SOCK_SEQPACKET). */
#define JOIN_CONTROL_FD 3
/* Received descriptors get numbers from here on, above those they will have in
   the jail. */
#define JOIN_FIRST_FD 16

/* The descriptors of a command, in this order; `has` says which are present. */
enum join_fd {
	JOIN_IN,
	JOIN_OUT,
	JOIN_ERR,
	JOIN_CHANNEL,
	JOIN_RULESET,
	JOIN_USER_NS,
	JOIN_MOUNT_NS,
	JOIN_IPC_NS,
	JOIN_UTS_NS,
	JOIN_PID_NS,
	JOIN_NET_NS, /* for code that has sockets */
	JOIN_GROUP, /* the first cgroup's file to write "0" to; others follow */
	JOIN_FDS = JOIN_GROUP + CGROUP_CONTROLLERS,
};

/* The namespaces of a jail, in the order of joining them. */
#define JOIN_SPACES 6

struct join_space {
	enum join_fd fd;
	int type;
	const char *name; /* name in /proc/PID/ns */
};

extern const struct join_space join_spaces[JOIN_SPACES];

struct join_command {
	uint32_t magic; /* LOCK_MAGIC */
	uint32_t has;	/* bits by enum join_fd */
	struct lock_params params;
};

enum join_answer_kind {
	JOIN_READY = 1, /* preloaded, accepts commands; pid is LOCK_MAGIC */
	JOIN_UNFIT,	/* cannot serve: `text` has the reason */
	JOIN_FORKED,	/* pid is the child's */
	JOIN_FAILED,	/* report has step and sys_errno */
};

struct join_answer {
	uint32_t kind;
	int32_t pid; /* in the keeper's pid namespace */
	struct step_report report;
	char text[400];
};

/* Whether the kernel counts only one thread in this process. */
bool join_is_single_threaded(void);

/*
 * A branch of a session is put into its jail in the same way, by the session's
 * own code. That code is locked already, so each step waits until the keeper
 * allows it, and the keeper puts the descriptors into the helper, with these
 * numbers, when the helper tries to join.
 */
void join_injected(const struct join_command *cmd, int fds[JOIN_FDS]);

/*
 * Fork a child into the jail of this command. Returns 0 in the child, once it
 * is locked down and has reported to the keeper. Returns the child's pid in the
 * zygote, or -1 with *failed.
 */
pid_t join_fork(const struct join_command *cmd, const int fds[JOIN_FDS],
		struct step_report *failed);

#endif
