/*
 * run: runs a program in a fresh jail, passes its output through, and returns
 * its result as exit code or as one JSON object.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "base/file/io.h"
#include "cli/cli.h"
#include "cli/program.h"
#include "cli/prompt/prompt.h"
#include "cli/report/audit.h"
#include "cli/report/result_lines.h"
#include "cli/report/run_displays.h"
#include "cli/report/screen.h"
#include "cli/run_options.h"
#include "client/result_view.h"
#include "policy/quantity.h"
#include "wire/result.h"

/* ---- standard input for several runs ---- */

/*
 * The standard input of a program that may run several times (--ask). At a
 * terminal the user types the input again, a file is read again, and a pipe is
 * read to its end before the first run.
 */
struct run_input {
	struct buf bytes; /* the input, if it was a pipe */
	bool kept;	  /* use `bytes` */
	bool rewinds;
	off_t start; /* the first offset of the file */
};

static int
keep_input(struct run_input *in, size_t max_bytes, struct remit_error *err)
{
	in->bytes = (struct buf)BUF_INIT(max_bytes);
	if (io_read_all(0, &in->bytes) == 0) {
		in->kept = true;
		return 0;
	}
	if (errno == EFBIG)
		return fail(
			err, REMIT_E_INPUT,
			"--ask must keep standard input for a second run, and "
			"it is longer than stdin_bytes: raise the limit "
			"(--stdin-max), or use a file instead of a pipe");
	return fail_sys(err, REMIT_E_INPUT, "standard input");
}

/* Prepare descriptor 0. Fails if a pipe has more than max_bytes. */
static int
run_input_open(struct run_input *in, size_t max_bytes, struct remit_error *err)
{
	struct stat st;

	/* The library handles a closed descriptor, as it does without --ask. */
	if (fstat(0, &st) < 0 || S_ISCHR(st.st_mode))
		return 0;
	in->start = S_ISREG(st.st_mode) ? lseek(0, 0, SEEK_CUR) : -1;
	in->rewinds = in->start >= 0;
	return in->rewinds ? 0 : keep_input(in, max_bytes, err);
}

/* Set the input of the job. Call this before each run. */
static int
run_input_rewind(const struct run_input *in, struct remit_job *job,
		 struct remit_error *err)
{
	if (in->rewinds && lseek(0, in->start, SEEK_SET) < 0)
		return fail_sys(err, REMIT_E_INPUT, "standard input");
	job->stdin_fd = in->kept ? -1 : 0;
	job->stdin_bytes = in->kept ? buf_text(&in->bytes) : NULL;
	job->stdin_len = in->bytes.len;
	return 0;
}

static void
run_input_free(struct run_input *in)
{
	buf_free(&in->bytes);
}

/* ---- the command ---- */

/* Characters of foreign text in a line. */
#define SHOWN	       4096
#define PROGRESS_SHOWN 60

struct run {
	struct run_options options;
	struct audit audit;
	struct prompt prompt;
	struct run_input input;
	struct run_displays displays;
	struct buf code;
	int signals;
	struct screen out, err;
	bool has_progress; /* the last line of the terminal shows progress */
	bool broken;	   /* the output is closed */
};

static void
write_output(struct run *r, int fd, const char *bytes, size_t len)
{
	if (!r->broken && io_write_all(fd, bytes, len) < 0)
		r->broken = true;
}

/* On a terminal, show the line in place of the last one. */
static void
on_progress(void *user, const char *line, size_t len)
{
	struct run *r = user;
	own(buf) struct buf text = BUF_INIT(2048), shown = BUF_INIT(8192);

	if (!isatty(2) || buf_add(&text, line, len) < 0 ||
	    line_text_message(&shown, buf_text(&text), PROGRESS_SHOWN) < 0)
		return;
	fprintf(stderr, "\r\033[Kremit: packages: %s", buf_text(&shown));
	r->has_progress = true;
}

/* Erase the progress line. */
static void
clear_progress(struct run *r)
{
	if (r->has_progress)
		fputs("\r\033[K", stderr);
	r->has_progress = false;
}

