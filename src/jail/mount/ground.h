/*
 * ground: the keeper's namespaces. A keeper started by an ordinary user moves
 * into a user namespace and a mount namespace in which it may clone mounts and
 * map ids. A keeper started by root may do that already.
 */
#ifndef REMIT_GROUND_H
#define REMIT_GROUND_H

#include <stdbool.h>

#include "base/error.h"

/* Call this once per process, before the first jail, while single-threaded.
   With `own_network` the process also moves to a network namespace without
   devices. */
int ground_enter(bool own_network, struct remit_error *err) must_check;

#endif
