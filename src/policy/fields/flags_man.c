/*
 * flags_man: the section of remit-policy(5) that the field table has.
 */
#include "policy/fields/flags.h"

#include <stdio.h>
#include <string.h>

#include "policy/quantity.h"

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
