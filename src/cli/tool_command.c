#include "cli/tool_command.h"

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/file/path.h"
#include "base/text.h"

/* The largest result that a policy can allow (tool_bytes). */
#define OUTPUT_MAX ((size_t)64 * 1024 * 1024)

/* One call, with its process. A thread serves it. */
struct tool_process {
	const struct tool_command *tool;
	struct remit_tool_call *call;
	char *input;
	size_t input_len, written;
	pid_t pid;
	int in, out;
	struct buf output;
	bool too_long;
};

static void
tool_crew_open(struct tool_crew *crew)
{
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->idle, NULL);
	crew->running = 0;
}

/* Waits until no command runs, and frees the crew. After a run has ended no
   command is left, so this returns at once. */
static void
tool_crew_free(struct tool_crew *crew)
{
	pthread_mutex_lock(&crew->lock);
	while (crew->running)
		pthread_cond_wait(&crew->idle, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
	pthread_mutex_destroy(&crew->lock);
	pthread_cond_destroy(&crew->idle);
}

static void
tool_process_free(struct tool_process *d)
{
	own_fd_close(&d->in);
	own_fd_close(&d->out);
	buf_free(&d->output);
	free(d->input);
	free(d);
}

/* ---- the command ---- */

/* Runs between fork and exec. This process has threads, so it may only make
   system calls. */
static void
exec_command(const char *command, int in, int out, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* A separate process group can be killed as a whole, and does not
	   receive the signals of the terminal. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && dup2(in, 0) == 0 && dup2(out, 1) == 1)
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static int
start_command(struct tool_process *d)
{
	int in[2], out[2];
	pid_t parent = getpid();

	if (pipe2(in, O_CLOEXEC) < 0)
		return -1;
	if (pipe2(out, O_CLOEXEC) < 0) {
		close(in[0]);
		close(in[1]);
		return -1;
	}
	d->pid = fork();
	if (d->pid == 0)
		exec_command(d->tool->command, in[0], out[1], parent);
	/* The child does the same, but it may be killed before it gets there.
	 */
	if (d->pid > 0)
		setpgid(d->pid, d->pid);
	close(in[0]);
	close(out[1]);
	d->in = in[1];
	d->out = out[0];
	fcntl(d->in, F_SETFL, O_NONBLOCK);
	return d->pid < 0 ? -1 : 0;
}

static void
write_input(struct tool_process *d)
{
	ssize_t n =
		write(d->in, d->input + d->written, d->input_len - d->written);

	if (n > 0)
		d->written += (size_t)n;
	/* The command need not read its input. */
	if (d->written < d->input_len && (n >= 0 || errno == EAGAIN))
		return;
	own_fd_close(&d->in);
	d->in = -1;
}

static void
read_output(struct tool_process *d)
{
	char piece[64 * 1024];
	ssize_t n = read(d->out, piece, sizeof(piece));

	if (n > 0) {
		d->too_long = buf_add(&d->output, piece, (size_t)n) < 0;
		return;
	}
	own_fd_close(&d->out);
	d->out = -1;
}

/* Feed the command and read its output, until it closes its output or the run
   has ended. */
static void
pump_pipes(struct tool_process *d)
{
	if (!d->input_len)
		write_input(d);
	while (d->out >= 0 && !d->too_long) {
		struct pollfd fds[] = {
			{ .fd = remit_tool_call_over_fd(d->call),
			  .events = POLLIN },
			{ .fd = d->in, .events = POLLOUT },
			{ .fd = d->out, .events = POLLIN },
		};

		if (poll(fds, ARRAY_LEN(fds), -1) < 0)
			continue;
		if (fds[0].revents)
			return;
		if (fds[1].revents)
			write_input(d);
		if (fds[2].revents)
			read_output(d);
	}
}

/* Returns false if the run has ended first. The command may close its output
   long before it exits, and only the exit is the answer. */
static bool
wait_for_exit(struct tool_process *d, int *status)
{
	while (waitpid(d->pid, status, WNOHANG) == 0) {
		struct pollfd over = {
			.fd = remit_tool_call_over_fd(d->call),
			.events = POLLIN,
		};

		if (d->out >= 0 || poll(&over, 1, 5) > 0)
			return false;
	}
	return true;
}

/* ---- the answer ---- */

static void
reply_text(struct tool_process *d)
{
	size_t len = d->output.len;
	const char *text = buf_text(&d->output);
	own_mem char *json = NULL;
	json_t *value;

	if (len && text[len - 1] == '\n')
		len--;
	if (text_valid_prefix(text, len) != len) {
		remit_tool_fail(d->call, "the command's output is not UTF-8");
		return;
	}
	value = json_stringn(text, len);
	json = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
	json_decref(value);
	if (json)
		remit_tool_reply(d->call, json, strlen(json));
	else
		remit_tool_fail(d->call, "no memory");
}

static void
reply_outcome(struct tool_process *d, bool ended, int status)
{
	char why[80];

	if (d->too_long)
		remit_tool_fail(d->call, "the command wrote more than 64 MiB");
	else if (!ended)
		remit_tool_fail(d->call, "the run has ended");
	else if (WIFSIGNALED(status)) {
		snprintf(why, sizeof(why),
			 "the command was killed by signal %d",
			 WTERMSIG(status));
		remit_tool_fail(d->call, why);
	} else if (WEXITSTATUS(status)) {
		snprintf(why, sizeof(why), "the command exited with code %d",
			 WEXITSTATUS(status));
		remit_tool_fail(d->call, why);
	} else if (d->tool->is_json) {
		remit_tool_reply(d->call, buf_text(&d->output), d->output.len);
	} else {
		reply_text(d);
	}
}

static void *
run_call(void *arg)
{
	struct tool_process *d = arg;
	struct tool_crew *crew = d->tool->crew;
	int status = 0;
	bool ended = false;

	if (start_command(d) < 0) {
		remit_tool_fail(d->call, "the command could not be started");
	} else {
		pump_pipes(d);
		ended = !d->too_long && wait_for_exit(d, &status);
		/* Kills the children that it left, and the command itself if it
		   still runs. */
		kill(-d->pid, SIGKILL);
		if (!ended)
			waitpid(d->pid, NULL, 0);
		reply_outcome(d, ended, status);
	}
	tool_process_free(d);
	pthread_mutex_lock(&crew->lock);
	crew->running--;
	pthread_cond_signal(&crew->idle);
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

/* The input is the value of `text` if that is the only argument, else the
   arguments as JSON. */
static int
set_input(struct tool_process *d, const char *arguments, size_t len)
{
	json_auto_t *doc = json_loadb(arguments, len, JSON_ALLOW_NUL, NULL);
	const json_t *text = json_object_get(doc, "text");

	if (json_object_size(doc) == 1 && json_is_string(text)) {
		arguments = json_string_value(text);
		len = json_string_length(text);
	}
	d->input = malloc(len + 1);
	if (!d->input)
		return -1;
	memcpy(d->input, arguments, len);
	d->input_len = len;
	return 0;
}

/* The callback of a struct remit_tool; `user` is a struct tool_command. */
static void
tool_command_call(void *user, struct remit_tool_call *call,
		  const char *arguments, size_t len)
{
	const struct tool_command *tool = user;
	struct tool_process *d = calloc(1, sizeof(*d));
	pthread_t thread;

	if (!d) {
		remit_tool_fail(call, "no memory");
		return;
	}
	*d = (struct tool_process){
		.tool = tool,
		.call = call,
		.in = -1,
		.out = -1,
		.output = BUF_INIT(OUTPUT_MAX),
	};
	pthread_mutex_lock(&tool->crew->lock);
	tool->crew->running++;
	pthread_mutex_unlock(&tool->crew->lock);
	if (set_input(d, arguments, len) == 0 &&
	    pthread_create(&thread, NULL, run_call, d) == 0) {
		pthread_detach(thread);
		return;
	}
	pthread_mutex_lock(&tool->crew->lock);
	tool->crew->running--;
	pthread_mutex_unlock(&tool->crew->lock);
	tool_process_free(d);
	remit_tool_fail(call, "no memory");
}

/* ---- from the command line ---- */

#define SCHEMA_BYTES (256 * 1024)

static struct tool_command *
find_command(const struct tool_options *o, const char *name)
{
	for (size_t i = 0; i < o->count; i++)
		if (!strcmp(o->commands[i].name, name))
			return &o->commands[i];
	return NULL;
}

/* Returns the text after the "="; the name before it goes to *name. Returns
   NULL with an error if either is missing. */
static const char *
split_name_value(const struct option *row, const char *text, char **name,
		 struct remit_error *err)
{
	const char *equals = strchr(text, '=');

	if (!equals || equals == text || !equals[1]) {
		fail(err, REMIT_E_INPUT, "--%s: write %s", row->name,
		     row->value);
		return NULL;
	}
	*name = strndup(text, (size_t)(equals - text));
	if (!*name) {
		fail_sys(err, REMIT_E_MEMORY, "--%s", row->name);
		return NULL;
	}
	return equals + 1;
}

static int
add_tool_option(void *target, const struct option *row, const char *text,
		struct remit_error *err)
{
	struct tool_options *o = target;
	own_mem char *name = NULL;
	const char *command = split_name_value(row, text, &name, err);
	struct tool_command *all;

	if (!command)
		return -1;
	all = reallocarray(o->commands, o->count + 1, sizeof(*all));
	if (!all)
		return fail_memory(err, "--tool");
	o->commands = all;
	all[o->count++] = (struct tool_command){
		.name = take_ptr(&name),
		.command = command,
	};
	return 0;
}

/* Returns the tool that the text names. The text after its name goes to
 *value. */
static struct tool_command *
named_tool(const struct tool_options *o, const struct option *row,
	   const char *text, const char **value, struct remit_error *err)
{
	own_mem char *name = NULL;
	struct tool_command *c;

	*value = split_name_value(row, text, &name, err);
	if (!*value)
		return NULL;
	c = find_command(o, name);
	if (!c)
		fail(err, REMIT_E_INPUT,
		     "--%s: no --tool %.60s comes before it", row->name, name);
	return c;
}

static int
set_help(void *target, const struct option *row, const char *text,
	 struct remit_error *err)
{
	const char *value;
	struct tool_command *c = named_tool(target, row, text, &value, err);

	if (!c)
		return -1;
	c->help = value;
	return 0;
}

static int
set_schema(void *target, const struct option *row, const char *text,
	   struct remit_error *err)
{
	own(buf) struct buf schema = BUF_INIT(SCHEMA_BYTES);
	const char *value;
	struct tool_command *c = named_tool(target, row, text, &value, err);

	if (!c)
		return -1;
	if (path_read_file(&schema, value, err) < 0)
		return fail_within(err, "--%s", row->name);
	free(c->schema);
	c->schema = take_ptr(&schema.data);
	return c->schema ? 0
			 : fail(err, REMIT_E_INPUT, "--%s: %s is empty",
				row->name, value);
}

/* Returns the index of the text in the choices of the row. */
static int
choice_index(const struct option *row, const char *value,
	     struct remit_error *err)
{
	for (int i = 0; row->choices[i]; i++)
		if (!strcmp(row->choices[i], value))
			return i;
	return fail(err, REMIT_E_INPUT,
		    "--%s: \"%.40s\" is not a choice; write %s", row->name,
		    value, row->value);
}

static int
set_result(void *target, const struct option *row, const char *text,
	   struct remit_error *err)
{
	const char *value;
	struct tool_command *c = named_tool(target, row, text, &value, err);
	int chosen = c ? choice_index(row, value, err) : -1;

	if (chosen < 0)
		return -1;
	c->is_json = chosen == 1;
	return 0;
}

static int
set_approval(void *target, const struct option *row, const char *text,
	     struct remit_error *err)
{
	const char *value;
	struct tool_command *c = named_tool(target, row, text, &value, err);
	int chosen = c ? choice_index(row, value, err) : -1;

	if (chosen < 0)
		return -1;
	c->approval = (enum remit_approval)chosen;
	return 0;
}

static const char *const results[] = { "text", "json", NULL };

static const char *const approvals[] = {
	[REMIT_APPROVAL_NEVER] = "never",
	[REMIT_APPROVAL_ALWAYS] = "always",
	[REMIT_APPROVAL_FIRST] = "first",
	NULL,
};

const struct option tool_option_rows[] = {
	{
		.name = "tool",
		.kind = OPTION_CALL,
		.value = "NAME=COMMAND",
		.title = "Tools",
		.help = "let the code call a local command as the function "
			"NAME",
		.detail = "The code can also use _call_tool()_. A shell runs "
			  "the command for each call, with your rights; "
			  "several calls can run at the same time, and all are "
			  "killed when the run ends. The command reads the "
			  "arguments as JSON from standard input, or only the "
			  "text if the only argument is called _text_. Its "
			  "output is the result. If its exit code is not 0, "
			  "the code gets a _ToolError_.",
		.set = add_tool_option,
	},
	{
		.name = "tool-help",
		.kind = OPTION_CALL,
		.value = "NAME=TEXT",
		.help = "describe to the model what the tool does",
		.detail = "*remit instructions* prints this text, and it is "
			  "the docstring of the function.",
		.set = set_help,
	},
	{
		.name = "tool-schema",
		.kind = OPTION_CALL,
		.value = "NAME=FILE",
		.help = "check the arguments of the tool against a JSON Schema",
		.detail = "The arguments are checked before the tool is "
			  "called. Remit refuses a schema with a keyword that "
			  "it does not check. Without a schema all arguments "
			  "are passed on.",
		.set = set_schema,
	},
	{
		.name = "tool-result",
		.kind = OPTION_CALL,
		.value = "NAME=text|json",
		.help = "read the output of the tool as text (default) or as "
			"JSON",
		.choices = results,
		.set = set_result,
	},
	{
		.name = "tool-approval",
		.kind = OPTION_CALL,
		.value = "NAME=never|first|always",
		.help = "when to ask at the terminal before the tool is called",
		.detail = "The answers are *o* (once), *r* (for this run) and "
			  "*n* (no). Without a terminal the answer is no.",
		.choices = approvals,
		.set = set_approval,
	},
	{ 0 },
};

int
tool_options_list(struct tool_options *o, struct remit_error *err)
{
	if (!o->count || o->tools)
		return 0;
	o->tools = calloc(o->count, sizeof(*o->tools));
	if (!o->tools)
		return fail_memory(err, "--tool");
	tool_crew_open(&o->crew);
	for (size_t i = 0; i < o->count; i++) {
		struct tool_command *c = &o->commands[i];

		c->crew = &o->crew;
		o->tools[i] = (struct remit_tool){
			.name = c->name,
			.description = c->help,
			.schema_json = c->schema,
			.approval = c->approval,
			.call = tool_command_call,
			.user = c,
		};
	}
	return 0;
}

void
tool_options_free(struct tool_options *o)
{
	if (o->tools)
		tool_crew_free(&o->crew);
	for (size_t i = 0; i < o->count; i++) {
		free(o->commands[i].name);
		free(o->commands[i].schema);
	}
	free(o->commands);
	free(o->tools);
}
