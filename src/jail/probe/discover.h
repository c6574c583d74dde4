/*
 * discover: run an interpreter once to learn what it needs, and cache its
 * answer.
 */
#ifndef REMIT_DISCOVER_H
#define REMIT_DISCOVER_H

#include <stdint.h>

#include "policy/host.h"
#include "policy/interpreter.h"

/*
 * `python` is a path or a name on PATH. The answer is cached under the identity
 * of the file, and, for a script such as a pyenv shim, under that of the files
 * the script reads. It is valid until a directory of sys.path or another path
 * that it depends on changes. Without a cache directory the interpreter is run
 * every time.
 */
int discover_interpreter(struct interpreter *out, const char *python,
			 const char *runtime_dir,
			 struct remit_error *err) must_check;

/* The interpreter of the tier wasm. Refuses the tier if it is not built. */
int discover_wasm(struct interpreter *out, struct remit_error *err) must_check;

/* Finds the interpreter that runs the code of a policy: remit-wasm in the tier
   wasm, else the one that the policy names. */
int discover_for(struct interpreter *out, const struct policy *p,
		 const char *runtime_dir, struct remit_error *err) must_check;

/* A number that identifies the interpreter's file: if it changes, it is another
   Python. */
uint64_t discover_identity(const struct interpreter *in);

/* The directory that contains the module and the runner: next to the program in
   a build tree, else below the prefix it is installed in. *out is a new
   string. */
int discover_runtime_dir(char **out, struct remit_error *err) must_check;

/* What the commands that only report (explain, matrix, doctor) need to know
   about this machine and the policy's interpreter. */
struct site {
	char *runtime_dir;
	struct host host;
	struct interpreter interpreter;
};

/* Take the host's properties from the cache, or probe them now. */
int site_find_host(struct site *s, struct remit_error *err) must_check;
int site_find_interpreter(struct site *s, const struct policy *p,
			  struct remit_error *err) must_check;
void site_free(struct site *s);

#endif
