#include "base/file/fds.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int
by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void
fds_sort(int *fds, size_t count)
{
	qsort(fds, count, sizeof(*fds), by_number);
}

void
fds_close_others(const int *sorted, size_t count)
{
	unsigned from = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned kept = (unsigned)sorted[i];

		if (kept > from)
			syscall(SYS_close_range, from, kept - 1, 0);
		from = kept + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}
