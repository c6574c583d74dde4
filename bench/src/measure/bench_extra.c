/*
 * bench_extra: measures what extras add to a warm run, such as exported files
 * or a denied call, compared with the same run without. Both alternate, so that
 * noise of the machine affects both alike.
 */
#include "measure/measure.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "bench_warm.h"

#define SECTION "extras, warm, gapped"

#define WRITE_100                                   \
	"for n in range(100):\n"                    \
	"    with open('file-%d' % n, 'w') as f:\n" \
	"        f.write('x' * 1000)\n"             \
	"print(1)\n"

#define ROOT_DIRECTORIES 100
#define ROOT_FILES	 100

/* Change a file in the workspace, or in a directory of the host. */
#define CHANGE(directory)                                 \
	"import os\n"                                     \
	"os.makedirs('" directory "/7', exist_ok=True)\n" \
	"with open('" directory "/7/7', 'w') as f:\n"     \
	"    f.write('changed')\n"                        \
	"print(1)\n"

#define CALL(name)                  \
	"import os\n"               \
	"try:\n"                    \
	"    os." name "('/tmp')\n" \
	"except OSError:\n"         \
	"    pass\n"                \
	"print(1)\n"

/* Each pair becomes two rows of the report. Add new pairs here. */
static const struct extra {
	struct bench_program without, with;
	bool root; /* `with` gets a directory of the host with many files */
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
	{
		.without = { .name = "a file changed in the workspace",
			     .code = CHANGE(".") },
		.with = { .name = "a file of 10,000 changed on the host",
			  .code = CHANGE("/data") },
		.root = true,
	},
};

/* A program with a separate keeper, and so with a separate pool. */
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

/* Create directories with files, inside the bench's directory. */
static int
make_root(const char *root, struct remit_error *err)
{
	char path[BENCH_DIRECTORY_SIZE + 32];

	if (mkdir(root, 0755) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", root);
	for (int i = 0; i < ROOT_DIRECTORIES; i++) {
		snprintf(path, sizeof(path), "%s/%d", root, i);
		if (mkdir(path, 0755) < 0)
			return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", path);
		for (int n = 0; n < ROOT_FILES; n++) {
			own_fd int fd = -1;

			snprintf(path, sizeof(path), "%s/%d/%d", root, i, n);
			fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
			if (fd < 0)
				return fail_sys(err, REMIT_E_KERNEL, "open %s",
						path);
		}
	}
	return 0;
}

static int
measure_extra(struct bench *b, const struct extra *e, struct remit_error *err)
{
	own(side) struct side without = { 0 };
	own(side) struct side with = { 0 };
	struct bench_program rooted = e->with;
	char root[BENCH_DIRECTORY_SIZE + 16];

	snprintf(root, sizeof(root), "%s/write-root", b->directory);
	if (e->root && make_root(root, err) < 0)
		return -1;
	rooted.write_root = e->root ? root : NULL;
	if (open_side(&without, b, &e->without, err) < 0 ||
	    open_side(&with, b, &rooted, err) < 0)
		return -1;
	for (unsigned i = 0; i < b->opt.rounds; i++)
		if (bench_warm_gapped(&without.warm, without.row, err) < 0 ||
		    bench_warm_gapped(&with.warm, with.row, err) < 0)
			return -1;
	return bench_row_compare(with.row, without.row, err);
}

int
bench_extra_measure(struct bench *b, struct remit_error *err)
{
	if (!bench_wants(b, SECTION))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(extras); i++)
		if (measure_extra(b, &extras[i], err) < 0)
			return -1;
	return 0;
}
