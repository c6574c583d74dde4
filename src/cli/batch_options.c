#include "batch_options.h"

#include <sched.h>
#include <string.h>

#include "batch.h"
#include "number.h"

static unsigned
count_processors(void)
{
	cpu_set_t cpus;
	int n = 1;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		n = CPU_COUNT(&cpus);
	return n < BATCH_THREADS_MAX ? (unsigned)n : BATCH_THREADS_MAX;
}

static int
set_threads(struct batch_options *o, const char *text, struct remit_error *err)
{
	uint64_t n;

	if (number_parse(&n, text) < 0 || n < 1 || n > BATCH_THREADS_MAX)
		return fail(err, REMIT_E_INPUT,
			    "-j: must be a number from 1 to %d",
			    BATCH_THREADS_MAX);
	o->threads = (unsigned)n;
	return 0;
}

static int
set_output(struct batch_options *o, const char *text, struct remit_error *err)
{
	(void)err;
	o->output = text;
	return 0;
}

static int
set_audit(struct batch_options *o, const char *text, struct remit_error *err)
{
	(void)err;
	o->audit = text;
	return 0;
}

static int
set_artifacts(struct batch_options *o, const char *text,
	      struct remit_error *err)
{
	(void)err;
	o->artifacts = text;
	return 0;
}

static const struct option {
	const char *name;
	const char *joined; /* a value may stand behind this at once */
	int (*set)(struct batch_options *o, const char *text,
		   struct remit_error *err);
	size_t offset; /* of a bool, if there is no `set` */
} options[] = {
	{ .name = "-j", .joined = "-j", .set = set_threads },
	{ .name = "--output", .joined = "--output=", .set = set_output },
	{ .name = "--audit", .joined = "--audit=", .set = set_audit },
	{ .name = "--artifacts",
	  .joined = "--artifacts=",
	  .set = set_artifacts },
	{ .name = "--unordered",
	  .offset = offsetof(struct batch_options, unordered) },
	{ .name = "--resume",
	  .offset = offsetof(struct batch_options, resume) },
	{ .name = "--force", .offset = offsetof(struct batch_options, force) },
	{ .name = "--quiet", .offset = offsetof(struct batch_options, quiet) },
};

static const struct option *
find(const char *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		const struct option *one = &options[i];

		if (!strcmp(arg, one->name) ||
		    (one->joined &&
		     !strncmp(arg, one->joined, strlen(one->joined))))
			return one;
	}
	return NULL;
}

static int
take_own(struct batch_options *o, const struct option *own, int argc,
	 char **argv, int *i, struct remit_error *err)
{
	if (!own->set) {
		*(bool *)((char *)o + own->offset) = true;
		return 0;
	}
	if (strcmp(argv[*i], own->name) != 0)
		return own->set(o, argv[*i] + strlen(own->joined), err);
	if (++*i == argc)
		return fail(err, REMIT_E_INPUT, "%s: needs a value", own->name);
	return own->set(o, argv[*i], err);
}

static int
take_option(struct batch_options *o, int argc, char **argv, int *i,
	    struct remit_error *err)
{
	const struct option *own = find(argv[*i]);
	enum flags_answer a;

	if (own)
		return take_own(o, own, argc, argv, i, err);
	a = flags_take(&o->flags, argc, argv, i, err);
	if (a == FLAGS_OTHER)
		return flags_unknown(argv[*i], err);
	return a == FLAGS_TAKEN ? 0 : -1;
}

static int
take_input(struct batch_options *o, const char *arg, struct remit_error *err)
{
	if (o->input)
		return flags_unknown(arg, err);
	o->input = arg;
	return 0;
}

static int
check(const struct batch_options *o, struct remit_error *err)
{
	if ((o->resume || o->force) && !o->output)
		return fail(err, REMIT_E_INPUT, "%s needs --output FILE",
			    o->resume ? "--resume" : "--force");
	if (o->resume && o->force)
		return fail(err, REMIT_E_INPUT,
			    "--resume and --force exclude each other");
	return 0;
}

int
batch_options_parse(struct batch_options *o, int argc, char **argv,
		    struct remit_error *err)
{
	bool only_input = false;

	*o = (struct batch_options){ .threads = count_processors() };
	for (int i = 1; i < argc; i++) {
		int failed = 0;

		if (only_input || argv[i][0] != '-' || !strcmp(argv[i], "-"))
			failed = take_input(o, argv[i], err);
		else if (!strcmp(argv[i], "--"))
			only_input = true;
		else
			failed = take_option(o, argc, argv, &i, err);
		if (failed)
			return -1;
	}
	return check(o, err);
}

int
batch_options_check(const struct batch_options *o, const struct policy *p,
		    struct remit_error *err)
{
	if (p->artifact_export_paths.count && !o->artifacts)
		return fail(err, REMIT_E_INPUT,
			    "--export needs a folder for the files: "
			    "--artifacts DIR");
	return 0;
}

void
batch_options_free(struct batch_options *o)
{
	flags_free(&o->flags);
}