static void
on_output(void *user, enum remit_stream stream, const char *bytes, size_t len)
{
	struct run *r = user;
	own(buf) struct buf shown = BUF_INIT(8 * len + 512);

	clear_progress(r);
	if (screen_filter(stream == REMIT_STDOUT ? &r->out : &r->err, bytes,
			  len, &shown) < 0)
		return;
	write_output(r, (int)stream, buf_text(&shown), shown.len);
	if (r->broken)
		_exit(141); /* as if by SIGPIPE; the keeper ends the run */
}

static enum remit_answer
on_question(void *user, const struct remit_question *q)
{
	struct run *r = user;
	bool is_host = !strcmp(q->kind, "host");
	enum remit_answer a =
		question_prompt(q, is_host ? r->prompt.file : NULL, r->signals);

	if (is_host)
		prompt_note_host(&r->prompt, q->subject,
				 a == REMIT_ALLOW_ALWAYS);
	return a;
}

static void
on_display(void *user, const struct remit_display *d)
{
	struct run *r = user;

	run_displays_add(&r->displays, d);
}

/* Print the value, as an interactive interpreter does. */
static void
show_value(struct run *r)
{
	own(buf) struct buf shown = BUF_INIT((size_t)2 << 30);
	const struct buf *text = &r->displays.value;

	if (!r->options.value || !r->displays.has_value ||
	    screen_filter(&r->out, buf_text(text), text->len, &shown) < 0 ||
	    screen_end(&r->out, &shown) < 0 || buf_add(&shown, "\n", 1) < 0)
		return;
	write_output(r, 1, buf_text(&shown), shown.len);
}

static bool
is_claim(const json_t *doc)
{
	json_t *word;
	size_t i;

	json_array_foreach(json_object_get(doc, "reported"), i, word)
	{
		if (!strcmp(json_string_value(word), "error"))
			return true;
	}
	return false;
}

/* Print one part of a message, escaped and on one line. */
static void
print_part(const char *before, const char *text)
{
	own(buf) struct buf shown = BUF_INIT(64 * 1024);

	if (text && *text && line_text_message(&shown, text, SHOWN) == 0)
		fprintf(stderr, "%s%s", before, buf_text(&shown));
}

/* Report truncated output, which must not look complete. */
static void
explain_cut(const json_t *doc, const char *stream, uint64_t max_bytes)
{
	char key[32], size[32];

	snprintf(key, sizeof(key), "%s_truncated", stream);
	if (!json_is_true(json_object_get(doc, key)))
		return;
	quantity_show_bytes(max_bytes, size, sizeof(size));
	fprintf(stderr, "remit: %s was cut at %s (--%s-max)\n", stream, size,
		stream);
}

/* Print denials for people. Programs use JSON. */
static void
show_denials(const json_t *doc)
{
	own(buf) struct buf lines = BUF_INIT(64 * 1024);

	if (isatty(2) && denials_show(doc, &lines) == 0)
		fputs(buf_text(&lines), stderr);
}

/* Report files that were not exported. */
static void
explain_skipped(const json_t *doc)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(doc, "artifacts_skipped"), i, row)
	{
		const char *path =
			json_string_value(json_object_get(row, "path"));

		fputs("remit: not exported: ", stderr);
		print_part("", path);
		print_part(*path ? ": " : "",
			   json_string_value(json_object_get(row, "reason")));
		fputc('\n', stderr);
	}
}

static void
explain_changes(const json_t *doc, bool dry_run)
{
	own(buf) struct buf lines = BUF_INIT(1024 * 1024);

	if (changes_show(doc, dry_run || isatty(2), &lines) == 0)
		fputs(buf_text(&lines), stderr);
}

/* Print the keeper's remedy for an exception: a missing package. */
static void
explain_package(const json_t *error)
{
	const char *remedy =
		json_string_value(json_object_get(error, "remedy"));

	if (!remedy)
		return;
	print_part("remit: ", remedy);
	fputc('\n', stderr);
}

/* Errors that the program claims are not repeated in Remit's name. The findings
   of the validator are an exception, since then the program has not run. */
