#include "tool_options.h"

#include <stdio.h>
#include <string.h>

#include "path.h"

#define SCHEMA_BYTES (256 * 1024)

static int
set_help(struct tool_command *c, const char *value, struct remit_error *err)
{
	(void)err;
	c->help = value;
	return 0;
}

static int
set_schema(struct tool_command *c, const char *value, struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT(SCHEMA_BYTES);

	if (path_read_file(&text, value, err) < 0)
		return -1;
	free(c->schema);
	c->schema = take_ptr(&text.data);
	return c->schema ? 0 : fail(err, REMIT_E_INPUT, "%s is empty", value);
}

/* The place of a word in a list, which ends with NULL. */
static int
choose(const char *const *words, const char *value, struct remit_error *err)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], value))
			return i;
	return fail(err, REMIT_E_INPUT, "there is no \"%.40s\"", value);
}

static int
set_result(struct tool_command *c, const char *value, struct remit_error *err)
{
	static const char *const words[] = { "text", "json", NULL };
	int chosen = choose(words, value, err);

	c->is_json = chosen == 1;
	return chosen < 0 ? -1 : 0;
}

static int
set_approval(struct tool_command *c, const char *value, struct remit_error *err)
{
	static const char *const words[] = {
		[REMIT_APPROVAL_NEVER] = "never",
		[REMIT_APPROVAL_ALWAYS] = "always",
		[REMIT_APPROVAL_FIRST] = "first",
		NULL,
	};
	int chosen = choose(words, value, err);

	if (chosen < 0)
		return -1;
	c->approval = (enum remit_approval)chosen;
	return 0;
}

static const struct row {
	const char *flag;
	/* NULL: a new tool */
	int (*set)(struct tool_command *c, const char *value,
		   struct remit_error *err);
} rows[] = {
	{ "--tool", NULL },
	{ "--tool-help", set_help },
	{ "--tool-schema", set_schema },
	{ "--tool-result", set_result },
	{ "--tool-approval", set_approval },
};

static const struct row *
find_row(const char *flag)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcmp(rows[i].flag, flag))
			return &rows[i];
	return NULL;
}

bool
tool_options_has(const char *flag)
{
	return find_row(flag) != NULL;
}

static struct tool_command *
find(const struct tool_options *o, const char *name)
{
	for (size_t i = 0; i < o->count; i++)
		if (!strcmp(o->commands[i].name, name))
			return &o->commands[i];
	return NULL;
}

static int
add(struct tool_options *o, char **name, const char *command,
    struct remit_error *err)
{
	struct tool_command *all =
		reallocarray(o->commands, o->count + 1, sizeof(*all));

	if (!all)
		return fail_sys(err, REMIT_E_MEMORY, "--tool");
	o->commands = all;
	all[o->count++] = (struct tool_command){
		.name = take_ptr(name),
		.command = command,
	};
	return 0;
}

int
tool_options_set(struct tool_options *o, const char *flag, const char *text,
		 struct remit_error *err)
{
	const struct row *row = find_row(flag);
	const char *equals = strchr(text, '=');
	own_mem char *name = NULL;
	struct tool_command *c;

	if (!row)
		return fail(err, REMIT_E_INTERNAL, "%s is no flag of tools",
			    flag);
	if (!equals || equals == text || !equals[1])
		return fail(err, REMIT_E_INPUT, "%s: write NAME=%s", flag,
			    row->set ? "VALUE" : "COMMAND");
	name = strndup(text, (size_t)(equals - text));
	if (!name)
		return fail_sys(err, REMIT_E_MEMORY, "%s", flag);
	if (!row->set)
		return add(o, &name, equals + 1, err);
	c = find(o, name);
	if (!c)
		return fail(err, REMIT_E_INPUT,
			    "%s: there is no --tool %.60s before it", flag,
			    name);
	return row->set(c, equals + 1, err) < 0 ? fail_within(err, "%s", flag)
						: 0;
}

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
