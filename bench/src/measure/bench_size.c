/*
 * bench_size: measures how a warm run depends on the size of the pool and of
 * the zygote, and how the fork of a zygote depends on its size.
 */
#include "measure/measure.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file/path.h"
#include "bench_warm.h"
#include "measure/bench_floor.h"

#define POOLS	  "pool size, print(1)"
#define ZYGOTES	  "zygote size, print(1), hot"
#define FORKS	  "zygote size, the fork"
#define POOL_SIZE 8

/* Zygotes of different sizes, by their modules. */
static const struct {
	const char *name;
	struct bench_program program;
	bool quick;
} zygotes[] = {
	{ "nothing preloaded", { .preload = { NULL } }, true },
	{ "json", { .preload = { "json" } }, false },
	{ "numpy", { .preload = { "numpy" } }, true },
	{ "numpy, pandas", { .preload = { "numpy", "pandas" } }, false },
	{ "numpy, pandas, matplotlib",
	  { .preload = { "numpy", "pandas", "matplotlib" } },
	  false },
};

/* Measure both ways with the current size of the pool. */
static int
measure_pool(struct bench *b, const struct bench_warm *w, unsigned size,
	     struct remit_error *err)
{
	static const struct {
		const char *name;
		int (*measure)(const struct bench_warm *w,
			       struct bench_row *row, struct remit_error *err);
	} ways[] = { { "hot", bench_warm_hot },
		     { "gapped", bench_warm_gapped } };
	char title[64];
	struct bench_row *row;

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		snprintf(title, sizeof(title), "pool of %u, %s", size,
			 ways[i].name);
		bench_progress(b, "%s", title);
		if (bench_report_add(&b->report, &row, POOLS, title, err) < 0)
			return -1;
		for (unsigned k = 0; k < b->opt.rounds; k++)
			if (ways[i].measure(w, row, err) < 0)
				return -1;
	}
	return 0;
}

/* A pool grows when runs find it empty, so the sizes are ascending. */
static int
measure_pools(struct bench *b, const struct bench_warm *w,
	      struct remit_error *err)
{
	static const unsigned sizes[] = { 1, 4, 16, 64 };
	struct bench_status s;
	struct bench_row *row;
	unsigned last = 0;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		if (b->opt.quick && i > 1)
			break;
		if (bench_warm_grow(w, sizes[i], err) < 0 ||
		    bench_warm_fill(w, &s, err) < 0)
			return -1;
		if (s.target == last)
			continue;
		last = s.target;
		if (measure_pool(b, w, s.target, err) < 0)
			return -1;
	}
	if (last)
		return 0;
	if (bench_report_add(&b->report, &row, POOLS, "pool", err) < 0)
		return -1;
	bench_row_absent(row, "this keeper has no pool");
	return 0;
}

int
bench_size_pools(struct bench *b, struct remit_error *err)
{
	own(bench_warm) struct bench_warm warm = { 0 };
	struct remit *remit;
	int bad;

	if (!bench_wants(b, POOLS))
		return 0;
	bench_progress(b, POOLS);
	if (bench_remit(b, &remit, err) < 0)
		return -1;
	bad = bench_warm_open(&warm, b, &bench_programs[0], remit, err) < 0 ||
	      measure_pools(b, &warm, err) < 0;
	remit_close(remit);
	return bad ? -1 : 0;
}

static int
measure_zygote(struct bench *b, const struct bench_program *p,
	       struct bench_row *row, struct remit_error *err)
{
	own(bench_warm) struct bench_warm warm = { 0 };
	struct bench_status s = { 0 };
	struct remit *remit;
	int bad;

	if (bench_remit(b, &remit, err) < 0)
		return -1;
	bad = bench_warm_open(&warm, b, p, remit, err) < 0 ||
	      bench_warm_grow(&warm, POOL_SIZE, err) < 0;
	for (unsigned k = 0; !bad && k < b->opt.rounds; k++)
		bad = bench_warm_hot(&warm, row, err);
	bad = bad || bench_warm_fill(&warm, &s, err) < 0;
	remit_close(remit);
	if (s.zygote_bytes > 0)
		row->value[VALUE_ZYGOTE_BYTES] = s.zygote_bytes;
	if (s.waiting)
		row->value[VALUE_CHILD_BYTES] = s.child_bytes;
	return bad ? -1 : 0;
}

