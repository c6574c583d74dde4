/*
 * bench_directory: a directory for everything that the bench and its peers
 * write, and that nothing of is left.
 */
#ifndef REMIT_BENCH_DIRECTORY_H
#define REMIT_BENCH_DIRECTORY_H

#include "base/error.h"

#define BENCH_DIRECTORY_SIZE 64

int bench_directory_make(char out[BENCH_DIRECTORY_SIZE],
			 struct remit_error *err) must_check;
/* With what peers have mounted inside. */
void bench_directory_remove(const char *directory);

#endif
