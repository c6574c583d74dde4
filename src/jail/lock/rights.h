/*
 * rights: give up every capability for good.
 */
#ifndef REMIT_RIGHTS_H
#define REMIT_RIGHTS_H

#include <linux/securebits.h>
#include <stdbool.h>

/* With these bits, neither executing a program nor changing the user gives any
   capability back. */
#define RIGHTS_SECUREBITS                                                \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |       \
	 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

/*
 * Clear the ambient set, set the securebits, and clear the capabilities of the
 * process. Returns -1 with errno. Allocates nothing. `bounding` also empties
 * the bounding set, which limits what an executed program can gain. That takes
 * one call for each of 41 capabilities, so request it only for processes that
 * can execute programs.
 */
int rights_drop(bool bounding);

/* Clear only the ambient set and the capabilities of the process, which needs
   no privilege: outside of a user namespace only root may reduce the bounding
   set. no_new_privs then makes that set useless. */
int rights_drop_own(void);

#endif
