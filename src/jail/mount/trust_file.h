/*
 * trust_file: the certificate authorities that code in one jail trusts, from
 * its proxy to pid 1, which gives them a place inside.
 */
#ifndef REMIT_TRUST_FILE_H
#define REMIT_TRUST_FILE_H

#include "base/own.h"

/* In the proxy: a file in memory, from its beginning. */
int trust_file_send(int to, int file) must_check;
/* In pid 1: a directory with a copy of it that nobody can change, not yet
   mounted anywhere. */
int trust_file_take(int from) must_check;

#endif
