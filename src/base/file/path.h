/*
 * path: Remit's directories, reading and writing whole files, and checks for
 * path names that come from inside a jail.
 */
#ifndef REMIT_PATH_H
#define REMIT_PATH_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/* The remedy if there is no usable cache. */
#define PATH_CACHE_REMEDY                                                   \
	"Set XDG_CACHE_HOME to an existing directory that belongs to you, " \
	"that only you can write, and that has space left."

/* Finds $XDG_CACHE_HOME/remit or ~/.cache/remit, and creates it if missing,
   with mode 0700. *out is a new string. Returns -1 if that fails, or if another
   user could have written to the directory: callers then work without a
   cache. */
int path_cache_dir(char **out, struct remit_error *err) must_check;

/* Writes a file to the cache and removes it again. Returns -1 if that fails. */
int path_cache_try(struct remit_error *err) must_check;

/* Writes the default socket path of this user's shared keeper:
   $XDG_RUNTIME_DIR/remit/keeper.sock; for root without that variable
   /run/remit/keeper.sock. Returns -1 with errno. */
int path_keeper_socket(char *out, size_t size) must_check;

/* Finds the directory of the running program. *out is a new string. */
int path_own_dir(char **out, struct remit_error *err) must_check;

/* Returns the last component of a path, a pointer into it. */
const char *path_name(const char *path);
/* Whether a path is `directory` or below it. Compares only the texts. */
bool path_lies_in(const char *path, const char *directory);

/* Reads all of a regular file, up to b->cap. Errors contain the text of
   errno. */
int path_read_file(struct buf *b, const char *path,
		   struct remit_error *err) must_check;

/* Writes a file atomically: to a temporary file in the same directory, which is
   then renamed. */
int path_write_file(const char *path, const char *text, size_t len,
		    struct remit_error *err) must_check;

/*
 * Names from inside a jail that may be used for files outside.
 *
 * A plain path is relative. Each component is UTF-8 without control characters,
 * is at most 255 bytes long, is not "." or "..", and does not begin with a
 * dash, which commands would parse as an option.
 */

/* The maximum length, including the NUL. */
#define PLAIN_PATH_SIZE 4096

bool plain_name(const char *name);
bool plain_path(const char *path);

#endif