void
cli_explain_end(const struct remit_result *res, const struct policy *policy,
		const char *name, const struct run_displays *shown)
{
	static const char *const quiet[] = { "ok", "error", "exit" };
	const char *status = remit_result_status(res);
	int known = status_find(status);
	json_t *doc = result_view_document(res), *error;

	explain_cut(doc, "stdout", policy->stdout_max_bytes);
	explain_cut(doc, "stderr", policy->stderr_max_bytes);
	show_denials(doc);
	if (shown)
		run_displays_explain(shown, doc);
	explain_skipped(doc);
	explain_changes(doc, policy->commit == COMMIT_NEVER);
	error = json_object_get(doc, "error");
	for (size_t i = 0; i < ARRAY_LEN(quiet); i++)
		if (!strcmp(status, quiet[i])) {
			explain_package(error);
			return;
		}
	if (is_claim(doc) && strcmp(status, "rejected") != 0)
		error = NULL;
	fprintf(stderr, "remit: %s", status);
	if (json_is_object(error)) {
		print_part(": ",
			   json_string_value(json_object_get(error, "where")));
		if (!strcmp(status, "rejected"))
			print_part(": ", json_string_value(json_object_get(
						 error, "name")));
		print_part(": ",
			   json_string_value(json_object_get(error, "value")));
		print_part("\n       ",
			   json_string_value(json_object_get(error, "remedy")));
	} else if (known >= 0) {
		fprintf(stderr, ": %s", statuses[known].sentence);
	}
	if (!strcmp(status, "killed"))
		fprintf(stderr, " (signal %d)",
			(int)json_integer_value(
				json_object_get(doc, "signal")));
	fputc('\n', stderr);
	if (!strcmp(status, "rejected"))
		findings_show(stderr, name ? name : "main.py",
			      json_object_get(error, "findings"));
}

static int
watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void
show_end(struct run *r)
{
	own(buf) struct buf rest = BUF_INIT(1024);

	if (screen_end(&r->out, &rest) == 0)
		write_output(r, 1, buf_text(&rest), rest.len);
	buf_free(&rest);
	if (screen_end(&r->err, &rest) == 0)
		write_output(r, 2, buf_text(&rest), rest.len);
}

static bool
is_from_stdin(const struct run_options *o)
{
	return o->script && !strcmp(o->script, "-");
}

static int
make_job(struct run *r, struct remit_job *job, struct remit_error *err)
{
	const struct run_options *o = &r->options;

	r->out.raw = o->raw || !isatty(1);
	r->err.raw = o->raw || !isatty(2);
	job->code = buf_text(&r->code);
	job->code_len = r->code.len;
	job->name = program_name(o->script);
	job->argv = (const char *const *)o->args;
	job->files = o->files;
	job->file_count = o->file_count;
	job->artifacts_dir = o->artifacts;
	job->user = r;
	job->interrupt_fd = r->signals;
	job->tools = o->tools.tools;
	job->tool_count = o->tools.count;
	job->on_question = on_question;
	job->on_display = on_display;
	run_displays_reset(&r->displays);
	job->on_progress = on_progress;
	if (!o->json)
		job->on_output = on_output;
	return is_from_stdin(o) ? 0 : run_input_rewind(&r->input, job, err);
}

/* Open everything that the first run needs. */
static int
run_prepare(struct run *r, const struct policy *policy, struct remit_error *err)
{
	const struct run_options *o = &r->options;

	if (tool_options_list(&r->options.tools, err) < 0 ||
	    (o->ask && prompt_open(&r->prompt, &o->flags, err) < 0))
		return -1;
	if (o->displays && policy->display_mode == DISPLAYS_NONE)
		return fail(err, REMIT_E_INPUT,
			    "--displays %s: the policy has display_mode none, "
			    "so there is nothing to write",
			    o->displays);
	if (program_read(&r->code, o->code, o->script, err) < 0 ||
	    (o->displays &&
	     run_displays_open(&r->displays, o->displays, err) < 0))
		return -1;
	if (o->ask && !is_from_stdin(o) &&
	    run_input_open(&r->input, policy->stdin_bytes, err) < 0)
		return -1;
	r->signals = r->prompt.signals = watch_signals();
	r->audit.path = o->audit;
	return audit_open(&r->audit, err);
}

/* Remove exported files, since the next run could not replace them. */
static void
remove_artifacts(const json_t *doc)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(doc, "artifacts"), i, row)
	{
		unlink(json_string_value(json_object_get(row, "host_path")));
	}
}

