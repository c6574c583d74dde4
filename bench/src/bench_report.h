/*
 * bench_report: the measurements, as a table and as JSON. A row has times,
 * values, both, or the reason why it is absent. A column is shown if any row of
 * its section has a value for it.
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
	VALUE_CPU_MS,	    /* processor time of the whole machine per run */
	VALUE_MEMORY_BYTES, /* memory of what the row names */
	VALUE_ZYGOTE_BYTES,
	VALUE_HUGE_BYTES,   /* memory of the zygote in huge pages */
	VALUE_CHILD_BYTES,  /* memory of one waiting child */
	VALUE_POOL_HITS,    /* runs that found a waiting child */
	VALUE_OVER_WITHOUT, /* ratio to the median of the row before */
	VALUE_ADDED_MS, /* difference to the median of the first row of its kind
			 */
	VALUE_OTHERS, /* how busy the machine was just before, as a fraction */
	VALUE_COUNT,
};

struct bench_row {
	char *section, *name;
	struct bench_stats time;
	double value[VALUE_COUNT]; /* NAN: not measured */
	char absent[200];	   /* the reason, or "" */
};

struct bench_report {
	struct bench_row **rows;
	size_t count;
	const struct bench_row *bare; /* ratios are relative to its median */
};

/* Add a row, which lives as long as the report. */
int bench_report_add(struct bench_report *r, struct bench_row **out,
		     const char *section, const char *name,
		     struct remit_error *err) must_check;
/* Returns the row, or NULL. */
const struct bench_row *bench_report_find(const struct bench_report *r,
					  const char *section,
					  const char *name);
int bench_row_add(struct bench_row *row, double us,
		  struct remit_error *err) must_check;
/* Set the ratio of the median of `with` to that of `without`. */
int bench_row_compare(struct bench_row *with, const struct bench_row *without,
		      struct remit_error *err) must_check;
void bench_row_absent(struct bench_row *row, const char *fmt, ...)
	printf_like(2, 3);

void bench_report_print(const struct bench_report *r, FILE *f);
/* Returns an array of sections; NULL without memory. */
json_t *bench_report_json(const struct bench_report *r);
void bench_report_free(struct bench_report *r);

#endif
