/*
 * interpreter: a CPython, and the paths of the host that it needs to run. The
 * interpreter itself reports them (jail/probe/discover.h); a cache keeps them.
 */
#ifndef REMIT_INTERPRETER_H
#define REMIT_INTERPRETER_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/list.h"

struct interpreter {
	char *executable; /* sys.executable, outside and inside of the jail */
	char *real;	  /* the file that is executed */
	char *prefix;
	char *exec_prefix;
	int major, minor, micro;
	struct list sys_path;
	struct list mounts; /* host paths that are mounted at the same path
			       inside */
	struct list program_mounts; /* the same, for subprocesses */
	char *program_path;	    /* PATH of subprocesses */
	struct list network_mounts; /* the same, for the network */
	struct list import_lines;   /* of .pth files, for editable installs */
	struct list links; /* "path\ttarget": symbolic links to create */
	char *pip; /* what to add to sys.path for pip ("": nothing), or NULL */
	char *package_index; /* the default index of pip, or NULL */
	/* The directory of the policy's packages on the host and in the jail,
	   or NULL. Not reported by the interpreter: see package_layer.h. */
	char *package_layer, *package_layer_inside;
	/* "path\tmtime in ns" (0: missing) of everything that this depends
	   on */
	struct list seen;
	char *font_cache; /* host directory with a font list, or NULL */
	char *compiled;	  /* host directory with the compiled runner */
};

void interpreter_free(struct interpreter *in);
/* Whether this entry of sys_path is the directory of the policy's packages. */
bool interpreter_is_packages(const struct interpreter *in, const char *entry);
/* Reads the output of runtime/discover.py. Refuses unsupported interpreters. */
int interpreter_from_json(struct interpreter *in, const json_t *doc,
			  struct remit_error *err) must_check;

#endif
