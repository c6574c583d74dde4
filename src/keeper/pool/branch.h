/*
 * branch: how a session's code is copied into a separate jail.
 *
 * The code is locked down, so it can do nothing of this alone. Its fork, and
 * the calls by which its helper enters the branch's jail, are refused by its
 * filter. The keeper lets them pass (notice.h) one by one, in this sequence,
 * once for each fork that it has requested:
 *
 *	keeper: fork!  code ── vfork ──> helper ── setns × 5, fork ──> copy
 *	                |  waits for the helper ── exit          drops rights,
 *	                '── "forked"                             closes, reports
 *
 * The helper and the copy gain rights by joining, but only in the branch's
 * user namespace. Before the copy gets a cell, the helper must be dead and the
 * copy without rights. Any other call that the code tries meanwhile is refused
 * as usual.
 */
#ifndef REMIT_BRANCH_H
#define REMIT_BRANCH_H

#include "jail/seccomp/notice.h"
#include "keeper/pool/worker.h"

/* The jail of branch `i` is built: requests a fork from its parent's code. */
int branch_begin(struct worker *i, struct remit_error *err) must_check;
/* Handles a system call that waits for the keeper, made by a process of this
   family. Returns true and answers it if it belongs to a requested fork. */
bool branch_notice(struct worker *root, const struct notice *n);
/* Handles the report of the parent's code about the fork. */
void branch_forked(struct worker *parent, const struct step_report *r);
/* Verifies the code and its copy, which has reported that it is locked. */
int branch_verify(struct worker *i, struct remit_error *err) must_check;
/* Returns true if neither the code nor its copy runs, and sets *switches as
   proc_sleeps() does. A running process could hide what is being checked. */
bool branch_is_asleep(const struct worker *i, uint64_t *switches);
/* Kills the helper of a fork that has failed. It must not survive, because it
   could send frames in the name of the code. */
void branch_end_helper(struct worker *i);
/* Returns true while a fork is in progress, whose calls must not be delayed. */
bool branch_fork_is_pending(const struct worker *root);
/* Returns the worker whose code this thread belongs to, or NULL if it belongs
   to none yet. */
struct worker *branch_of_thread(struct worker *root, pid_t thread);
/* Returns which branch the dead child of a jail's pid 1 was, or NULL. */
struct worker *branch_of_child(struct worker *parent, pid_t pid);

#endif
