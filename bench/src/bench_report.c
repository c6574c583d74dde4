#include "bench_report.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

#define NAME_WIDTH   38
#define COLUMN_WIDTH 9
#define TEXT_SIZE    32

static void
show_time(double us, char *out)
{
	const char *unit = "µs";

	if (fabs(us) >= 999.5e3) {
		us /= 1e6;
		unit = "s";
	} else if (fabs(us) >= 999.5) {
		us /= 1e3;
		unit = "ms";
	}
	snprintf(out, TEXT_SIZE, "%.*f %s", *unit != 'm' ? us < 10 : us < 100,
		 us, unit);
}

static void
show_number(double n, char *out)
{
	int digits = n >= 100 ? 0 : n >= 10 ? 1 : n >= 0.1 ? 2 : 4;

	snprintf(out, TEXT_SIZE, "%.*f", digits, n);
}

static void
show_share(double part, char *out)
{
	snprintf(out, TEXT_SIZE, "%.0f %%", part * 100);
}

static void
show_count(double n, char *out)
{
	snprintf(out, TEXT_SIZE, "%.0f", n);
}

static void
show_ms(double ms, char *out)
{
	show_time(ms * 1e3, out);
}

static void
show_mib(double bytes, char *out)
{
	snprintf(out, TEXT_SIZE, "%.1f MiB", bytes / (1 << 20));
}

static void
show_megabytes(double bytes, char *out)
{
	snprintf(out, TEXT_SIZE, "%.0f", bytes / 1e6);
}

static const struct {
	const char *key, *heading;
	void (*show)(double value, char *out);
	bool last; /* the column comes after the times */
} values[VALUE_COUNT] = {
	[VALUE_RUNS_PER_S] = { "runs_per_s", "runs/s", show_number, false },
	[VALUE_BYTES_PER_S] = { "bytes_per_s", "MB/s", show_megabytes, false },
	[VALUE_CPU_MS] = { "cpu_ms", "CPU/run", show_ms, false },
	[VALUE_MEMORY_BYTES] = { "memory_bytes", "memory", show_mib, false },
	[VALUE_ZYGOTE_BYTES] = { "zygote_bytes", "zygote", show_mib, false },
	[VALUE_HUGE_BYTES] = { "huge_bytes", "in huge", show_mib, false },
	[VALUE_CHILD_BYTES] = { "child_bytes", "a child", show_mib, false },
	[VALUE_OVER_WITHOUT] = { "over_without", "/without", show_number,
				 true },
	[VALUE_ADDED_MS] = { "added_ms", "added", show_ms, true },
	[VALUE_OTHERS] = { "others_busy", "others", show_share, true },
	[VALUE_POOL_HITS] = { "pool_hits", "pool hits", show_count, true },
};

int
bench_report_add(struct bench_report *r, struct bench_row **out,
		 const char *section, const char *name, struct remit_error *err)
{
	struct bench_row **rows =
		realloc(r->rows, (r->count + 1) * sizeof(*rows));
	struct bench_row *row;

	if (!rows)
		return fail_memory(err, "the report");
	r->rows = rows;
	row = calloc(1, sizeof(*row));
	if (!row)
		return fail_memory(err, "the report");
	r->rows[r->count++] = row;
	for (int i = 0; i < VALUE_COUNT; i++)
		row->value[i] = NAN;
	row->section = strdup(section);
	row->name = strdup(name);
	if (!row->section || !row->name)
		return fail_memory(err, "the report");
	*out = row;
	return 0;
}

const struct bench_row *
bench_report_find(const struct bench_report *r, const char *section,
		  const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->rows[i]->section, section) &&
		    !strcmp(r->rows[i]->name, name))
			return r->rows[i];
	return NULL;
}

int
bench_row_add(struct bench_row *row, double us, struct remit_error *err)
{
	if (bench_stats_add(&row->time, us) < 0)
		return fail_memory(err, "times");
	return 0;
}

int
bench_row_compare(struct bench_row *with, const struct bench_row *without,
		  struct remit_error *err)
{
	struct bench_summary a, b;

	if (bench_stats_sum(&without->time, &a) < 0 ||
	    bench_stats_sum(&with->time, &b) < 0)
		return fail_memory(err, "times");
	with->value[VALUE_OVER_WITHOUT] = b.p50 / a.p50;
	return 0;
}

void
bench_row_absent(struct bench_row *row, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(row->absent, sizeof(row->absent), fmt, ap);
	va_end(ap);
	/* The text may be output of a peer: replace control characters. */
	for (char *c = row->absent; *c; c++)
		if (*c < ' ' && *c > 0)
			*c = ' ';
}

static double
row_median(const struct bench_row *row)
{
	struct bench_summary sum;

	if (!row || bench_stats_sum(&row->time, &sum) < 0)
		return 0;
	return sum.p50;
}

/* Returns NAN if there is nothing to compare. */
static double
row_ratio(const struct bench_report *r, const struct bench_row *row)
{
	double bare = row_median(r->bare);

	return bare > 0 && row->time.count ? row_median(row) / bare : NAN;
}

/* printf() counts bytes, but "µ" has two. */
static void
print_cell(FILE *f, const char *text)
{
	int width = 0;

	for (const char *c = text; *c; c++)
		width += (*c & 0xC0) != 0x80;
	fprintf(f, " %*s%s", width < COLUMN_WIDTH ? COLUMN_WIDTH - width : 0,
		"", text);
}

/* The columns that a section has. */
struct columns {
	bool time, ratio, value[VALUE_COUNT];
};

