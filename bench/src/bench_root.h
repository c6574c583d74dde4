/*
 * bench_root: the parts of the host that the interpreter needs, for peers that
 * run it in a separate root.
 */
#ifndef REMIT_BENCH_ROOT_H
#define REMIT_BENCH_ROOT_H

#include "policy/interpreter.h"

struct bench_root {
	struct list binds; /* host paths, bound to the same paths */
	struct list links; /* symbolic links in the root: "/lib" ... */
	char path[128];	   /* a root that contains only the links */
	char empty_tar[128];
};

/* Create the root in an existing directory, which the caller removes. */
int bench_root_make(struct bench_root *r, const char *directory,
		    const struct interpreter *python,
		    struct remit_error *err) must_check;
void bench_root_free(struct bench_root *r);

/* Write config.json for runc and runsc into a new directory below `directory`.
 *out is its path. */
int bench_root_bundle(const struct bench_root *r, const char *directory,
		      const char *python, const char *code, char **out,
		      struct remit_error *err) must_check;

#endif
