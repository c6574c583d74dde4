/*
 * path: directories that Remit keeps things in, files read whole, and paths
 * that may be made outside of a jail by a name from inside.
 */
#ifndef REMIT_PATH_H
#define REMIT_PATH_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/* The remedy when there is no cache. */
#define PATH_CACHE_REMEDY                                                   \
	"Set XDG_CACHE_HOME to an existing directory that belongs to you, " \
	"that only you can write, and that has space left."

/* $XDG_CACHE_HOME/remit or ~/.cache/remit, made if missing (mode 0700, owned
   by us). *out is a new string. Returns -1 if there is no such directory, or
   if another user could have written to it: callers go on without a cache. */
int path_cache_dir(char **out, struct remit_error *err) must_check;

/* Write a file to the cache and remove it again. Returns -1 if that fails. */
int path_cache_try(struct remit_error *err) must_check;

/* Where a shared keeper of this user listens unless it is told otherwise:
   $XDG_RUNTIME_DIR/remit/keeper.sock; for root without one /run/remit. */
int path_keeper_socket(char *out, size_t size) must_check;

/* The directory of the running program, a new string. */
int path_own_dir(char **out, struct remit_error *err) must_check;

/* The last name of a path, in it. */
const char *path_name(const char *path);
/* Whether a path is `directory` or lies in it, by their texts alone. */
bool path_lies_in(const char *path, const char *directory);

/* All of a regular file, up to b->cap. Errors have errno's text. */
int path_read_file(struct buf *b, const char *path,
		   struct remit_error *err) must_check;

/* Write a file whole: a new one beside it, then renamed over it. */
int path_write_file(const char *path, const char *text, size_t len,
		    struct remit_error *err) must_check;

/*
 * Paths that may be made outside of a jail by a name from inside.
 *
 * A plain path is relative, and each of its names is UTF-8 without control
 * characters, is not "." or "..", does not begin with a dash (a command would
 * take it for an option) and is at most 255 bytes long.
 */

/* With its NUL. */
#define PLAIN_PATH_SIZE 4096

bool plain_name(const char *name);
bool plain_path(const char *path);

#endif
