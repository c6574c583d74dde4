#include "bench_extra.h"

#include "bench_warm.h"

#define SECTION "extras, warm, gapped"

#define WRITE_100                                   \
	"for n in range(100):\n"                    \
	"    with open('file-%d' % n, 'w') as f:\n" \
	"        f.write('x' * 1000)\n"             \
	"print(1)\n"

#define CALL(name)                  \
	"import os\n"               \
	"try:\n"                    \
	"    os." name "('/tmp')\n" \
	"except OSError:\n"         \
	"    pass\n"                \
	"print(1)\n"

/* One row each for `without` and `with`; a further pair is a further row
   here. */
static const struct extra {
	struct bench_program without, with;
} extras[] = {
	{
		.without = { .name = "100 files written", .code = WRITE_100 },
		.with = { .name = "100 files written and exported",
			  .code = WRITE_100,
			  .exported = "file-*" },
	},
	{
		.without = { .name = "a call that is allowed",
			     .code = CALL("chdir") },
		.with = { .name = "a call that is refused and told",
			  .code = CALL("chroot") },
	},
};

/* A program with a keeper, and thereby a pool, of its own. */
struct side {
	struct bench_program program;
	struct bench_row *row;
	struct remit *remit;
	struct bench_warm warm;
};

static int
open_side(struct side *s, struct bench *b, const struct bench_program *p,
	  struct remit_error *err)
{
	s->program = *p;
	s->program.output = bench_programs[0].output;
	s->program.preset = bench_programs[0].preset;
	bench_progress(b, "%s: %s", SECTION, p->name);
	if (bench_report_add(&b->report, &s->row, SECTION, p->name, err) < 0 ||
	    bench_remit(b, &s->remit, err) < 0)
		return -1;
	return bench_warm_open(&s->warm, b, &s->program, s->remit, err);
}

static void
side_free(struct side *s)
{
	bench_warm_free(&s->warm);
	if (s->remit)
		remit_close(s->remit);
}

static int
compare(const struct side *without, const struct side *with,
	struct remit_error *err)
{
	struct bench_summary a, b;

	if (bench_stats_sum(&without->row->time, &a) < 0 ||
	    bench_stats_sum(&with->row->time, &b) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "times");
	with->row->value[VALUE_OVER_WITHOUT] = b.p50 / a.p50;
	return 0;
}

static int
measure(struct bench *b, const struct extra *e, struct remit_error *err)
{
	own(side) struct side without = { 0 };
	own(side) struct side with = { 0 };

	if (open_side(&without, b, &e->without, err) < 0 ||
	    open_side(&with, b, &e->with, err) < 0)
		return -1;
	for (unsigned i = 0; i < b->opt.rounds; i++)
		if (bench_warm_gapped(&without.warm, without.row, err) < 0 ||
		    bench_warm_gapped(&with.warm, with.row, err) < 0)
			return -1;
	return compare(&without, &with, err);
}

int
bench_extra_measure(struct bench *b, struct remit_error *err)
{
	if (!bench_wants(b, SECTION))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(extras); i++)
		if (measure(b, &extras[i], err) < 0)
			return -1;
	return 0;
}
