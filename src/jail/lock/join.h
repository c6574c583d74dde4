/*
 * join: how a zygote puts a copy of itself into a jail that was built for it.
 *
 * The zygote has no rights at all. It may join because it owns the jail's user
 * namespace (its user created it, user_namespaces(7)), and joining is for good,
 * so a helper does it that shares the zygote's memory and nothing else:
 *
 *	zygote ── vfork ──> helper ── setns × 5 or 6, fork ──> child, in the
 * jail │ waits for the helper ── exit                    lock-down, report
 *
 * The child becomes the keeper's own (a subreaper's), which reads its end from
 * the kernel. Fixed sizes, no pointers, nothing to parse.
 */
#ifndef REMIT_JOIN_H
#define REMIT_JOIN_H

#include <sys/types.h>

#include "jail/cgroup/home.h"
#include "jail/lock/step.h"
#include "jail/lock_params.h"

/* The zygote's socket to the keeper (SOCK_SEQPACKET). */
#define JOIN_CONTROL_FD 3
/* Received descriptors lie above the numbers they get in the jail. */
#define JOIN_FIRST_FD 16

/* The descriptors of a command, in this order; `has` says which are there. */
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
	JOIN_NET_NS, /* of code that has sockets */
	JOIN_GROUP,  /* and the next ones: files to write "0" to */
	JOIN_FDS = JOIN_GROUP + CGROUP_CONTROLLERS,
};

/* The namespaces of a jail, in the order in which they are joined. */
#define JOIN_SPACES 6

struct join_space {
	enum join_fd fd;
	int type;
	const char *name; /* in /proc/PID/ns */
};

extern const struct join_space join_spaces[JOIN_SPACES];

struct join_command {
	uint32_t magic; /* LOCK_MAGIC */
	uint32_t has;	/* bits by enum join_fd */
	struct lock_params params;
};

enum join_answer_kind {
	JOIN_READY = 1, /* preloaded: commands may come; pid is LOCK_MAGIC */
	JOIN_UNFIT,	/* it cannot serve: `text` says why */
	JOIN_FORKED,	/* pid */
	JOIN_FAILED,	/* step and sys_errno */
};

struct join_answer {
	uint32_t kind;
	int32_t pid; /* as the keeper sees it */
	struct step_report report;
	char text[400];
};

/* One thread only, by the kernel's word. */
bool join_is_single_threaded(void);

/*
 * A branch of a session is put into its jail in the same way, by the session's
 * own code. That is locked already, so each step waits for the keeper's leave,
 * and the descriptors are put into the helper when it asks to join, with these
 * numbers.
 */
void join_injected(const struct join_command *cmd, int fds[JOIN_FDS]);

/*
 * Take a command and fork. In the child, locked down and reported to its
 * keeper, 0; in the zygote the child's pid, or -1 with *failed.
 */
pid_t join_fork(const struct join_command *cmd, const int fds[JOIN_FDS],
		struct step_report *failed);

#endif
