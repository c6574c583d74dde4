/*
 * package_layer_seal: how a directory is, as one number: each name in it with
 * its mode, size and times. Whoever writes to a file, adds one or removes one
 * changes its time of change or its directory's, which the kernel sets and no
 * program can choose. So to compare costs a look at each name, not at each
 * byte.
 */
#ifndef REMIT_PACKAGE_LAYER_SEAL_H
#define REMIT_PACKAGE_LAYER_SEAL_H

#include "base/own.h"
#include "base/sha256.h"

/* Of the directory itself and all below it. -1 with errno: it cannot be read,
   or there is more in it than a package layer can have. */
int package_layer_seal(int directory, char out[SHA256_TEXT]) must_check;

/* Take the right to write from it and all directories below. -1 with errno. */
int package_layer_seal_directories(int directory) must_check;

#endif
