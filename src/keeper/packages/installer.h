/*
 * installer: makes a package layer, in a separate process that the keeper
 * forks.
 *
 * The installer is a client like any other. It sends the keeper a program
 * (install.py of the runtime) and a policy that allows the package index and
 * nothing else, and gets back the artifacts of a dead jail. So the code of
 * packages has no more rights during the installation than any other code, and
 * only this process writes to the store.
 *
 * It first checks whether a package layer exists that was not changed. A large
 * one takes so long that the keeper also forks a process for this check alone.
 */
#ifndef REMIT_INSTALLER_H
#define REMIT_INSTALLER_H

#include "base/digest.h"
#include "policy/interpreter.h"
#include "policy/policy.h"

/* The runs of one installation: one queries the index, one installs. */
#define INSTALLER_CLIENTS 2

struct installer_params {
	/* of the session that needs the packages */
	const struct policy *policy;
	const struct interpreter *interpreter;
	const char *runtime_dir;
	const char *key; /* of the request */
	/* What the code that asks has already, as NAME==VERSION: it is not
	   installed again. */
	const struct list *have;
	const char *tenant; /* of the first session, or NULL */
	bool by_code;	    /* failures are neither remembered nor known */
	bool only_checks;   /* installs nothing */
	int clients[INSTALLER_CLIENTS]; /* connections to the keeper, one for
					   each run; -1 if it only checks */
	int line;			/* the socket to the keeper */
};

enum installer_event {
	INSTALLER_PROGRESS, /* error.message is a line of progress */
	INSTALLER_DONE,	    /* `id` is the package layer, which is whole */
	INSTALLER_ABSENT,   /* only_checks: no package layer can be used */
	INSTALLER_FAILED,   /* `error` is the reason */
};

/* One message on the socket. Both ends run the same program, so it is a
   struct. */
struct installer_message {
	enum installer_event event;
	char id[SHA256_TEXT];
	struct remit_error error;
};

/* Runs in the forked process and never returns. */
void installer_main(const struct installer_params *o, pid_t keeper)
	__attribute__((noreturn));

#endif
