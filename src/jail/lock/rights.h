/*
 * rights: give up every capability, for good.
 */
#ifndef REMIT_RIGHTS_H
#define REMIT_RIGHTS_H

#include <linux/securebits.h>
#include <stdbool.h>

/* No program and no change of user gives any back. */
#define RIGHTS_SECUREBITS                                                \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |       \
	 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

/*
 * Ambient set, securebits, then the process's own; -1 with errno. Allocates
 * nothing. The bounding set says what a program that is started may get: to
 * empty it takes a call for each of 41 rights, so that is for those who could
 * start one.
 */
int rights_drop(bool bounding);

/* Only the process's own and the ambient set, which needs no right: without a
   namespace nobody but root may narrow the bounding set. No new privileges
   then makes that set worth nothing. */
int rights_drop_own(void);

#endif
