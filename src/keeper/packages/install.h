/*
 * install: sessions that wait for packages, and the installers that install
 * them, or check a large package layer that exists. There is one installer for
 * each request, however many sessions wait for it. Waiting sessions do not
 * count as running, so an installer's runs can always start.
 */
#ifndef REMIT_INSTALL_H
#define REMIT_INSTALL_H

#include "base/loop.h"
#include "keeper/packages/package_layer.h"

struct keeper;
struct session;

/* The maximum of installers at the same time, in total and per tenant. Other
   requests wait; next comes the oldest request of the tenant with the fewest
   installers. Checks have the same limits, but do not wait for installations,
   which may take minutes. */
#define INSTALL_MAX	   4
#define INSTALL_TENANT_MAX 2

struct install {
	struct install *next; /* in the keeper's list */
	struct keeper *keeper;
	char key[SHA256_TEXT];
	struct policy policy; /* of the first session */
	struct list have;     /* what its code has already: see installer.h */
	struct interpreter interpreter;
	char *tenant; /* of the first session, or NULL */
	bool by_code; /* the code of that session asked for the packages */
	bool only_checks;
	pid_t pid;  /* of the installer; 0: it waits for its turn */
	int handle; /* a pidfd of the installer */
	int line;   /* the socket to the installer */
	struct source on_line;
};

/* Returns true if the session must wait for its packages, and is enqueued again
   when they are installed; or if it has failed. */
bool install_before(struct session *s);
/* The same for packages that the code of a session asks for (s->packages),
   while it runs: sets *out to their layer, or s->packages.install. Then
   session_got_packages() is called. */
int install_request(struct session *s, struct package_layer *out,
		    struct remit_error *err) must_check;
/* Called when a session ends. An installer that no session waits for is
   killed. */
void install_leave(struct session *s);
void install_close(struct keeper *k);

#endif
