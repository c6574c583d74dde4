/*
 * repl: runs cells in a session, as the user types them at a terminal.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/prompt/prompt.h"
#include "cli/repl/lines.h"
#include "cli/report/screen.h"
#include "cli/tool_command.h"
#include "client/result_view.h"

#define CELL_MAX ((size_t)1024 * 1024)

struct repl {
	struct flags flags;
	bool raw;
	const char *artifacts;
	struct tool_options tools;
	struct policy policy;
	struct remit *remit;
	struct remit_session *session;
	struct repl_lines lines;
	struct screen out, err;
	struct buf cell; /* the lines of the cell so far */
	bool incomplete;
	bool leaves;
	int exit_code;
};

/* The session that Ctrl-C interrupts. */
static struct remit_session *volatile running;

static void
on_interrupt(int number)
{
	(void)number;
	if (running)
		remit_session_interrupt(running);
	else
		_exit(130); /* the keeper ends the session */
}

static void
write_shown(struct screen *screen, int fd, const char *bytes, size_t len)
{
	own(buf) struct buf shown = BUF_INIT(8 * len + 512);

	if (screen_filter(screen, bytes, len, &shown) == 0 &&
	    write(fd, buf_text(&shown), shown.len) < 0)
		_exit(141); /* as if by SIGPIPE: the output is closed */
}

static void
on_output(void *user, enum remit_stream stream, const char *bytes, size_t len)
{
	struct repl *r = user;

	write_shown(stream == REMIT_STDOUT ? &r->out : &r->err, (int)stream,
		    bytes, len);
}

/* Show only the text form: this is a terminal. */
static void
on_display(void *user, const struct remit_display *d)
{
	struct repl *r = user;

	for (size_t i = 0; i < d->part_count; i++) {
		const struct remit_part *p = &d->parts[i];

		if (strcmp(p->mime, "text/plain") != 0)
			continue;
		write_shown(&r->out, 1, p->bytes, p->len);
		write_shown(&r->out, 1, "\n", 1);
	}
}

static enum remit_answer
on_question(void *user, const struct remit_question *q)
{
	(void)user;
	return question_prompt(q, NULL, -1);
}

/* ---- cells ---- */

static json_t *
session_of(const struct remit_result *res, json_t **doc)
{
	*doc = json_incref(result_view_document(res));
	return json_object_get(*doc, "session");
}

static bool
has_text(const json_t *row, const char *key, const char *word)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text && !strcmp(text, word);
}

/* The jail of the session has ended. Open a fresh one, so that the user can
   continue. */
static int
reset_ended_session(struct repl *r, struct remit_error *err)
{
	fprintf(stderr, "remit: the session has ended: variables and files are "
			"lost. Continuing in a fresh jail.\n");
	return remit_session_reset(r->session, err);
}

static int
handle_result(struct repl *r, const struct remit_result *res,
	      struct remit_error *err)
{
	json_auto_t *doc = NULL;
	const json_t *session = session_of(res, &doc);

	r->incomplete = json_is_true(json_object_get(session, "incomplete"));
	if (r->incomplete)
		return 0;
	r->cell.len = 0;
	cli_explain_end(res, &r->policy, NULL, NULL);
	if (strcmp(remit_result_status(res), "ok") != 0)
		r->exit_code = remit_result_exit_code(res);
	if (!strcmp(remit_result_status(res), "exit")) {
		r->leaves = true;
		return 0;
	}
	return has_text(session, "state", "ended") ? reset_ended_session(r, err)
						   : 0;
}

static int
run_cell(struct repl *r, struct remit_error *err)
{
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *res;
	int failed;

	job.code = buf_text(&r->cell);
	job.code_len = r->cell.len;
	job.interactive = 1;
	job.on_output = on_output;
	job.on_display = on_display;
	job.on_question = on_question;
	job.user = r;
	if (r->lines.terminal)
		job.stdin_fd = 0;
	running = r->session;
	failed = remit_session_run(r->session, &job, &res, err);
	running = NULL;
	if (failed)
		return -1;
	failed = handle_result(r, res, err);
	remit_result_free(res);
	return failed;
}

/* ---- lines ---- */

static int
print_help(struct repl *r, struct remit_error *err)
{
	(void)r;
	(void)err;
	puts("Python, line by line, in a jail. Ctrl-C interrupts a cell, "
	     "Ctrl-D exits.\n%reset  start a fresh jail, without variables, "
	     "imports and files\n%help   show this help\n"
	     "Other lines with %, ! or ? are notebook lines, as in Jupyter.");
	fflush(stdout);
	return 0;
}

static int
reset_session(struct repl *r, struct remit_error *err)
{
	return remit_session_reset(r->session, err);
}

static const struct {
	const char *name;
	int (*run)(struct repl *r, struct remit_error *err);
} words[] = {
	{ "%reset", reset_session },
	{ "%help", print_help },
};

/* Handle lines such as %reset. Other lines that begin with "%" are cells. */
static bool
handle_command_word(struct repl *r, int *failed, struct remit_error *err)
{
	const char *line = buf_text(&r->cell);

	if (line[0] != '%' || r->incomplete)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(line, words[i].name)) {
			*failed = words[i].run(r, err);
			r->cell.len = 0;
			return true;
		}
	return false;
}

static int
handle_line(struct repl *r, const struct buf *line, struct remit_error *err)
{
	int failed = 0;

	if ((r->incomplete && buf_add(&r->cell, "\n", 1) < 0) ||
	    buf_add(&r->cell, buf_text(line), line->len) < 0) {
		fprintf(stderr, "remit: the cell is too long (limit 1 MiB)\n");
		r->cell.len = 0;
		r->incomplete = false;
		return 0;
	}
	if (handle_command_word(r, &failed, err))
		return failed;
	return run_cell(r, err);
}

