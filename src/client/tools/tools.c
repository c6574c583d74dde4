#include "client/tools/tools.h"

#include <string.h>

#include "base/text.h"
#include "wire/record.h"

/* Keywords of Python, and names that Remit defines besides the tools. */
static const char *const reserved_names[] = {
	"False",     "None",	 "True",  "and",    "as",	"assert",
	"async",     "await",	 "break", "class",  "continue", "def",
	"del",	     "elif",	 "else",  "except", "finally",	"for",
	"from",	     "global",	 "if",	  "import", "in",	"is",
	"lambda",    "nonlocal", "not",	  "or",	    "pass",	"raise",
	"return",    "try",	 "while", "with",   "yield",	"call_tool",
	"ToolError",
};

static bool
is_word(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

static int
check_name(const char *name, struct remit_error *err)
{
	size_t n = 0;

	while (n < TOOL_NAME_SIZE && name[n] && is_word(name[n], !n))
		n++;
	if (!n || n >= TOOL_NAME_SIZE || name[n] || !strncmp(name, "__", 2))
		return fail(err, REMIT_E_INPUT,
			    "tool \"%.60s\": a name must be 1 to %d letters, "
			    "digits and \"_\", and must not begin with a digit "
			    "or with \"__\"",
			    name, TOOL_NAME_SIZE - 1);
	for (size_t i = 0; i < ARRAY_LEN(reserved_names); i++)
		if (!strcmp(reserved_names[i], name))
			return fail(err, REMIT_E_INPUT,
				    "tool \"%s\": this name is reserved in the "
				    "code",
				    name);
	return 0;
}

static int
tools_add(struct tools *t, const struct remit_tool *given,
	  struct remit_error *err)
{
	struct tool *to = &t->all[t->count];
	const char *help = given->description;

	if (!given->name)
		return fail(err, REMIT_E_INPUT, "a tool has no name");
	if (check_name(given->name, err) < 0)
		return -1;
	if (tools_find(t, given->name))
		return fail(err, REMIT_E_INPUT,
			    "tool \"%s\": two tools have this name",
			    given->name);
	if (!given->call)
		return fail(err, REMIT_E_INPUT,
			    "tool \"%s\": the callback is missing",
			    given->name);
	if (help && text_valid_prefix(help, strlen(help)) != strlen(help))
		return fail(err, REMIT_E_INPUT,
			    "tool \"%s\": the description is not UTF-8",
			    given->name);
	to->given = *given;
	if (given->schema_json &&
	    schema_read(&to->schema, given->schema_json, err) < 0)
		return fail_within(err, "tool \"%s\"", given->name);
	t->count++;
	return 0;
}

int
tools_open(struct tools *t, const struct remit_tool *given, size_t count,
	   struct remit_error *err)
{
	if (count > TOOLS_MAX)
		return fail(err, REMIT_E_INPUT,
			    "%zu tools are too many (limit %d)", count,
			    TOOLS_MAX);
	t->all = count ? calloc(count, sizeof(*t->all)) : NULL;
	if (count && !t->all)
		return fail_memory(err, "tools");
	for (size_t i = 0; i < count; i++)
		if (tools_add(t, &given[i], err) < 0)
			return -1;
	return 0;
}

int
tools_copy(struct tools *t, const struct tools *from, struct remit_error *err)
{
	t->all = from->count ? calloc(from->count, sizeof(*t->all)) : NULL;
	if (from->count && !t->all)
		return fail_memory(err, "tools");
	for (size_t i = 0; i < from->count; i++)
		if (tools_add(t, &from->all[i].given, err) < 0)
			return -1;
	return 0;
}

const struct tool *
tools_find(const struct tools *t, const char *name)
{
	for (size_t i = 0; i < t->count; i++) {
		const char *given = t->all[i].given.name;

		if (given && !strcmp(given, name))
			return &t->all[i];
	}
	return NULL;
}

bool
tools_needs(const struct tool *tool, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(
		json_object_get(tool->schema.root, "required"), i,
		one) if (!strcmp(json_string_value(one), name)) return true;
	return false;
}

/* The order of the schema is the order of positional arguments. */
static int
add_records(struct buf *out, const struct tool *tool)
{
	const char *help = tool->given.description, *name;
	json_t *part;

	if (record_add(out, "tool", tool->given.name) < 0 ||
	    (help && record_add(out, "help", help) < 0))
		return -1;
	json_object_foreach(json_object_get(tool->schema.root, "properties"),
			    name, part) if (record_add(out,
						       tools_needs(tool, name)
							       ? "parameter"
							       : "optional",
						       name) < 0) return -1;
	return 0;
}

int
tools_send(const struct tools *t, struct link *l, struct remit_error *err)
{
	/* Leave space for a record that the keeper adds. */
	own(buf) struct buf records =
		BUF_INIT(frame_rules[FRAME_TOOLS].max - 64);

	if (!t->count)
		return 0;
	for (size_t i = 0; i < t->count; i++)
		if (add_records(&records, &t->all[i]) < 0)
			return fail_sys(err, REMIT_E_INPUT,
					"the names and descriptions of the "
					"tools");
	return link_send(l, FRAME_TOOLS, records.data, records.len, err);
}

void
tools_free(struct tools *t)
{
	for (size_t i = 0; i < t->count; i++)
		schema_free(&t->all[i].schema);
	free(t->all);
	t->all = NULL;
	t->count = 0;
}
