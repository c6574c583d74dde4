/*
 * discover: ask an interpreter what it needs, once, and remember the answer.
 */
#ifndef REMIT_DISCOVER_H
#define REMIT_DISCOVER_H

#include <stdint.h>

#include "policy/host.h"
#include "policy/interpreter.h"

/*
 * `python` is a path or a name on PATH. The answer is kept in the cache
 * directory, by the file's identity; for a script such as a pyenv shim also by
 * what the script would look at. It holds until a directory of sys.path, or
 * another path that it depends on, changes. Without a cache the interpreter is
 * asked each time.
 */
int discover_interpreter(struct interpreter *out, const char *python,
			 const char *runtime_dir,
			 struct remit_error *err) must_check;

/* Of the interpreter's file as it is now: another number, another Python. */
uint64_t discover_identity(const struct interpreter *in);

/* The directory with the module and the runner: beside the program in a build
   tree, else below the prefix it is installed in. A new string. */
int discover_runtime_dir(char **out, struct remit_error *err) must_check;

/* What those who only look (explain, matrix, doctor) know of this machine and
   the policy's interpreter. */
struct site {
	char *runtime_dir;
	struct host host;
	struct interpreter interpreter;
};

/* The host from the cache, or found out now. */
int site_find_host(struct site *s, struct remit_error *err) must_check;
int site_find_interpreter(struct site *s, const char *python,
			  struct remit_error *err) must_check;
void site_free(struct site *s);

#endif
