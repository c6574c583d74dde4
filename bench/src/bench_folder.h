/*
 * bench_folder: a folder for everything that the bench and its peers write,
 * and that nothing of is left.
 */
#ifndef REMIT_BENCH_FOLDER_H
#define REMIT_BENCH_FOLDER_H

#include "base/error.h"

#define BENCH_FOLDER_SIZE 64

int bench_folder_make(char out[BENCH_FOLDER_SIZE],
		      struct remit_error *err) must_check;
/* With what peers have mounted inside. */
void bench_folder_remove(const char *folder);

#endif