/* Print the end of a run for people. Returns true to run again. */
static bool
show_result(struct run *r, const struct remit_result *res,
	    struct policy *policy)
{
	const json_t *doc = result_view_document(res);

	show_end(r);
	show_value(r);
	cli_explain_end(res, policy, program_name(r->options.script),
			&r->displays);
	if (!r->options.ask)
		return false;
	if (!prompt_for_denials(&r->prompt, doc, policy))
		return false;
	remove_artifacts(doc);
	return true;
}

/* Returns the exit code, or -1. */
static int
run_once(struct run *r, struct policy *policy, bool *again,
	 struct remit_error *err)
{
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *res = NULL;
	struct audit_run done = { .job = &job };
	/* The keeper is this program, too. */
	struct remit_options opt = {
		.command_path = "/proc/self/exe",
		.private_keeper = cli_needs_private(policy),
	};
	struct remit *remit = NULL;
	own_mem char *text = NULL;
	json_t *doc = policy_to_json(policy);
	int exit_code = -1, failed;

	*again = false;
	text = doc ? json_dumps(doc, JSON_REAL_PRECISION(15)) : NULL;
	json_decref(doc);
	if (!text)
		return fail_memory(err, "policy");
	if (make_job(r, &job, err) < 0)
		return -1;
	job.policy_json = text;
	if (remit_open(&remit, &opt, err) < 0)
		return -1;
	failed = remit_run(remit, &job, &res, err);
	clear_progress(r);
	done.res = res;
	if (!failed && audit_add(&r->audit, &done, err) == 0) {
		exit_code = remit_result_exit_code(res);
		if (r->options.json)
			puts(remit_result_json(res));
		else
			*again = show_result(r, res, policy);
	}
	remit_result_free(res);
	remit_close(remit);
	return exit_code;
}

static int
run_perform(struct run *r, struct policy *policy, struct remit_error *err)
{
	bool again = true;
	int exit_code = 0;

	if (run_prepare(r, policy, err) < 0)
		return -1;
	/* With a list of hosts, ask for hosts that are not on it. */
	if (r->options.ask && policy->network_allow.count)
		policy->network_ask = true;
	cli_warn(policy);
	while (again && exit_code >= 0)
		exit_code = run_once(r, policy, &again, err);
	return exit_code;
}

static void
run_free(struct run *r)
{
	run_options_free(&r->options);
	audit_free(&r->audit);
	prompt_free(&r->prompt);
	run_input_free(&r->input);
	run_displays_free(&r->displays);
	buf_free(&r->code);
	own_fd_close(&r->signals);
}

static int
run_command(int argc, char **argv)
{
	own(run) struct run r = {
		.audit = AUDIT_INIT,
		.prompt = PROMPT_INIT,
		.displays = RUN_DISPLAYS_INIT,
		.code = BUF_INIT(PROGRAM_MAX),
		.signals = -1,
	};
	own(policy) struct policy policy = { 0 };
	struct remit_error err;
	int exit_code = -1;

	if (cli_parse_program(&command_run, &r.options, argc, argv,
			      &r.options.args, &err) == 0 &&
	    run_options_program(&r.options, &err) == 0 &&
	    cli_policy(&r.options.flags, &policy, &err) == 0 &&
	    run_options_apply(&r.options, &policy, &err) == 0 &&
	    run_options_check(&r.options, &policy, &err) == 0)
		exit_code = run_perform(&r, &policy, &err);
	if (exit_code < 0)
		return cli_error(&err);
	if (fflush(stdout) == EOF)
		return 141;
	return exit_code;
}

const struct command command_run = {
	.options = {
		.name = "run",
		.usage = "[OPTION...] FILE|-|-c CODE [ARGUMENT...]",
		.summary = "run a program in a fresh jail",
		.notes =
			"Options come before the program. Everything after the program is passed to it, even --help.",
		.tables = {
			{ .rows = run_option_rows },
			{ .rows = tool_option_rows,
			  OPTION_AT(struct run_options, tools) },
			FLAGS_TABLE(struct run_options, flags),
		},
	},
	.run = run_command,
};
