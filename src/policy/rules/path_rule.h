/*
 * path_rule: checks the form of paths in a policy. Nothing here accesses the
 * file system, except that a relative path of a flag starts at the current
 * directory. Whether a path exists is checked later.
 *
 * `place` names the value in messages: "mounts[1].jail", "--read".
 */
#ifndef REMIT_PATH_RULE_H
#define REMIT_PATH_RULE_H

#include <stdbool.h>

#include "policy/policy.h"

/* The size of the longest path, with its NUL. */
#define PATH_RULE_SIZE 4096
/* The size of the longest path of a workspace, with its NUL. */
#define PATH_RULE_PLACE_SIZE 256
/* Where the workspace is by default. */
#define PATH_RULE_WORKSPACE "/workspace"

/* Checks an absolute path. Removes double slashes and ".", but not "..". */
int path_rule_host(const char *text, char out[PATH_RULE_SIZE],
		   const char *place, struct remit_error *err) must_check;

/*
 * Checks a path in the jail where something may be mounted: absolute, without
 * "..", not the root, not in a directory that the jail itself creates.
 */
int path_rule_jail(const char *text, char out[PATH_RULE_SIZE],
		   const char *place, struct remit_error *err) must_check;

/*
 * Checks where a workspace or one of its aliases is to appear in the jail: an
 * absolute path of plain names, short, and not in a directory that the jail or
 * the programs in it need. `out` has PATH_RULE_SIZE bytes. Whether it collides
 * with a mount is checked by the plan.
 */
int path_rule_place(const char *text, char *out, const char *place,
		    struct remit_error *err) must_check;

/* Whether this path in the jail is below a directory that code may write to. */
bool path_rule_is_below_writable(const struct policy *p, const char *jail);

/* Returns what follows the path of the workspace, or of one of its aliases, in
   this absolute path: "" or text that begins with a slash. Returns NULL if the
   path is not in the workspace. Compares only the texts. */
const char *path_rule_inside(const struct policy *p, const char *path);

/*
 * Checks a path in the jail's workspace: relative to it, or absolute and below
 * it or one of its aliases. *out is relative and without "..", and no name in
 * it is too long.
 */
int path_rule_workspace(const struct policy *p, const char *text,
			char out[PATH_RULE_SIZE], const char *place,
			struct remit_error *err) must_check;

/* Like path_rule_workspace(), for a path below some directory: it must be
   relative. */
int path_rule_below(const char *text, char out[PATH_RULE_SIZE],
		    const char *place, struct remit_error *err) must_check;

/* Writes an absolute path unchanged, and prefixes a relative one with the
   current directory. Leading "." and ".." are resolved, which is safe because
   getcwd(3) returns no symbolic links. */
int path_rule_from_here(const char *text, char out[PATH_RULE_SIZE],
			const char *place, struct remit_error *err) must_check;

#endif
