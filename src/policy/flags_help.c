/*
 * flags_help: help, completion and man page from the field table.
 */
#include "flags.h"

#include <stdio.h>
#include <string.h>

#include "quantity.h"

#define HELP_INDENT 28
#define HELP_WIDTH  80

/* Neighbours in the field table under one title. */
static const struct group {
	const char *title;
	enum field_id first;
	enum field_id last;
} groups[] = {
	{ "The wall", F_TIER, F_PYTHON },
	{ "Files", F_FILESYSTEM_READ_ROOTS, F_COMMIT_NAMES },
	{ "Network and packages", F_NETWORK_ACCESS, F_PACKAGE_TIME },
	{ "Processes and environment", F_SUBPROCESS_EXECUTION, F_ENV },
	{ "Time and processors", F_TIMEOUT, F_CPUS },
	{ "Memory, processes and disk", F_MEMORY_BYTES, F_OPEN_FILES },
	{ "Input and output", F_STDOUT_MAX_BYTES, F_DISPLAY_BYTES },
	{ "Files that leave the jail", F_ARTIFACT_EXPORT_PATHS,
	  F_ARTIFACT_TIME },
	{ "Check of the syntax tree", F_VALIDATOR, F_ALLOWED_NODES },
	{ "Tools and sessions", F_TOOL_CALLS, F_PRELOAD },
};

const char *
flags_group(enum field_id id)
{
	size_t g = 0;

	while (g + 1 < ARRAY_LEN(groups) && id > groups[g].last)
		g++;
	return groups[g].title;
}

/* Flags that are no fields. */
static const struct base {
	const char *flag;
	const char *value_name;
	const char *sentence;
} bases[] = {
	{ "policy", "FILE", "read a policy document; flags override it" },
	{ "preset", "NAME",
	  "start from strict, default, scientific or landlock" },
};

static const char *const type_names[] = {
	[FIELD_BOOL] = "true or false",
	[FIELD_BYTES] = "size",
	[FIELD_TIME] = "seconds",
	[FIELD_COUNT] = "count",
	[FIELD_CHOICE] = "one of",
	[FIELD_SWITCH] = "one of",
	[FIELD_TEXT] = "text",
	[FIELD_LIST] = "list of texts",
	[FIELD_PATHS] = "list of absolute paths",
	[FIELD_MOUNTS] = "list of objects: host, jail, mode, max_bytes",
	[FIELD_ENV] = "object of texts",
};

/* Words, broken before column 80 and indented behind the flag's column. */
static int
add_wrapped(struct buf *out, size_t column, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, " ");

		if (column > HELP_INDENT && column + 1 + n > HELP_WIDTH) {
			if (buf_addf(out, "\n%*s", HELP_INDENT, "") < 0)
				return -1;
			column = HELP_INDENT;
		}
		if (column > HELP_INDENT) {
			if (buf_add(out, " ", 1) < 0)
				return -1;
			column++;
		}
		if (buf_add(out, text, n) < 0)
			return -1;
		column += n;
		text += n;
		text += strspn(text, " ");
	}
	return buf_add(out, "\n", 1);
}

static int
add_row(struct buf *out, const char *flag, const char *value_name,
	const char *text)
{
	char left[80];
	int n = snprintf(left, sizeof(left), "  --%s%s%s", flag,
			 value_name ? " " : "", value_name ? value_name : "");

	if (n + 2 > HELP_INDENT) {
		if (buf_addf(out, "%s\n%*s", left, HELP_INDENT, "") < 0)
			return -1;
	} else if (buf_addf(out, "%-*s", HELP_INDENT, left) < 0) {
		return -1;
	}
	return add_wrapped(out, HELP_INDENT, text);
}

static bool
is_list(const struct field *f)
{
	return f->type == FIELD_LIST || f->type == FIELD_PATHS ||
	       f->type == FIELD_MOUNTS || f->type == FIELD_ENV;
}

static int
add_field_row(struct buf *out, const struct field *f)
{
	own(buf) struct buf text = BUF_INIT(1024);
	const char *value = field_is_switch(f) ? "off" : f->fallback;

	if (buf_addf(&text, "%s", f->sentence) < 0)
		return -1;
	if (is_list(f) ? buf_addf(&text, " (repeatable)") < 0
		       : buf_addf(&text, " [%s]", value) < 0)
		return -1;
	return add_row(out, f->short_name, f->value_name, buf_text(&text));
}

