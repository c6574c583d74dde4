/*
 * fds: which descriptors a process goes on with.
 */
#ifndef REMIT_FDS_H
#define REMIT_FDS_H

#include <stddef.h>

/* Ascending, as fds_close_others() wants them. */
void fds_sort(int *fds, size_t count);
/* Close all but these. Allocates nothing. */
void fds_close_others(const int *sorted, size_t count);

#endif
