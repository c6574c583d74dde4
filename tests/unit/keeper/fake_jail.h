/*
 * fake_jail: jails and zygotes of no process, in place of those of src/jail,
 * for tests that drive the keeper's sessions, workers and pools. What a jail
 * and its pid 1 would send, the test sends; when one is killed it waits until
 * the test has it reaped.
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
	uint64_t cpu_us; /* that the code has used */
	bool killed;
	unsigned interrupts, stops, goes;
};

extern struct fake_jail fake_jails[FAKE_JAILS];
extern size_t fake_jail_count;

/* What is answered to the next who asks. */
extern struct fakes {
	bool open_fails;   /* jail_open() and jail_prepare() */
	bool meet_fails;   /* whoever speaks is not the jail's code */
	bool zygote_fails; /* zygote_open() */
} fakes;

/* The other end of the last zygote's control socket; -1: there was none. */
extern int fake_zygote;

void fake_reset(void);
struct fake_jail *fake_of(const struct jail *j);
/* A frame of the code, or of pid 1. */
void fake_send(int fd, unsigned type, const void *payload, size_t len);

/* The next allocations succeed, and the one after them fails; once. -1: none
   fails. For a program that is linked with --wrap. */
extern long fake_memory_left;
extern bool fake_memory_failed;

#endif