int
flags_help(struct buf *out)
{
	if (buf_addf(out, "Policy:\n") < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(bases); i++)
		if (add_row(out, bases[i].flag, bases[i].value_name,
			    bases[i].sentence) < 0)
			return -1;
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		if (buf_addf(out, "\n%s:\n", groups[g].title) < 0)
			return -1;
		for (int i = groups[g].first; i <= (int)groups[g].last; i++)
			if (add_field_row(out, &fields[i]) < 0)
				return -1;
	}
	return 0;
}

int
flags_completion(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(bases); i++)
		if (buf_addf(out, "--%s\n", bases[i].flag) < 0)
			return -1;
	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct field *f = &fields[i];

		if (buf_addf(out, "--%s\n", f->short_name) < 0 ||
		    (f->alias && buf_addf(out, "--%s\n", f->alias) < 0) ||
		    (field_is_switch(f) &&
		     buf_addf(out, "--no-%s\n", f->short_name) < 0))
			return -1;
	}
	return 0;
}

static void
show_bound(const struct field *f, uint64_t n, char *out, size_t size)
{
	if (f->type == FIELD_BYTES)
		quantity_show_bytes(n, out, size);
	else if (f->type == FIELD_TIME)
		quantity_show_time(n, out, size);
	else
		snprintf(out, size, "%llu", (unsigned long long)n);
}

static int
man_range(struct buf *out, const struct field *f)
{
	char least[QUANTITY_SIZE];
	char most[QUANTITY_SIZE];

	for (size_t i = 0; f->choices && f->choices[i]; i++)
		if (buf_addf(out, "%s%s", i ? ", " : " ", f->choices[i]) < 0)
			return -1;
	if (!f->max)
		return 0;
	show_bound(f, f->min, least, sizeof(least));
	show_bound(f, f->max, most, sizeof(most));
	return buf_addf(out, ", %s to %s%s", least, most,
			f->may_be_unlimited ? ", or \"unlimited\"" : "");
}

static int
man_kept(struct buf *out, const struct field *f)
{
	uint64_t kept = f->kept[TIER_LOCAL];
	const char *before = " Kept by ";

	for (int i = 0; i < MECH_COUNT; i++) {
		if (!(kept & (UINT64_C(1) << i)))
			continue;
		if (buf_addf(out, "%s%s", before, mechanisms[i].name) < 0)
			return -1;
		before = ", ";
	}
	return kept ? buf_addf(out, ".") : 0;
}

static int
man_field(struct buf *out, const struct field *f)
{
	const char *shown = f->fallback;

	if (!*shown)
		shown = f->type == FIELD_ENV ? "{}" : "\\[\\]";
	if (buf_addf(out, "*%s* (%s%s", f->name, type_names[f->type],
		     f->object_text ? " or objects" : "") < 0 ||
	    man_range(out, f) < 0 ||
	    buf_addf(out, ")\n\t%c%s. Default: %s. Flag: *--%s*",
		     f->sentence[0] - 'a' + 'A', f->sentence + 1, shown,
		     f->short_name) < 0)
		return -1;
	if (f->value_name && buf_addf(out, " _%s_", f->value_name) < 0)
		return -1;
	if (f->alias && buf_addf(out, " or *--%s*", f->alias) < 0)
		return -1;
	if (buf_addf(out, ".") < 0 || man_kept(out, f) < 0)
		return -1;
	return buf_addf(out, "\n\n");
}

static int
man_presets(struct buf *out)
{
	if (buf_addf(out, "*preset* (one of") < 0)
		return -1;
	for (size_t i = 0; policy_preset_names[i]; i++)
		if (buf_addf(out, "%s%s", i ? ", " : " ",
			     policy_preset_names[i]) < 0)
			return -1;
	if (buf_addf(out, ")\n\tApplied before all other fields. Flag: "
			  "*--preset* _NAME_.") < 0)
		return -1;
	for (size_t i = 0; policy_preset_names[i]; i++)
		if (buf_addf(out, " %s: %s.", policy_preset_names[i],
			     policy_preset_sentence(policy_preset_names[i])) <
		    0)
			return -1;
	return buf_addf(out, "\n\n");
}

int
flags_man(struct buf *out)
{
	if (buf_addf(out, "# POLICY FIELDS\n\n") < 0 || man_presets(out) < 0)
		return -1;
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		if (buf_addf(out, "## %s\n\n", groups[g].title) < 0)
			return -1;
		for (int i = groups[g].first; i <= (int)groups[g].last; i++)
			if (man_field(out, &fields[i]) < 0)
				return -1;
	}
	return 0;
}
