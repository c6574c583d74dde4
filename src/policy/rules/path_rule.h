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

#include "base/error.h"

/* The size of the longest path, with its NUL. */
#define PATH_RULE_SIZE 4096

/* Checks an absolute path. Removes double slashes and ".", but not "..". */
int path_rule_host(const char *text, char out[PATH_RULE_SIZE],
		   const char *place, struct remit_error *err) must_check;

/*
 * Checks a path in the jail where something may be mounted: absolute, without
 * "..", not the root, not in a directory that the jail itself creates.
 */
int path_rule_jail(const char *text, char out[PATH_RULE_SIZE],
		   const char *place, struct remit_error *err) must_check;

/* Whether this path in the jail is below a directory that code may write to. */
bool path_rule_is_below_writable(const char *jail);

/*
 * Checks a path in the jail's workspace: relative to it, or absolute and below
 * it. *out is relative and without "..", and no name in it is too long.
 */
int path_rule_workspace(const char *text, char out[PATH_RULE_SIZE],
			const char *place, struct remit_error *err) must_check;

/* The same for a path below any directory, so it must be relative. */
int path_rule_below(const char *text, char out[PATH_RULE_SIZE],
		    const char *place, struct remit_error *err) must_check;

/* Writes an absolute path unchanged, and prefixes a relative one with the
   current directory. Leading "." and ".." are resolved, which is safe because
   getcwd(3) returns no symbolic links. */
int path_rule_from_here(const char *text, char out[PATH_RULE_SIZE],
			const char *place, struct remit_error *err) must_check;

#endif
