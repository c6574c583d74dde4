/*
 * rights: give up every capability, for good.
 */
#ifndef REMIT_RIGHTS_H
#define REMIT_RIGHTS_H

/* Bounding and ambient sets, securebits, then the process's own. -1 with
   errno. Allocates nothing. */
int rights_drop(void);

/* Only the process's own and the ambient set, which needs no right: without a
   namespace nobody but root may narrow the bounding set. No new privileges
   then makes that set worth nothing. */
int rights_drop_own(void);

#endif
