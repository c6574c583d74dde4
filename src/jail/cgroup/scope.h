/*
 * scope: a group of this process's own, asked of systemd: the user's, or for
 * root that of the machine.
 */
#ifndef REMIT_SCOPE_H
#define REMIT_SCOPE_H

/* Ask for a transient scope that is delegated to us (systemd.scope(5),
   "Delegate="), and wait until this process is in it. It ends with its last
   process. -1 if there is no systemd or it will not. */
int scope_enter(void);

#endif
