/*
 * field_table_json: the table of fields as JSON, from which other languages
 * make their own form of a policy.
 */
#include "policy/fields/field.h"
#include "policy/fields/flags.h"

static const char *const type_names[] = {
	[FIELD_BOOL] = "bool",	   [FIELD_BYTES] = "bytes",
	[FIELD_TIME] = "time",	   [FIELD_COUNT] = "count",
	[FIELD_CHOICE] = "choice", [FIELD_SWITCH] = "switch",
	[FIELD_TEXT] = "text",	   [FIELD_LIST] = "list",
	[FIELD_PATHS] = "paths",   [FIELD_MOUNTS] = "mounts",
	[FIELD_ENV] = "env",
};

static json_t *
choices_of(const struct field *f)
{
	json_t *all = json_array();

	for (size_t i = 0; f->choices && f->choices[i]; i++)
		json_array_append_new(all, json_string(f->choices[i]));
	return all;
}

/* Times are seconds, as they are in a policy document. */
static json_t *
bound(const struct field *f, uint64_t n)
{
	if (f->type == FIELD_TIME && n % 1000)
		return json_real((double)n / 1000);
	return json_integer((json_int_t)(f->type == FIELD_TIME ? n / 1000 : n));
}

static json_t *
describe(const struct policy *defaults, const struct field *f)
{
	json_t *row =
		json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:o, s:s}", "name",
			  f->name, "short", f->short_name, "group",
			  flags_group((enum field_id)(f - fields)), "type",
			  type_names[f->type], "setting", f->setting,
			  "unlimited", f->may_be_unlimited, "default",
			  field_to_json(defaults, f), "sentence", f->sentence);

	if (f->choices)
		json_object_set_new(row, "choices", choices_of(f));
	if (f->max) {
		json_object_set_new(row, "min", bound(f, f->min));
		json_object_set_new(row, "max", bound(f, f->max));
	}
	return row;
}

json_t *
field_table_to_json(void)
{
	own(policy) struct policy defaults = { 0 };
	json_t *rows;

	if (policy_init(&defaults) < 0)
		return NULL;
	rows = json_array();
	for (int i = 0; rows && i < FIELD_TOTAL; i++)
		if (json_array_append_new(
			    rows, describe(&defaults, &fields[i])) < 0) {
			json_decref(rows);
			return NULL;
		}
	return rows;
}
