/*
 * self_test: attempts from inside the jail that must fail, made after the
 * lock-down and before any foreign byte is read.
 */
#ifndef REMIT_SELF_TEST_H
#define REMIT_SELF_TEST_H

#include "jail/lock_params.h"

/* -1 with errno EACCES and in *which the number of the test that the jail did
   not stop (its row in self_test.c, from 1). */
int self_test(const struct lock_params *params, uint32_t *which);

#endif
