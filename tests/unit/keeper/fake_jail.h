/*
 * fake_jail: jails and zygotes without processes, which replace those of
 * src/jail in tests of the keeper's sessions, workers and pools. The test sends
 * what a jail and its pid 1 would send. A jail that is killed waits until the
 * test reaps it.
 */
#ifndef REMIT_TEST_FAKE_JAIL_H
#define REMIT_TEST_FAKE_JAIL_H

#include "jail/jail.h"

#define FAKE_JAILS 64

struct fake_jail {
	struct jail *jail; /* NULL: it was freed */
	pid_t init, run;
	int channel, lifeline; /* the other ends */
	int out, err;
	uint64_t cpu_us; /* processor time that the code has used */
	bool killed;
	unsigned interrupts, stops, goes;
};

extern struct fake_jail fake_jails[FAKE_JAILS];
extern size_t fake_jail_count;

/* How the next calls end. */
extern struct fakes {
	bool open_fails;   /* jail_open() and jail_prepare() */
	bool meet_fails;   /* another process than the jail's code is at the
			      channel */
	bool zygote_fails; /* zygote_open() */
} fakes;

/* The other end of the last zygote's control socket; -1: there is none. */
extern int fake_zygote;

void fake_reset(void);
struct fake_jail *fake_of(const struct jail *j);
/* Sends a frame as the code, or as pid 1. */
void fake_send(int fd, unsigned type, const void *payload, size_t len);

/* This many allocations succeed, and the next one fails, once; -1: none fails.
   For a program linked with --wrap. */
extern long fake_memory_left;
extern bool fake_memory_failed;

#endif