static int
read_cells(struct repl *r, struct remit_error *err)
{
	while (!r->leaves) {
		own(buf) struct buf line = BUF_INIT(LINE_EDIT_BYTES);
		const char *prompt = r->incomplete ? "... " : ">>> ";

		switch (repl_lines_read(&r->lines, prompt, &line)) {
		case LINE_DONE:
			if (handle_line(r, &line, err) < 0)
				return -1;
			break;
		case LINE_STOPPED:
			puts("KeyboardInterrupt");
			fflush(stdout);
			r->cell.len = 0;
			r->incomplete = false;
			break;
		case LINE_MORE:
		case LINE_END:
			/* At the end of a file, a block is complete without an
			   empty line. */
			if (r->incomplete && buf_add(&r->cell, "\n", 1) == 0)
				return run_cell(r, err);
			return 0;
		}
	}
	return 0;
}

/* ---- the command ---- */

static int
repl_settle(struct repl *r, struct remit_error *err)
{
	if (cli_policy(&r->flags, &r->policy, err) < 0 ||
	    tool_options_list(&r->tools, err) < 0)
		return -1;
	if (!r->artifacts != !r->policy.artifact_export_paths.count)
		return fail(
			err, REMIT_E_INPUT,
			"--export (the files that may leave the jail) and "
			"--artifacts (the folder for them) need each other");
	return 0;
}

static int
open_session(struct repl *r, struct remit_error *err)
{
	struct remit_options opt = {
		.command_path = "/proc/self/exe",
		.private_keeper = cli_needs_private(&r->policy),
	};
	struct remit_session_options how = { .artifacts_dir = r->artifacts };
	json_auto_t *doc = policy_to_json(&r->policy);
	own_mem char *text =
		doc ? json_dumps(doc, JSON_REAL_PRECISION(15)) : NULL;

	if (!text)
		return fail_memory(err, "policy");
	how.policy_json = text;
	how.tools = r->tools.tools;
	how.tool_count = r->tools.count;
	if (remit_open(&r->remit, &opt, err) < 0)
		return -1;
	return remit_session_open(r->remit, &how, &r->session, err);
}

static int
close_session(struct repl *r, struct remit_error *err)
{
	struct remit_session *s = r->session;
	struct remit_result *res;
	size_t len;
	const char *text;

	r->session = NULL;
	if (remit_session_close(s, &res, err) < 0)
		return -1;
	/* Show what atexit handlers have printed. */
	text = remit_result_output(res, REMIT_STDOUT, &len);
	write_shown(&r->out, 1, text, len);
	text = remit_result_output(res, REMIT_STDERR, &len);
	write_shown(&r->err, 2, text, len);
	cli_explain_end(res, &r->policy, NULL, NULL);
	remit_result_free(res);
	return 0;
}

static int
repl_perform(struct repl *r, struct remit_error *err)
{
	struct sigaction interrupt = { .sa_handler = on_interrupt };

	cli_warn(&r->policy);
	if (open_session(r, err) < 0)
		return -1;
	r->out.raw = r->raw || !isatty(1);
	r->err.raw = r->raw || !isatty(2);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGINT, &interrupt, NULL);
	repl_lines_open(&r->lines);
	if (r->lines.terminal) {
		printf("remit %s: Python in a jail of the tier %s. Ctrl-C "
		       "interrupts, Ctrl-D exits, %%help shows more.\n",
		       remit_version(), tiers[r->policy.tier].name);
		fflush(stdout);
	}
	if (read_cells(r, err) < 0)
		return -1;
	return close_session(r, err);
}

static void
repl_free(struct repl *r)
{
	repl_lines_free(&r->lines);
	remit_session_drop(r->session);
	remit_close(r->remit);
	buf_free(&r->cell);
	tool_options_free(&r->tools);
	flags_free(&r->flags);
	policy_free(&r->policy);
}

static int
repl_command(int argc, char **argv)
{
	own(repl) struct repl r = {
		.lines = REPL_LINES_INIT,
		.cell = BUF_INIT(CELL_MAX),
	};
	struct remit_error err;

	if (cli_parse(&command_repl, &r, argc, argv, &err) < 0 ||
	    repl_settle(&r, &err) < 0 || repl_perform(&r, &err) < 0)
		return cli_error(&err);
	/* At a terminal, Ctrl-D exits with 0: the user has seen all errors. */
	return r.lines.terminal && !r.leaves ? 0 : r.exit_code;
}

static const struct option repl_rows[] = {
	{
		.name = "artifacts",
		.kind = OPTION_PATH,
		.value = "DIR",
		.example = "./out",
		.help = "write the files that --export names into this folder "
			"when the session ends",
		OPTION_AT(struct repl, artifacts),
	},
	{
		.name = "raw",
		.kind = OPTION_FLAG,
		.help = "pass terminal control codes through",
		OPTION_AT(struct repl, raw),
	},
	{ 0 },
};

const struct command command_repl = {
	.options = {
		.name = "repl",
		.usage = "[OPTION...]",
		.summary = "run Python line by line, in one jail that keeps its variables",
		.tables = {
			{ .rows = repl_rows },
			{ .rows = tool_option_rows,
			  OPTION_AT(struct repl, tools),
			  .man = "All cells may call the tools of *--tool*. The options are described at *remit run*." },
			FLAGS_TABLE(struct repl, flags),
		},
	},
	.run = repl_command,
};
