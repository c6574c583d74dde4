/*
 * interpreter: a CPython and what it needs to see of the host to run. Found
 * by asking the interpreter itself (jail/probe/discover.h) and kept in a cache.
 */
#ifndef REMIT_INTERPRETER_H
#define REMIT_INTERPRETER_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/list.h"

struct interpreter {
	char *executable; /* sys.executable: what sys says inside too */
	char *real;	  /* the file that is executed */
	char *prefix;
	char *exec_prefix;
	int major, minor, micro;
	struct list sys_path;
	struct list mounts; /* host paths seen inside under the same name */
	struct list program_mounts; /* the same, for subprocesses */
	struct list network_mounts; /* the same, for the network */
	struct list import_lines;   /* of .pth files, for editable installs */
	struct list links; /* "path\ttarget": symbolic links on the way */
	char *pip; /* what to put on the path for it ("": nothing), or NULL */
	char *package_index; /* that pip asks by itself, or NULL */
	/* Of the policy's packages, or NULL: the directory on the host, and
	   where it is in the jail. Not said by the interpreter: see
	   package_layer.h.
	 */
	char *package_layer, *package_layer_inside;
	/* "path\tmtime in ns" (0: nothing is there) of all that this depends on
	 */
	struct list seen;
	char *font_cache; /* host directory with a font list, or NULL */
	char *compiled;	  /* host directory with the compiled runner */
};

void interpreter_free(struct interpreter *in);
/* Whether this entry of sys_path is where the policy's packages are. */
bool interpreter_is_packages(const struct interpreter *in, const char *entry);
/* Reads what runtime/discover.py printed; refuses what cannot be used. */
int interpreter_from_json(struct interpreter *in, const json_t *doc,
			  struct remit_error *err) must_check;

#endif
