/*
 * ground: where the keeper stands. Started by an ordinary user it moves into
 * a user namespace with a mount namespace of its own, in which it may clone
 * mounts and map ids; started by root it has these rights already.
 */
#ifndef REMIT_GROUND_H
#define REMIT_GROUND_H

#include <stdbool.h>

#include "base/error.h"

/* Once per process, before the first jail; single-threaded. `own_network`: in a
   network without any device, too. */
int ground_enter(bool own_network, struct remit_error *err) must_check;

#endif
