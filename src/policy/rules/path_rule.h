/*
 * path_rule: what a path in a policy must look like. Nothing here touches
 * the file system, except that a flag's relative path starts at the current
 * directory. Whether a path exists is a question of the plan.
 *
 * `place` names the value in messages: "mounts[1].jail", "--read".
 */
#ifndef REMIT_PATH_RULE_H
#define REMIT_PATH_RULE_H

#include <stdbool.h>

#include "base/error.h"

/* The longest path with its NUL. */
#define PATH_RULE_SIZE 4096

/* An absolute path; doubled slashes and "." are taken out, ".." stays. */
int path_rule_host(const char *text, char out[PATH_RULE_SIZE],
		   const char *place, struct remit_error *err) must_check;

/*
 * A path where something may appear in the jail: absolute, without "..",
 * not the root, not in a directory that the jail itself makes.
 */
int path_rule_jail(const char *text, char out[PATH_RULE_SIZE],
		   const char *place, struct remit_error *err) must_check;

/* Whether code may write to a directory above this path in the jail. */
bool path_rule_is_below_writable(const char *jail);

/*
 * Something in the jail's workspace: relative to it, or absolute and below it.
 * What comes out is relative, without "..", and no name is too long.
 */
int path_rule_workspace(const char *text, char out[PATH_RULE_SIZE],
			const char *place, struct remit_error *err) must_check;

/* The same for any directory, so never absolute. */
int path_rule_below(const char *text, char out[PATH_RULE_SIZE],
		    const char *place, struct remit_error *err) must_check;

/* The text itself if absolute, else behind the current directory. Leading
   "." and ".." are resolved, since the current directory has no links. */
int path_rule_from_here(const char *text, char out[PATH_RULE_SIZE],
			const char *place, struct remit_error *err) must_check;

#endif
