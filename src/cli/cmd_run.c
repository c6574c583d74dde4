/*
 * run: a program in a fresh jail, its output passed through, its result as
 * exit code or as one JSON object.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "audit.h"
#include "changes.h"
#include "cli.h"
#include "denials.h"
#include "path.h"
#include "quantity.h"
#include "run_options.h"
#include "screen.h"
#include "status.h"

#define CODE_MAX ((size_t)64 * 1024 * 1024)

struct run {
	struct run_options options;
	struct audit audit;
	struct screen out, err;
	bool broken; /* nobody reads our output any more */
};

static int
read_stdin(struct buf *b, struct remit_error *err)
{
	char piece[64 * 1024];
	ssize_t n;

	while ((n = read(0, piece, sizeof(piece))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || buf_add(b, piece, (size_t)n) < 0)
			return fail_sys(err, REMIT_E_INPUT,
					"standard input as the program");
	}
	return 0;
}

static int
read_code(const struct run_options *o, struct buf *b, struct remit_error *err)
{
	if (o->code) {
		if (buf_add(b, o->code, strlen(o->code)) < 0)
			return fail_sys(err, REMIT_E_INPUT, "-c");
		return 0;
	}
	if (!strcmp(o->script, "-"))
		return read_stdin(b, err);
	return path_read_file(b, o->script, err);
}

static void
write_all(struct run *r, int fd, const char *bytes, size_t len)
{
	while (len && !r->broken) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r->broken = true;
			return;
		}
		bytes += n;
		len -= (size_t)n;
	}
}

