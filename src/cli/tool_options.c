#include "cli/tool_options.h"

#include <stdio.h>
#include <string.h>

#include "base/file/path.h"

#define SCHEMA_BYTES (256 * 1024)

static struct tool_command *
find_command(const struct tool_options *o, const char *name)
{
	for (size_t i = 0; i < o->count; i++)
		if (!strcmp(o->commands[i].name, name))
			return &o->commands[i];
	return NULL;
}

/* The name before the "=" in *name, and the text after it; NULL with an error
   if there is not both. */
static const char *
split(const struct option *row, const char *text, char **name,
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
add_tool(void *target, const struct option *row, const char *text,
	 struct remit_error *err)
{
	struct tool_options *o = target;
	own_mem char *name = NULL;
	const char *command = split(row, text, &name, err);
	struct tool_command *all;

	if (!command)
		return -1;
	all = reallocarray(o->commands, o->count + 1, sizeof(*all));
	if (!all)
		return fail_sys(err, REMIT_E_MEMORY, "--tool");
	o->commands = all;
	all[o->count++] = (struct tool_command){
		.name = take_ptr(&name),
		.command = command,
	};
	return 0;
}

/* The tool that the text names, and the text after its name in *value. */
static struct tool_command *
named_tool(const struct tool_options *o, const struct option *row,
	   const char *text, const char **value, struct remit_error *err)
{
	own_mem char *name = NULL;
	struct tool_command *c;

	*value = split(row, text, &name, err);
	if (!*value)
		return NULL;
	c = find_command(o, name);
	if (!c)
		fail(err, REMIT_E_INPUT,
		     "--%s: there is no --tool %.60s before it", row->name,
		     name);
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

/* The place of the text in the choices of the row. */
static int
choose(const struct option *row, const char *value, struct remit_error *err)
{
	for (int i = 0; row->choices[i]; i++)
		if (!strcmp(row->choices[i], value))
			return i;
	return fail(err, REMIT_E_INPUT, "--%s: there is no \"%.40s\"; write %s",
		    row->name, value, row->value);
}

static int
set_result(void *target, const struct option *row, const char *text,
	   struct remit_error *err)
{
	const char *value;
	struct tool_command *c = named_tool(target, row, text, &value, err);
	int chosen = c ? choose(row, value, err) : -1;

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
	int chosen = c ? choose(row, value, err) : -1;

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
		.detail =
			"The code can also use _call_tool()_. A shell runs the "
			"command once for each call, with your rights, several "
			"calls at "
			"the same time, and ends it with the run. Its standard "
			"input is the arguments as JSON, or the text if the "
			"only "
			"argument is called _text_; its output is the result. "
			"An exit code other than 0 is a _ToolError_.",
		.set = add_tool,
	},
	{
		.name = "tool-help",
		.kind = OPTION_CALL,
		.value = "NAME=TEXT",
		.help = "what the tool does, for the model",
		.detail = "*remit instructions* prints the text, and it is the "
			  "docstring of the function.",
		.set = set_help,
	},
	{
		.name = "tool-schema",
		.kind = OPTION_CALL,
		.value = "NAME=FILE",
		.help = "a JSON Schema for the arguments of the tool",
		.detail =
			"The arguments are checked before the tool is called. "
			"A schema with a keyword that Remit does not check "
			"is refused. Without a schema all arguments are passed "
			"on.",
		.set = set_schema,
	},
	{
		.name = "tool-result",
		.kind = OPTION_CALL,
		.value = "NAME=text|json",
		.help = "what the tool prints: text unless you choose json",
		.choices = results,
		.set = set_result,
	},
	{
		.name = "tool-approval",
		.kind = OPTION_CALL,
		.value = "NAME=never|first|always",
		.help = "when to ask at the terminal before the tool is called",
		.detail = "The answers are *o* once, *r* for this run, and *n* "
			  "no. Without a terminal the answer is no.",
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
		return fail_sys(err, REMIT_E_MEMORY, "--tool");
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
