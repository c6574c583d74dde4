/*
 * batch: runs the jobs of a file, one per line, and writes their results, one
 * per line.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/batch/batch.h"
#include "cli/batch/progress.h"
#include "cli/cli.h"
#include "policy/fields/flags.h"

#define JOB_MAX	    ((size_t)64 * 1024 * 1024)
#define REDRAW_MS   100
#define INTERRUPTED 130
#define BROKEN_PIPE 141 /* as if by SIGPIPE */

/* ---- the command line ---- */

struct batch_options {
	bool unordered, resume, force, quiet;
	uint64_t threads;      /* -j, or the number of processors */
	const char *output;    /* NULL: standard output */
	const char *input;     /* NULL or "-": standard input */
	const char *audit;     /* NULL: none */
	const char *artifacts; /* the parent of each job's directory, or NULL */
	struct flags flags;
};

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

static const struct option batch_option_rows[] = {
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
		.help = "run at most N jobs at once, from 1 to 64",
		.detail = "By default N is the number of processors that this "
			  "process may use.",
		.min = 1,
		.max = BATCH_THREADS_MAX,
		AT(threads),
	},
	{
		.name = "unordered",
		.kind = OPTION_FLAG,
		.help = "write results as jobs end, not in the order of the "
			"jobs",
		.detail = "Without this option the results have the order of "
			  "the jobs, and Remit starts at most 4 _N_ jobs ahead "
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
		.help = "run only the jobs that have no result in the file of "
			"--output, and append their results",
		.detail = "An incomplete last line, as a crash may leave it, "
			  "is cut off first. A line that was not a valid job "
			  "runs once you have corrected it. The file may also "
			  "be a redirected standard output.",
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
		.detail = "Both appear only if stderr is a terminal; the bar "
			  "also requires that results do not go to a terminal.",
		AT(quiet),
	},
	{
		.name = "audit",
		.kind = OPTION_PATH,
		.value = "FILE",
		.example = "audit.jsonl",
		.help = "append a line about each run to this file",
		.detail = "See *remit run*.",
		AT(audit),
	},
	{
		.name = "artifacts",
		.kind = OPTION_PATH,
		.value = "DIR",
		.example = "./out",
		.help = "write the files that --export names into a folder "
			"for each job, below this one",
		.detail = "A job's own policy may name the patterns, too. The "
			  "folder's name is the id: letters, digits, _\\__, "
			  "and after the first character _-_ and _._ stay as "
			  "they are. Other bytes become _%XX_, and so does the "
			  "first digit of an id that is text but looks like a "
			  "number; _%n5_ is -5, and a name of more than 255 "
			  "bytes ends in _%%_ and the SHA-256 of the id. Until "
			  "the result is written, the folder contains the file "
			  "_.remit-unfinished_; *--resume* first empties such "
			  "a folder. Other existing folders are not changed.",
		AT(artifacts),
	},
	{ 0 },
};

/* Set defaults, and check combinations of options. */
static int
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

/* Exported files need a directory. */
static int
batch_options_check(const struct batch_options *o, const struct policy *p,
		    struct remit_error *err)
{
	if (p->artifact_export_paths.count && !o->artifacts)
		return fail(err, REMIT_E_INPUT,
			    "--export needs a folder for the files: add "
			    "--artifacts DIR");
	return 0;
}

static void
batch_options_free(struct batch_options *o)
{
	flags_free(&o->flags);
}

/* ---- files ---- */

/* Returns a new descriptor of the input. */
static int
open_input(const struct batch_options *o, struct remit_error *err)
{
	bool is_file = o->input && strcmp(o->input, "-") != 0;
	const char *name = is_file ? o->input : "standard input";
	own_fd int fd = is_file ? open(o->input, O_RDONLY | O_CLOEXEC)
				: fcntl(0, F_DUPFD_CLOEXEC, 3);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_sys(err, REMIT_E_INPUT, "open %s", name);
	if (S_ISDIR(st.st_mode))
		return fail(err, REMIT_E_INPUT, "%s is a folder", name);
	return take_fd(&fd);
}

static int
make_artifacts(const char *path, struct remit_error *err)
{
	if (path && mkdir(path, 0700) < 0 && errno != EEXIST)
		return fail_sys(err, REMIT_E_INPUT, "--artifacts: make %s",
				path);
	return 0;
}

static enum batch_output_mode
output_mode(const struct batch_options *o)
{
	if (o->resume)
		return BATCH_OUTPUT_RESUME;
	return o->force ? BATCH_OUTPUT_FORCE : BATCH_OUTPUT_NEW;
}

/* Show the bar only if the results do not scroll on the same terminal. */
static void
prepare_bar(struct batch_bar *bar, const struct batch_options *o, int input,
	    int output)
{
	const char *term = getenv("TERM");
	int64_t jobs;

	bar->is_on = !o->quiet && isatty(2) && !isatty(output) && term &&
		     strcmp(term, "dumb") != 0;
	if (!bar->is_on || lseek(input, 0, SEEK_CUR) != 0)
		return;
	jobs = batch_lines_count(input);
	bar->total = jobs > 0 ? (uint64_t)jobs : 0;
}

/* ---- the batch ---- */

static uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* An ignored signal stays ignored, as nohup(1) intends. */
static int
watch_signals(sigset_t *watched)
{
	static const int wanted[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old;

	sigemptyset(watched);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		if (sigaction(wanted[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaddset(watched, wanted[i]);
	sigprocmask(SIG_BLOCK, watched, NULL);
	/* A broken pipe and a file over its limit must fail in write(), so that
	   an incomplete line is removed. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	return signalfd(-1, watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Wait until the last thread has ended. */
static void
watch_batch(struct batch *b, const struct batch_bar *bar, int signals,
	    uint64_t begun_ms)
{
	struct pollfd fds[2] = {
		{ .fd = b->ended_fd, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	struct signalfd_siginfo info;
	bool interrupted = false;

	while (!fds[0].revents) {
		int n = poll(fds, 2, bar->is_on ? REDRAW_MS : -1);

		if (n == 0) {
			struct batch_count c = batch_count_now(b);

			batch_bar_draw(bar, &c, now_ms() - begun_ms);
		}
		if (n <= 0 || read(signals, &info, sizeof(info)) <= 0)
			continue;
		if (interrupted) {
			batch_bar_clear(bar);
			_exit(INTERRUPTED); /* the keeper then ends all runs */
		}
		interrupted = true;
		batch_stop(b, BATCH_INTERRUPTED, NULL);
	}
}

static void
print_how_to_resume(const struct batch_options *o)
{
	if (o->output)
		fprintf(stderr,
			"       To continue, run the same command with "
			"--resume%s.\n",
			o->force ? " instead of --force" : "");
	else
		fprintf(stderr,
			"       If the results went to a file, continue with "
			"the same command and\n"
			"       --resume --output FILE.\n");
}

static int
print_end(const struct batch_options *o, const struct batch *b,
	  uint64_t wall_ms)
{
	bool interrupted = b->end == BATCH_INTERRUPTED;
	bool all_ran = batch_count_all_ran(&b->count);
	own(buf) struct buf text = BUF_INIT(1024);

	if (b->end == BATCH_FAILED && b->error.sys_errno == EPIPE)
		return BROKEN_PIPE;
	if (b->end == BATCH_FAILED)
		cli_error(&b->error);
	if ((b->end != BATCH_GOES_ON || !all_ran || (isatty(2) && !o->quiet)) &&
	    batch_count_show(&b->count, wall_ms, &text) == 0)
		fprintf(stderr, "remit: %s%s\n",
			interrupted ? "interrupted: " : "", text.data);
	if (b->end != BATCH_GOES_ON)
		print_how_to_resume(o);
	if (interrupted)
		return INTERRUPTED;
	return b->end == BATCH_FAILED || !all_ran ? CLI_FAILED : 0;
}

static int
run_batch(const struct batch_options *o, struct batch *b,
	  const struct batch_bar *bar, struct remit_error *err)
{
	sigset_t watched;
	own_fd int signals = watch_signals(&watched);
	uint64_t begun_ms = now_ms();

	if (signals < 0)
		return fail_sys(err, REMIT_E_KERNEL, "signalfd");
	if (batch_start(b, err) < 0)
		return -1;
	watch_batch(b, bar, signals, begun_ms);
	batch_bar_clear(bar);
	/* All results are written. While the keeper ends, signals may kill this
	   process again. */
	sigprocmask(SIG_UNBLOCK, &watched, NULL);
	batch_finish(b);
	return print_end(o, b, now_ms() - begun_ms);
}

static int
open_and_run(const struct batch_options *o, const struct policy *policy,
	     struct remit_error *err)
{
	own_fd int input = open_input(o, err);
	own(batch_output) struct batch_output output = { .fd = -1 };
	own(batch_ids) struct batch_ids done = BATCH_IDS_INIT;
	own(batch_lines) struct batch_lines lines =
		BATCH_LINES_INIT(input, JOB_MAX);
	own(audit) struct audit audit = AUDIT_INIT;
	struct batch_bar bar = { 0 };
	struct batch b = {
		.audit = &audit,
		.artifacts = o->artifacts,
		.lines = &lines,
		.output = &output,
		.policy = policy,
		.done = &done,
		.threads = (unsigned)o->threads,
		.in_order = !o->unordered,
		.is_private = cli_needs_private(policy),
	};

	audit.path = o->audit;
	if (input < 0 ||
	    batch_output_open(&output, o->output, output_mode(o), input, &done,
			      err) < 0 ||
	    audit_open(&audit, err) < 0 ||
	    make_artifacts(o->artifacts, err) < 0)
		return -1;
	prepare_bar(&bar, o, input, output.fd);
	cli_warn(policy);
	return run_batch(o, &b, &bar, err);
}

static int
batch_command(int argc, char **argv)
{
	own(batch_options) struct batch_options o = { 0 };
	own(policy) struct policy policy = { 0 };
	struct remit_error err;
	int exit_code = -1;

	if (cli_parse(&command_batch, &o, argc, argv, &err) == 0 &&
	    batch_options_settle(&o, &err) == 0 &&
	    cli_policy_quiet(&o.flags, &policy, &err) == 0 &&
	    batch_options_check(&o, &policy, &err) == 0)
		exit_code = open_and_run(&o, &policy, &err);
	return exit_code < 0 ? cli_error(&err) : exit_code;
}

const struct command command_batch = {
	.options = {
		.name = "batch",
		.usage = "[OPTION...] [FILE]",
		.summary = "run many jobs, one per line",
		.notes =
			"FILE, or standard input, has one job per line: a JSON object with code, and optionally id (default: the number of the line), name, argv, stdin, files and policy, which changes the policy of the options. For each job Remit writes one line with the id and the result. Displays are off: figures are not drawn, and displays of a result are empty, unless --display-mode or a policy says otherwise.\n\nExit code: 0 if each job ran, however it ended; 125 if jobs were refused or Remit failed; 130 if interrupted; 141 if nothing reads the results.",
		.tables = {
			{ .rows = batch_option_rows },
			FLAGS_TABLE(struct batch_options, flags),
		},
	},
	.run = batch_command,
};