int
bench_size_zygotes(struct bench *b, struct remit_error *err)
{
	if (!bench_wants(b, ZYGOTES))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(zygotes); i++) {
		struct bench_program p = zygotes[i].program;
		struct bench_row *row;

		if (b->opt.quick && !zygotes[i].quick)
			continue;
		bench_progress(b, "%s: %s", ZYGOTES, zygotes[i].name);
		p.name = zygotes[i].name;
		p.code = bench_programs[0].code;
		p.output = bench_programs[0].output;
		p.preset = "scientific";
		if (bench_report_add(&b->report, &row, ZYGOTES, p.name, err) <
		    0)
			return -1;
		if (measure_zygote(b, &p, row, err) < 0) {
			struct remit_error why = *err;

			if (bench_check(b, err) < 0)
				return -1;
			bench_row_absent(row, "%s", why.message);
		}
	}
	return 0;
}

/* ---- the fork ---- */

/* 300 MB of Python objects, as in a large package. */
#define BALLAST	     "remit_bench_ballast"
#define BALLAST_CODE "held = [[i] for i in range(2_900_000)]\n"

static int
make_ballast(const char *directory, struct remit_error *err)
{
	char path[BENCH_DIRECTORY_SIZE + 64];

	snprintf(path, sizeof(path), "%s/" BALLAST ".py", directory);
	if (mkdir(directory, 0755) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", directory);
	if (path_write_file(path, BALLAST_CODE, strlen(BALLAST_CODE), err) < 0)
		return -1;
	/* If root runs the bench, the zygote is another user. */
	if (chmod(directory, 0755) < 0 || chmod(path, 0644) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "chmod %s", path);
	return 0;
}

static int
fork_once(const struct bench_floor *f, struct bench_row *row,
	  struct remit_error *err)
{
	struct bench_floor_count count;

	if (bench_floor_go(f, 0, err) < 0 ||
	    bench_floor_count(f, &count, err) < 0)
		return -1;
	row->value[VALUE_ZYGOTE_BYTES] = count.zygote_bytes;
	row->value[VALUE_HUGE_BYTES] = count.huge_bytes;
	return bench_row_add(row, count.fork_us, err);
}

/* Small and large zygotes alternate. */
static int
measure_forks(struct bench *b, struct bench_floor zygote[2],
	      struct bench_row *row[2], struct remit_error *err)
{
	char directory[BENCH_DIRECTORY_SIZE + 16];
	struct bench_ballast ballast = { directory, BALLAST };

	snprintf(directory, sizeof(directory), "%s/ballast", b->directory);
	if (make_ballast(directory, err) < 0 ||
	    bench_floor_open(&zygote[0], b, NULL, err) < 0 ||
	    bench_floor_open(&zygote[1], b, &ballast, err) < 0)
		return -1;
	for (unsigned k = 0; k < b->opt.rounds; k++)
		for (int i = 0; i < 2; i++)
			if (bench_check(b, err) < 0 ||
			    fork_once(&zygote[i], row[i], err) < 0)
				return -1;
	return bench_row_compare(row[1], row[0], err);
}

int
bench_size_forks(struct bench *b, struct remit_error *err)
{
	struct bench_floor zygote[2] = { { .control = -1 }, { .control = -1 } };
	struct bench_row *row[2];
	int bad;

	if (!bench_wants(b, FORKS))
		return 0;
	if (bench_new_row(b, FORKS, "nothing preloaded", &row[0], err) < 0 ||
	    bench_new_row(b, FORKS, "300 MB of objects", &row[1], err) < 0)
		return -1;
	bad = measure_forks(b, zygote, row, err);
	bench_floor_free(zygote, ARRAY_LEN(zygote));
	if (!bad)
		return 0;
	bench_row_absent(row[0], "%s", err->message);
	return bench_absent(b, row[1], err);
}
