/*
 * rights: give up every capability, for good.
 */
#ifndef REMIT_RIGHTS_H
#define REMIT_RIGHTS_H

/* Bounding and ambient sets, securebits, then the process's own. -1 with
   errno. Allocates nothing. */
int rights_drop(void);

#endif
