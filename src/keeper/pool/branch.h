/*
 * branch: how a session's code is copied into a jail of its own.
 *
 * The code is locked, so it can do nothing of this by itself: its fork and its
 * helper's way into the branch's jail are calls that its filter refuses, and
 * that the keeper lets pass (notice.h) one by one, in this order, once for each
 * fork it has asked for:
 *
 *	keeper: fork!  code ── vfork ──> helper ── setns × 5, fork ──> copy
 *	                |  waits for the helper ── exit          drops rights,
 *	                '── "forked"                             closes, reports
 *
 * The helper and the copy gain rights by joining, in the branch's own user
 * namespace. The helper must be dead and the copy without any before it gets a
 * cell; all else that the code tries meanwhile is refused as ever.
 */
#ifndef REMIT_BRANCH_H
#define REMIT_BRANCH_H

#include "jail/seccomp/notice.h"
#include "keeper/pool/worker.h"

/* The jail of branch `i` is built: have its parent's code fork. */
int branch_begin(struct worker *i, struct remit_error *err) must_check;
/* A call waits that somebody of this family made. True if it was one of a fork
   that is asked for: then it is answered. */
bool branch_notice(struct worker *root, const struct notice *n);
/* What the parent's code says of the fork. */
void branch_forked(struct worker *parent, const struct step_report *r);
/* The copy says that it is locked: look at both. */
int branch_verify(struct worker *i, struct remit_error *err) must_check;
/* Neither the code nor its copy runs; *switches is as in proc_sleeps(). What is
   looked at while they run can be moved out of sight. */
bool branch_is_asleep(const struct worker *i, uint64_t *switches);
/* It comes to nothing: nobody of the fork may stay behind, least of all one who
   speaks in the code's stead. */
void branch_end_helper(struct worker *i);
/* A fork is on its way: its calls shall not wait. */
bool branch_fork_is_pending(const struct worker *root);
/* Whose code this thread is; NULL: nobody's yet. */
struct worker *branch_of_thread(struct worker *root, pid_t thread);
/* A child of a jail's pid 1 is dead: which branch it was, or NULL. */
struct worker *branch_of_child(struct worker *parent, pid_t pid);

#endif
