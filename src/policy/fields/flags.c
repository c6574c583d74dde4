#include "policy/fields/flags.h"

#include <stdio.h>
#include <string.h>

#include "policy/quantity.h"

/* The number of rows that are not fields. */
#define BASES 2

static int
add_use(struct flags *fl, struct flag_use use, struct remit_error *err)
{
	struct flag_use *items =
		reallocarray(fl->items, fl->count + 1, sizeof(*items));

	if (!items)
		return fail_memory(err, "flags");
	fl->items = items;
	fl->items[fl->count++] = use;
	return 0;
}

static int
set_policy(void *target, const struct option *row, const char *text,
	   struct remit_error *err)
{
	(void)row;
	return add_use(target, (struct flag_use){ .text = text }, err);
}

static int
set_preset(void *target, const struct option *row, const char *text,
	   struct remit_error *err)
{
	struct flag_use use = { .is_preset = true, .text = text };

	(void)row;
	return add_use(target, use, err);
}

static int
set_field(void *target, const struct option *row, const char *text,
	  struct remit_error *err)
{
	struct flag_use use = { .field = row->data, .text = text };

	return add_use(target, use, err);
}

static const struct option bases[BASES] = {
	{
		.name = "policy",
		.kind = OPTION_CALL,
		.value = "FILE",
		.example = "policy.json",
		.title = "Policy",
		.help = "read a policy document; flags override it",
		.set = set_policy,
	},
	{
		.name = "preset",
		.kind = OPTION_CALL,
		.value = "NAME",
		.example = "strict",
		.help = "start from strict, default, scientific or landlock",
		.set = set_preset,
	},
};

static bool
is_list(const struct field *f)
{
	return f->type == FIELD_LIST || f->type == FIELD_PATHS ||
	       f->type == FIELD_MOUNTS || f->type == FIELD_ENV;
}

static struct option
make_row(const struct field *f)
{
	enum field_id id = (enum field_id)(f - fields);
	bool is_first = id == 0 || flags_group(id) != flags_group(id - 1);
	bool is_switch = field_is_switch(f);

	return (struct option){
		.name = f->short_name,
		.alias = f->alias,
		.also = f->name,
		.kind = is_switch ? OPTION_SWITCH : OPTION_CALL,
		.value = f->value_name,
		.example = is_list(f) || is_switch ? NULL : f->fallback,
		.fallback = is_switch	 ? "off"
			    : is_list(f) ? NULL
					 : f->fallback,
		.title = is_first ? flags_group(id) : NULL,
		.help = f->sentence,
		.set = set_field,
		.data = f,
	};
}

const struct option *
flags_options(void)
{
	static struct option rows[BASES + FIELD_TOTAL + 1];

	if (rows[0].name)
		return rows;
	for (int i = 0; i < BASES; i++)
		rows[i] = bases[i];
	for (int i = 0; i < FIELD_TOTAL; i++)
		rows[BASES + i] = make_row(&fields[i]);
	return rows;
}

static int
apply_base(const struct flag_use *use, struct policy *p,
	   struct remit_error *err)
{
	if (use->is_preset)
		return policy_preset(p, use->text, err);
	return policy_read_file(p, use->text, err);
}

static int
apply_uses(const struct flags *fl, struct policy *p, struct remit_error *err)
{
	for (size_t i = 0; i < fl->count; i++)
		if (!fl->items[i].field &&
		    apply_base(&fl->items[i], p, err) < 0)
			return -1;
	for (size_t i = 0; i < fl->count; i++)
		if (fl->items[i].field &&
		    field_set_text(p, fl->items[i].field, fl->items[i].text,
				   err) < 0)
			return -1;
	return 0;
}

int
flags_apply(const struct flags *fl, struct policy *p, struct remit_error *err)
{
	own(policy) struct policy fresh = { 0 };
	struct policy old;

	if (policy_copy(&fresh, p) < 0)
		return fail_memory(err, "flags");
	if (apply_uses(fl, &fresh, err) < 0)
		return -1;
	old = *p;
	*p = fresh;
	fresh = old;
	return 0;
}

void
flags_free(struct flags *fl)
{
	free(fl->items);
	*fl = (struct flags){ 0 };
}

/* ---- the man page ---- */

/* Consecutive fields of the table that have one title. */
static const struct group {
	const char *title;
	enum field_id first;
	enum field_id last;
} groups[] = {
	{ "The wall", F_TIER, F_PYTHON },
	{ "Files", F_FILESYSTEM_READ_ROOTS, F_WORKSPACE_ALIASES },
	{ "Network and packages", F_NETWORK_ACCESS, F_PACKAGE_TIME },
	{ "Processes and environment", F_SUBPROCESS_EXECUTION, F_ENV },
	{ "Time and processors", F_TIMEOUT, F_CPUS },
	{ "Memory, processes and disk", F_MEMORY_BYTES, F_OPEN_FILES },
	{ "Input and output", F_STDOUT_MAX_BYTES, F_DISPLAY_MODE },
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
	[FIELD_LIST] = "list of strings",
	[FIELD_PATHS] = "list of absolute paths",
	[FIELD_MOUNTS] = "list of objects: host, jail, mode, max_bytes",
	[FIELD_ENV] = "object of strings",
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
	const char *before = " Enforced by ";

	for (int i = 0; i < MECH_COUNT; i++) {
		if (!(kept & (UINT64_C(1) << i)))
			continue;
		if (buf_addf(out, "%s%s", before, mechanisms[i].name) < 0)
			return -1;
		before = ", ";
	}
	return kept ? buf_addf(out, ".") : 0;
}

/* Appends the sentence with a capital letter. Escaped, because scdoc(1) reads
   two stars as bold text. */
static int
man_sentence(struct buf *out, const char *sentence)
{
	if (buf_addf(out, "%c", *sentence - 'a' + 'A') < 0)
		return -1;
	for (const char *at = sentence + 1; *at; at++)
		if ((strchr("*_\\[", *at) && buf_add(out, "\\", 1) < 0) ||
		    buf_add(out, at, 1) < 0)
			return -1;
	return 0;
}

static int
man_field(struct buf *out, const struct field *f)
{
	const char *shown = f->fallback;

	if (!*shown)
		shown = f->type == FIELD_ENV ? "{}" : "\\[\\]";
	if (buf_addf(out, "*%s* (%s%s", f->name, type_names[f->type],
		     f->object_text ? " or objects" : "") < 0 ||
	    man_range(out, f) < 0 || buf_addf(out, ")\n\t") < 0 ||
	    man_sentence(out, f->sentence) < 0 ||
	    buf_addf(out, ". Default: %s. Flag: *--%s*", shown, f->short_name) <
		    0)
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
