#include "bench_stats.h"

#include <string.h>
#include <time.h>

double
bench_stats_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int
bench_stats_add(struct bench_stats *s, double us)
{
	if (s->count == s->capacity) {
		size_t capacity = s->capacity ? 2 * s->capacity : 64;
		double *more = realloc(s->us, capacity * sizeof(*more));

		if (!more)
			return -1;
		s->us = more;
		s->capacity = capacity;
	}
	s->us[s->count++] = us;
	return 0;
}

int
bench_stats_join(struct bench_stats *to, const struct bench_stats *from)
{
	for (size_t i = 0; i < from->count; i++)
		if (bench_stats_add(to, from->us[i]) < 0)
			return -1;
	return 0;
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
percentile_of(const double *sorted, size_t count, size_t percent)
{
	return sorted[(count * percent + 99) / 100 - 1];
}

int
bench_stats_sum(const struct bench_stats *s, struct bench_summary *out)
{
	own_mem double *sorted = NULL;

	*out = (struct bench_summary){ .count = s->count };
	if (!s->count)
		return 0;
	sorted = malloc(s->count * sizeof(*sorted));
	if (!sorted)
		return -1;
	memcpy(sorted, s->us, s->count * sizeof(*sorted));
	qsort(sorted, s->count, sizeof(*sorted), compare_doubles);
	out->min = sorted[0];
	out->p50 = percentile_of(sorted, s->count, 50);
	out->p95 = percentile_of(sorted, s->count, 95);
	out->p99 = percentile_of(sorted, s->count, 99);
	out->max = sorted[s->count - 1];
	return 0;
}

void
bench_stats_free(struct bench_stats *s)
{
	free(s->us);
	*s = (struct bench_stats){ 0 };
}