static void
on_output(void *user, enum remit_stream stream, const char *bytes, size_t len)
{
	struct run *r = user;
	own(buf) struct buf shown = BUF_INIT(8 * len + 512);

	if (screen_filter(stream == REMIT_STDOUT ? &r->out : &r->err, bytes,
			  len, &shown) < 0)
		return;
	write_all(r, (int)stream, buf_text(&shown), shown.len);
	if (r->broken)
		_exit(141); /* as if by SIGPIPE; the keeper ends the run */
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

/* One part of a message, on one line and harmless to a terminal. */
static void
say(const char *before, const char *text)
{
	own(buf) struct buf shown = BUF_INIT(64 * 1024);

	if (text && *text && screen_add_line(&shown, text) == 0)
		fprintf(stderr, "%s%s", before, buf_text(&shown));
}

/* Output that was cut off must not look whole. */
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

/* For people: whoever reads this by a program asks for JSON. */
static void
show_denials(const json_t *doc)
{
	own(buf) struct buf lines = BUF_INIT(64 * 1024);

	if (isatty(2) && denials_show(doc, &lines) == 0)
		fputs(buf_text(&lines), stderr);
}

/* A file that did not come must not be missed without a word. */
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
		say("", path);
		say(*path ? ": " : "",
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

/* What the program's own output does not say. A claim of the program is not
   ours to say, but for the validator's: then nothing of it has run. */
static void
explain_end(const struct remit_result *res, const struct policy *policy)
{
	static const char *const quiet[] = { "ok", "error", "exit" };
	const char *status = remit_result_status(res);
	const char *text = remit_result_json(res);
	int known = status_find(status);
	json_t *doc, *error;

	doc = text ? json_loads(text, 0, NULL) : NULL;
	explain_cut(doc, "stdout", policy->stdout_max_bytes);
	explain_cut(doc, "stderr", policy->stderr_max_bytes);
	show_denials(doc);
	explain_skipped(doc);
	explain_changes(doc, policy->commit == COMMIT_NEVER);
	for (size_t i = 0; i < ARRAY_LEN(quiet); i++)
		if (!strcmp(status, quiet[i])) {
			json_decref(doc);
			return;
		}
	error = json_object_get(doc, "error");
	if (is_claim(doc) && strcmp(status, "rejected") != 0)
		error = NULL;
	fprintf(stderr, "remit: %s", status);
	if (json_is_object(error)) {
		say(": ", json_string_value(json_object_get(error, "where")));
		if (!strcmp(status, "rejected"))
			say(": ",
			    json_string_value(json_object_get(error, "name")));
		say(": ", json_string_value(json_object_get(error, "value")));
		say("\n       ",
		    json_string_value(json_object_get(error, "remedy")));
	} else if (known >= 0) {
		fprintf(stderr, ": %s", statuses[known].sentence);
	}
	if (!strcmp(status, "killed"))
		fprintf(stderr, " (signal %d)",
			(int)json_integer_value(
				json_object_get(doc, "signal")));
	fputc('\n', stderr);
	json_decref(doc);
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

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void
show_end(struct run *r)
{
	own(buf) struct buf rest = BUF_INIT(1024);

	if (screen_end(&r->out, &rest) == 0)
		write_all(r, 1, buf_text(&rest), rest.len);
	buf_free(&rest);
	if (screen_end(&r->err, &rest) == 0)
		write_all(r, 2, buf_text(&rest), rest.len);
}

static void
make_job(struct run *r, struct remit_job *job, const struct buf *code)
{
	const struct run_options *o = &r->options;
	bool from_stdin = o->script && !strcmp(o->script, "-");

	r->out.raw = o->raw || !isatty(1);
	r->err.raw = o->raw || !isatty(2);
	job->code = buf_text(code);
	job->code_len = code->len;
	if (o->script && !from_stdin)
		job->name = base_name(o->script);
	job->argv = (const char *const *)o->args;
	job->files = o->files;
	job->file_count = o->file_count;
	job->artifacts_dir = o->artifacts;
	job->user = r;
	if (!from_stdin)
		job->stdin_fd = 0;
	if (!o->json)
		job->on_output = on_output;
}

static int
perform(struct run *r, const struct policy *policy, struct remit_error *err)
{
	own(buf) struct buf code = BUF_INIT(CODE_MAX);
	own_fd int signals = watch_signals();
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *res = NULL;
	/* This program is the keeper as well. */
	struct remit_options opt = {
		.command_path = "/proc/self/exe",
		.private_keeper = cli_needs_private(policy),
	};
	struct remit *remit = NULL;
	own_mem char *text = NULL;
	json_t *doc = policy_to_json(policy);
	int exit_code = -1;

	text = doc ? json_dumps(doc, JSON_REAL_PRECISION(15)) : NULL;
	json_decref(doc);
	if (!text)
		return fail_sys(err, REMIT_E_MEMORY, "policy");
	if (read_code(&r->options, &code, err) < 0)
		return -1;
	make_job(r, &job, &code);
	job.policy_json = text;
	job.interrupt_fd = signals;
	cli_warn(policy);
	r->audit.path = r->options.audit;
	if (audit_open(&r->audit, err) < 0 || remit_open(&remit, &opt, err) < 0)
		return -1;
	if (remit_run(remit, &job, &res, err) == 0 &&
	    audit_add(&r->audit, &job, res, err) == 0) {
		exit_code = remit_result_exit_code(res);
		if (r->options.json) {
			puts(remit_result_json(res));
		} else {
			show_end(r);
			explain_end(res, policy);
		}
	}
	remit_result_free(res);
	remit_close(remit);
	return exit_code;
}

static int
run(int argc, char **argv)
{
	struct run r = { .audit = AUDIT_INIT };
	own(policy) struct policy policy = { 0 };
	struct remit_error err;
	int exit_code = -1;

	if (run_options_parse(&r.options, argc, argv, &err) == 0 &&
	    cli_policy(&r.options.flags, &policy, &err) == 0 &&
	    run_options_apply(&r.options, &policy, &err) == 0 &&
	    run_options_check(&r.options, &policy, &err) == 0)
		exit_code = perform(&r, &policy, &err);
	run_options_free(&r.options);
	audit_free(&r.audit);
	if (exit_code < 0)
		return cli_error(&err);
	if (fflush(stdout) == EOF)
		return 141;
	return exit_code;
}

const struct command command_run = {
	.name = "run",
	.usage = "[OPTION...] FILE|-|-c CODE [ARGUMENT...]",
	.summary = "run a program in a fresh jail",
	.options = "  --json              print the result as one JSON object\n"
		   "  --raw               pass terminal control codes through\n"
		   "  --file LOCAL[:PATH] put a copy of a file into the "
		   "workspace, at PATH\n"
		   "  --artifacts DIR     write the files that --export names "
		   "into a folder\n"
		   "  --dry-run           write no changes to the host, only "
		   "list them\n"
		   "  -c CODE             the program itself\n"
		   "  --audit FILE        append a line about the run to FILE\n"
		   "\n"
		   "Options come before the program; all behind it is its "
		   "arguments.\n",
	.takes_policy = true,
	.run = run,
};
