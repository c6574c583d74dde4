/*
 * installer: makes a package layer, in a process of its own that the keeper
 * forks.
 *
 * It is a client like any other: it gives the keeper a program (the runtime's
 * install.py) and a policy that allows the package index and nothing else, and
 * what it is given back are artifacts of a dead jail. So what is installed has
 * no more rights than any code, and only this process writes to the store.
 */
#ifndef REMIT_INSTALLER_H
#define REMIT_INSTALLER_H

#include "base/digest.h"
#include "policy/interpreter.h"
#include "policy/policy.h"

/* Runs of one installation: to ask the index, and to install. */
#define INSTALLER_CLIENTS 2

struct installer_params {
	const struct policy *policy; /* of who wants the packages */
	const struct interpreter *interpreter;
	const char *runtime_dir;
	const char *key;		/* of the request */
	int clients[INSTALLER_CLIENTS]; /* each good for one run */
	int line;			/* to the keeper */
};

enum installer_event {
	INSTALLER_PROGRESS, /* error.message is a line for people */
	INSTALLER_DONE,	    /* the package layer is there */
	INSTALLER_FAILED,   /* error says why not */
};

/* One message on the line; between two copies of one program. */
struct installer_message {
	enum installer_event event;
	struct remit_error error;
};

/* In the forked process: does not come back. */
void installer_main(const struct installer_params *o, pid_t keeper)
	__attribute__((noreturn));

#endif
