#include "cli/batch/options.h"

#include <sched.h>

#include "cli/batch/batch.h"

static uint64_t
count_processors(void)
{
	cpu_set_t cpus;
	int n = 1;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		n = CPU_COUNT(&cpus);
	return n < BATCH_THREADS_MAX ? (uint64_t)n : BATCH_THREADS_MAX;
}

#define AT(member) OPTION_AT(struct batch_options, member)

const struct option batch_option_rows[] = {
	{
		.kind = OPTION_PATH,
		.value = "FILE",
		.hidden = true,
		AT(input),
	},
	{
		.letter = 'j',
		.kind = OPTION_NUMBER,
		.value = "N",
		.example = "4",
		.fallback = "the number of processors",
		.help = "run this many jobs at once, from 1 to 64",
		.detail = "Only the processors that this process may use "
			  "count.",
		.min = 1,
		.max = BATCH_THREADS_MAX,
		AT(threads),
	},
	{
		.name = "unordered",
		.kind = OPTION_FLAG,
		.help = "write results as the jobs end, not in their order",
		.detail = "Without this option the results have the order of "
			  "the jobs, and Remit begins at most 4 _N_ jobs ahead "
			  "of the first one without a result.",
		AT(unordered),
	},
	{
		.name = "output",
		.kind = OPTION_PATH,
		.value = "FILE",
		.example = "results.jsonl",
		.help = "write results to this file instead of standard output",
		.detail = "The file must be new or empty, unless *--resume* "
			  "or *--force* is given.",
		AT(output),
	},
	{
		.name = "resume",
		.kind = OPTION_FLAG,
		.help = "run only jobs that have no result in the file of "
			"--output, and add theirs",
		.detail =
			"A last line without its end, as a crash may leave "
			"it, is cut off first. A line that was not a job runs "
			"once it is corrected. Standard output may have been "
			"written to the file before.",
		AT(resume),
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.help = "empty the file of --output first",
		AT(force),
	},
	{
		.name = "quiet",
		.kind = OPTION_FLAG,
		.help = "show no progress bar and no summary",
		.detail = "Both appear only if stderr is a terminal, and the "
			  "bar only if results do not go to a terminal.",
		AT(quiet),
	},
	{
		.name = "audit",
		.kind = OPTION_PATH,
		.value = "FILE",
		.example = "audit.jsonl",
		.help = "append a line about each run to this file",
		.detail = "*remit run* describes it.",
		AT(audit),
	},
	{
		.name = "artifacts",
		.kind = OPTION_PATH,
		.value = "DIR",
		.example = "./out",
		.help = "write the files that --export names into a folder "
			"for each job, below this one",
		.detail = "The patterns may also come from a job's own policy. "
			  "The folder's name is the id: letters, digits, "
			  "_\\__, and after the first character _-_ and _._ "
			  "stand for themselves. Other bytes become _%XX_, as "
			  "does the first digit of an id that is text and "
			  "looks like a number; _%n5_ is -5, and a name of "
			  "more than 255 bytes ends in _%%_ and the SHA-256 of "
			  "the id. Until the result is written, the folder "
			  "has the file _.remit-unfinished_: *--resume* "
			  "empties such a folder first. Nothing else in the "
			  "folder is changed.",
		AT(artifacts),
	},
	{ 0 },
};

int
batch_options_settle(struct batch_options *o, struct remit_error *err)
{
	if (!o->threads)
		o->threads = count_processors();
	if ((o->resume || o->force) && !o->output)
		return fail(err, REMIT_E_INPUT, "%s needs --output FILE",
			    o->resume ? "--resume" : "--force");
	if (o->resume && o->force)
		return fail(err, REMIT_E_INPUT,
			    "--resume and --force exclude each other");
	return 0;
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
