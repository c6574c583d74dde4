/*
 * bench_root: the part of the host that the interpreter needs, for peers that
 * run it in a root of their own.
 */
#ifndef REMIT_BENCH_ROOT_H
#define REMIT_BENCH_ROOT_H

#include "policy/interpreter.h"

struct bench_root {
	struct list binds; /* host paths, seen under the same name */
	struct list links; /* symbolic links in the root: "/lib" ... */
	char path[128];	   /* a root with the links and nothing else */
	char empty_tar[128];
};

/* In an existing directory, which the caller removes. */
int bench_root_make(struct bench_root *r, const char *directory,
		    const struct interpreter *python,
		    struct remit_error *err) must_check;
void bench_root_free(struct bench_root *r);

/* Write config.json for this program, as runc and runsc take it, into a new
   directory inside; *out is its path. */
int bench_root_bundle(const struct bench_root *r, const char *directory,
		      const char *python, const char *code, char **out,
		      struct remit_error *err) must_check;

#endif
