/*
 * install: sessions whose packages are not there yet, and the installer that
 * makes them. One for each request, however many sessions want it; they do
 * not count as running while they wait, so an installer's own runs always
 * find room.
 */
#ifndef REMIT_INSTALL_H
#define REMIT_INSTALL_H

#include "base/loop.h"
#include "keeper/packages/package_layer.h"

struct keeper;
struct session;

/* Installers at once, and of one tenant; other requests wait. The next is the
   oldest of the tenant that has the fewest. */
#define INSTALL_MAX	   4
#define INSTALL_TENANT_MAX 2

struct install {
	struct install *next; /* of the keeper's list */
	struct keeper *keeper;
	char key[SHA256_TEXT];
	struct policy policy; /* of who came first */
	struct interpreter interpreter;
	char *tenant; /* of who came first, or NULL */
	pid_t pid;    /* of the installer; 0: it waits for its turn */
	int handle;   /* a pidfd of it */
	int line;     /* to it */
	struct source on_line;
};

/* True: the session's packages are being installed, and it is enqueued again
   when they are there; or it was given up. */
bool install_before(struct session *s);
/* The session is gone. An installer that nobody waits for is, too. */
void install_leave(struct session *s);
void install_close(struct keeper *k);

#endif
