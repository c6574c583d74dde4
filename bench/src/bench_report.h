/*
 * bench_report: what was measured, as a table and as JSON. A row has times,
 * values, both, or the reason why it is absent; a column is shown where a row
 * of its section has something for it.
 */
#ifndef REMIT_BENCH_REPORT_H
#define REMIT_BENCH_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "bench_stats.h"

enum bench_value {
	VALUE_RUNS_PER_S,
	VALUE_BYTES_PER_S,
	VALUE_CPU_MS,	    /* of the whole machine, for one run */
	VALUE_MEMORY_BYTES, /* what the row is about */
	VALUE_ZYGOTE_BYTES,
	VALUE_HUGE_BYTES,   /* of the zygote's, in huge pages */
	VALUE_CHILD_BYTES,  /* of one waiting child */
	VALUE_POOL_HITS,    /* runs that found one */
	VALUE_OVER_WITHOUT, /* times the median of the row before it */
	VALUE_ADDED_MS,	    /* to the median of the first row of its kind */
	VALUE_OTHERS,	    /* share of the machine busy just before */
	VALUE_COUNT,
};

struct bench_row {
	char *section, *name;
	struct bench_stats time;
	double value[VALUE_COUNT]; /* NAN: not measured */
	char absent[200];	   /* why, or "" */
};

struct bench_report {
	struct bench_row **rows;
	size_t count;
	const struct bench_row *bare; /* all ratios are to its median */
};

/* A new last row; it lives as long as the report. */
int bench_report_add(struct bench_report *r, struct bench_row **out,
		     const char *section, const char *name,
		     struct remit_error *err) must_check;
/* NULL if there is no such row. */
const struct bench_row *bench_report_find(const struct bench_report *r,
					  const char *section,
					  const char *name);
int bench_row_add(struct bench_row *row, double us,
		  struct remit_error *err) must_check;
/* How many times the median of the other its own is. */
int bench_row_compare(struct bench_row *with, const struct bench_row *without,
		      struct remit_error *err) must_check;
void bench_row_absent(struct bench_row *row, const char *fmt, ...)
	printf_like(2, 3);

void bench_report_print(const struct bench_report *r, FILE *f);
/* An array of sections; NULL without memory. */
json_t *bench_report_json(const struct bench_report *r);
void bench_report_free(struct bench_report *r);

#endif