static struct columns
columns_of(const struct bench_report *r, const char *section)
{
	struct columns c = { 0 };

	for (size_t i = 0; i < r->count; i++) {
		const struct bench_row *row = r->rows[i];

		if (strcmp(row->section, section))
			continue;
		c.time |= row->time.count > 0;
		c.ratio |= !isnan(row_ratio(r, row));
		for (int v = 0; v < VALUE_COUNT; v++)
			c.value[v] |= !isnan(row->value[v]);
	}
	return c;
}

/* Print the values before or after the times. If `row` is NULL, print their
   headings. */
static void
print_values(FILE *f, const struct columns *c, const struct bench_row *row,
	     bool last)
{
	char text[TEXT_SIZE];

	for (int v = 0; v < VALUE_COUNT; v++) {
		if (!c->value[v] || values[v].last != last)
			continue;
		snprintf(text, sizeof(text), "%s", values[v].heading);
		if (row)
			*text = '\0';
		if (row && !isnan(row->value[v]))
			values[v].show(row->value[v], text);
		print_cell(f, text);
	}
}

static void
print_heading(FILE *f, const struct columns *c, const char *section)
{
	fprintf(f, "\n%-*s", NAME_WIDTH, section);
	print_values(f, c, NULL, false);
	if (c->time) {
		print_cell(f, "median");
		print_cell(f, "p95");
		print_cell(f, "p99");
	}
	if (c->ratio)
		print_cell(f, "/ bare");
	if (c->time)
		print_cell(f, "n");
	print_values(f, c, NULL, true);
	fputc('\n', f);
}

static void
print_times(FILE *f, const struct bench_row *row, double over_bare,
	    bool with_ratio)
{
	struct bench_summary sum;
	char text[TEXT_SIZE];
	double us[3];

	if (!row->time.count || bench_stats_sum(&row->time, &sum) < 0)
		return;
	us[0] = sum.p50;
	us[1] = sum.p95;
	us[2] = sum.p99;
	for (size_t i = 0; i < ARRAY_LEN(us); i++) {
		show_time(us[i], text);
		print_cell(f, text);
	}
	if (with_ratio) {
		show_number(over_bare, text);
		print_cell(f, isnan(over_bare) ? "" : text);
	}
	snprintf(text, sizeof(text), "%zu", sum.count);
	print_cell(f, text);
}

static void
print_row(const struct bench_report *r, FILE *f, const struct columns *c,
	  const struct bench_row *row)
{
	fprintf(f, "  %-*s", NAME_WIDTH - 2, row->name);
	if (*row->absent) {
		fprintf(f, " absent (%s)\n", row->absent);
		return;
	}
	print_values(f, c, row, false);
	print_times(f, row, row_ratio(r, row), c->ratio);
	print_values(f, c, row, true);
	fputc('\n', f);
}

/* The rows of a section are printed together, in whatever order they were
   added. */
static bool
is_first_of_section(const struct bench_report *r, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(r->rows[k]->section, r->rows[i]->section))
			return false;
	return true;
}

void
bench_report_print(const struct bench_report *r, FILE *f)
{
	for (size_t i = 0; i < r->count; i++) {
		const char *section = r->rows[i]->section;
		struct columns c;

		if (!is_first_of_section(r, i))
			continue;
		c = columns_of(r, section);
		print_heading(f, &c, section);
		for (size_t k = i; k < r->count; k++)
			if (!strcmp(r->rows[k]->section, section))
				print_row(r, f, &c, r->rows[k]);
	}
}

static json_t *
times_json(const struct bench_stats *s)
{
	struct bench_summary sum;

	if (bench_stats_sum(s, &sum) < 0)
		return NULL;
	return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "count",
			 (json_int_t)sum.count, "min", sum.min, "p50", sum.p50,
			 "p95", sum.p95, "p99", sum.p99, "max", sum.max);
}

static json_t *
row_json(const struct bench_report *r, const struct bench_row *row)
{
	json_t *doc = json_pack("{s:s}", "name", row->name);
	double over_bare = row_ratio(r, row);

	if (*row->absent)
		json_object_set_new(
			doc, "absent",
			text_to_json(row->absent, strlen(row->absent)));
	for (int v = 0; v < VALUE_COUNT; v++)
		if (!isnan(row->value[v]))
			json_object_set_new(doc, values[v].key,
					    json_real(row->value[v]));
	if (row->time.count)
		json_object_set_new(doc, "time_us", times_json(&row->time));
	if (!isnan(over_bare))
		json_object_set_new(doc, "ratio", json_real(over_bare));
	return doc;
}

json_t *
bench_report_json(const struct bench_report *r)
{
	json_t *sections = json_array();

	for (size_t i = 0; i < r->count; i++) {
		const char *section = r->rows[i]->section;
		json_t *rows;

		if (!is_first_of_section(r, i))
			continue;
		rows = json_array();
		for (size_t k = i; k < r->count; k++)
			if (!strcmp(r->rows[k]->section, section))
				json_array_append_new(rows,
						      row_json(r, r->rows[k]));
		json_array_append_new(
			sections,
			json_pack("{s:s, s:o}", "name", section, "rows", rows));
	}
	return sections;
}

void
bench_report_free(struct bench_report *r)
{
	for (size_t i = 0; i < r->count; i++) {
		bench_stats_free(&r->rows[i]->time);
		free(r->rows[i]->section);
		free(r->rows[i]->name);
		free(r->rows[i]);
	}
	free(r->rows);
	*r = (struct bench_report){ 0 };
}
