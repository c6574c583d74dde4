/*
 * field_json: sets fields from JSON values, and the table as JSON.
 */
#include "policy/fields/field.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "policy/fields/flags.h"
#include "policy/json_value.h"
#include "policy/rules/path_rule.h"

/* ---- mounts ---- */

/* A mount while it is being read, before it is copied into the list. Mounts are
   the only field whose entries are objects with members. */
struct mount_draft {
	char host[PATH_RULE_SIZE];
	char jail[PATH_RULE_SIZE];
	enum mount_mode mode;
	uint64_t max_bytes;
};

static int
mount_read_host(struct mount_draft *d, const json_t *value, const char *place,
		struct remit_error *err)
{
	const char *text;

	if (json_value_string(value, &text, place, err) < 0)
		return -1;
	return path_rule_host(text, d->host, place, err);
}

static int
mount_read_jail(struct mount_draft *d, const json_t *value, const char *place,
		struct remit_error *err)
{
	const char *text;

	if (json_value_string(value, &text, place, err) < 0)
		return -1;
	return path_rule_jail(text, d->jail, place, err);
}

static int
mount_read_mode(struct mount_draft *d, const json_t *value, const char *place,
		struct remit_error *err)
{
	const char *text;

	if (json_value_string(value, &text, place, err) < 0)
		return -1;
	return field_check_mode(text, &d->mode, place, err);
}

static int
mount_read_max_bytes(struct mount_draft *d, const json_t *value,
		     const char *place, struct remit_error *err)
{
	/* max_bytes is read like disk_bytes, but cannot be unlimited. */
	struct field disk = fields[F_DISK_BYTES];
	char storage[JSON_VALUE_NUMBER_SIZE];
	const char *text;

	disk.may_be_unlimited = false;
	if (json_value_number(&disk, value, &text, storage, place, err) < 0)
		return -1;
	return field_check_number(&disk, text, &d->max_bytes, place, err);
}

static const struct mount_member {
	const char *name;
	bool needed;
	int (*read)(struct mount_draft *d, const json_t *value,
		    const char *place, struct remit_error *err);
} mount_members[] = {
	{ .name = "host", .needed = true, .read = mount_read_host },
	{ .name = "jail", .needed = true, .read = mount_read_jail },
	{ .name = "mode", .read = mount_read_mode },
	{ .name = "max_bytes", .read = mount_read_max_bytes },
};

static int
read_mount(const struct field *f, size_t index, const json_t *value,
	   struct mount_draft *d, struct remit_error *err)
{
	static const char *const known[] = { "host", "jail", "mode",
					     "max_bytes", NULL };
	char place[FIELD_PLACE_SIZE];

	json_value_place(place, f, index, "");
	if (!json_is_object(value))
		return json_value_wrong_type(value, "an object", place, err);
	if (json_value_members(value, known,
			       "a mount has host, jail, mode and max_bytes",
			       place, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(mount_members); i++) {
		const struct mount_member *m = &mount_members[i];
		json_t *part = json_object_get(value, m->name);

		json_value_place(place, f, index, m->name);
		if (!part && m->needed)
			return fail(err, REMIT_E_INPUT, "%s: is missing",
				    place);
		if (part && m->read(d, part, place, err) < 0)
			return -1;
	}
	return 0;
}

static int
set_json_mounts(struct policy *p, const struct field *f, json_t *value,
		struct remit_error *err)
{
	own(mount_list) struct mount_list fresh = { 0 };
	struct mount_list *to = FIELD_PTR(p, f, struct mount_list);
	json_t *entry;
	size_t i;

	if (json_value_array(f, value, err) < 0)
		return -1;
	json_array_foreach(value, i, entry)
	{
		struct mount_draft d = { .mode = MOUNT_RO };

		if (read_mount(f, i, entry, &d, err) < 0)
			return -1;
		if (mount_list_add(&fresh, d.host, d.jail, d.mode,
				   d.max_bytes) < 0)
			return fail_memory(err, f->name);
	}
	mount_list_free(to);
	*to = fresh;
	fresh = (struct mount_list){ 0 };
	return 0;
}

/* ---- fields by their types ---- */

typedef int set_json_fn(struct policy *p, const struct field *f, json_t *value,
			struct remit_error *err);

static int
set_json_bool(struct policy *p, const struct field *f, json_t *value,
	      struct remit_error *err)
{
	if (!json_is_boolean(value))
		return json_value_wrong_type(value, "true or false", f->name,
					     err);
	*FIELD_PTR(p, f, bool) = json_is_true(value);
	return 0;
}

static int
set_json_number(struct policy *p, const struct field *f, json_t *value,
		struct remit_error *err)
{
	char storage[JSON_VALUE_NUMBER_SIZE];
	const char *text;

	if (json_value_number(f, value, &text, storage, f->name, err) < 0)
		return -1;
	return field_check_number(f, text, FIELD_PTR(p, f, uint64_t), f->name,
				  err);
}

static int
set_json_choice(struct policy *p, const struct field *f, json_t *value,
		struct remit_error *err)
{
	const char *text;

	if (json_value_string(value, &text, f->name, err) < 0)
		return -1;
	return field_check_choice(f, text, FIELD_PTR(p, f, uint64_t), f->name,
				  err);
}

/* A JSON value that is not a boolean must be one of the choices other than
   false and true. */
static int
set_json_switch(struct policy *p, const struct field *f, json_t *value,
		struct remit_error *err)
{
	uint64_t *to = FIELD_PTR(p, f, uint64_t);
	const char *text = NULL;
	char what[64];
	int i = -1;

	if (json_is_boolean(value)) {
		i = field_find_choice(f,
				      json_is_true(value) ? "true" : "false");
	} else if (json_is_string(value)) {
		if (json_value_string(value, &text, f->name, err) < 0)
			return -1;
		if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
			i = field_find_choice(f, text);
	}
	if (i >= 0) {
		*to = (uint64_t)i;
		return 0;
	}
	field_switch_words(f, "\"", what, sizeof(what));
	return json_value_wrong_type(value, what, f->name, err);
}

static int
set_json_text(struct policy *p, const struct field *f, json_t *value,
	      struct remit_error *err)
{
	char **to = FIELD_PTR(p, f, char *);
	char path[PATH_RULE_SIZE];
	const char *text;
	char *copy;

	if (json_value_string(value, &text, f->name, err) < 0 ||
	    field_check_text(text, f->name, err) < 0)
		return -1;
	if (f->path_rule) {
		if (f->path_rule(text, path, f->name, err) < 0)
			return -1;
		text = path;
	} else if (strchr(text, '/') && !strstr(text, "://")) {
		if (path_rule_host(text, path, f->name, err) < 0)
			return -1;
		text = path;
	}
	copy = strdup(text);
	if (!copy)
		return fail_memory(err, f->name);
	free(*to);
	*to = copy;
	return 0;
}

static int
read_object(const struct field *f, const json_t *value, struct list *out,
	    const char *place, struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT(FIELD_MAX_TEXT);

	if (f->object_text(value, place, &text, err) < 0)
		return -1;
	return list_add(out, buf_text(&text)) < 0 ? fail_memory(err, place) : 0;
}

static int
read_entry(const struct field *f, const json_t *value, struct list *out,
	   const char *place, struct remit_error *err)
{
	char path[PATH_RULE_SIZE];
	const char *text;

	if (f->object_text && json_is_object(value))
		return read_object(f, value, out, place, err);
	if (json_value_string(value, &text, place, err) < 0)
		return -1;
	if (f->type == FIELD_PATHS) {
		if ((f->path_rule ? f->path_rule
				  : path_rule_jail)(text, path, place, err) < 0)
			return -1;
		text = path;
	}
	if (field_check_text(text, place, err) < 0)
		return -1;
	return list_add(out, text) < 0 ? fail_memory(err, place) : 0;
}

static void
replace_list(struct list *to, struct list *from)
{
	list_free(to);
	*to = *from;
	*from = (struct list){ 0 };
}

static int
set_json_list(struct policy *p, const struct field *f, json_t *value,
	      struct remit_error *err)
{
	own(list) struct list fresh = { 0 };
	char place[FIELD_PLACE_SIZE];
	json_t *entry;
	size_t i;

	if (json_value_array(f, value, err) < 0)
		return -1;
	json_array_foreach(value, i, entry)
	{
		json_value_place(place, f, i, "");
		if (read_entry(f, entry, &fresh, place, err) < 0)
			return -1;
	}
	replace_list(FIELD_PTR(p, f, struct list), &fresh);
	return 0;
}

static int
set_json_env(struct policy *p, const struct field *f, json_t *value,
	     struct remit_error *err)
{
	own(list) struct list fresh = { 0 };
	char place[FIELD_PLACE_SIZE];
	char shown[QUOTE_SIZE];
	const char *name, *text;
	json_t *entry;

	if (!json_is_object(value))
		return json_value_wrong_type(value, "an object of strings",
					     f->name, err);
	json_object_foreach(value, name, entry)
	{
		snprintf(place, sizeof(place), "%s[%s]", f->name,
			 quote(shown, name));
		if (field_check_env_name(name, strlen(name), place, err) < 0 ||
		    json_value_string(entry, &text, place, err) < 0 ||
		    field_put_env(&fresh, name, strlen(name), text, place,
				  err) < 0)
			return -1;
	}
	replace_list(FIELD_PTR(p, f, struct list), &fresh);
	return 0;
}

static set_json_fn *const setters[] = {
	[FIELD_BOOL] = set_json_bool,	  [FIELD_BYTES] = set_json_number,
	[FIELD_TIME] = set_json_number,	  [FIELD_COUNT] = set_json_number,
	[FIELD_CHOICE] = set_json_choice, [FIELD_SWITCH] = set_json_switch,
	[FIELD_TEXT] = set_json_text,	  [FIELD_LIST] = set_json_list,
	[FIELD_PATHS] = set_json_list,	  [FIELD_MOUNTS] = set_json_mounts,
	[FIELD_ENV] = set_json_env,
};

int
field_set_json(struct policy *p, const struct field *f, json_t *value,
	       struct remit_error *err)
{
	if (setters[f->type](p, f, value, err) < 0) {
		snprintf(err->where, sizeof(err->where), "%s", f->name);
		return -1;
	}
	return 0;
}

/* ---- the table ---- */

static const char *const type_names[] = {
	[FIELD_BOOL] = "bool",	   [FIELD_BYTES] = "bytes",
	[FIELD_TIME] = "time",	   [FIELD_COUNT] = "count",
	[FIELD_CHOICE] = "choice", [FIELD_SWITCH] = "switch",
	[FIELD_TEXT] = "text",	   [FIELD_LIST] = "list",
	[FIELD_PATHS] = "paths",   [FIELD_MOUNTS] = "mounts",
	[FIELD_ENV] = "env",
};

/* Paths in the jail are neither completed nor searched for on the host. */
static const char *
type_name(const struct field *f)
{
	if (!f->path_rule)
		return type_names[f->type];
	return f->type == FIELD_TEXT ? "place" : "places";
}

static json_t *
choices_of(const struct field *f)
{
	json_t *all = json_array();

	for (size_t i = 0; f->choices && f->choices[i]; i++)
		json_array_append_new(all, json_string(f->choices[i]));
	return all;
}

/* Times are in seconds, as in a policy document. */
static json_t *
bound_to_json(const struct field *f, uint64_t n)
{
	if (f->type == FIELD_TIME && n % 1000)
		return json_real((double)n / 1000);
	return json_integer((json_int_t)(f->type == FIELD_TIME ? n / 1000 : n));
}

static json_t *
field_describe(const struct policy *defaults, const struct field *f)
{
	json_t *row = json_pack(
		"{s:s, s:s, s:s, s:s, s:b, s:b, s:o, s:s}", "name", f->name,
		"short", f->short_name, "group",
		flags_group((enum field_id)(f - fields)), "type", type_name(f),
		"setting", f->setting, "unlimited", f->may_be_unlimited,
		"default", field_to_json(defaults, f), "sentence", f->sentence);

	if (f->choices)
		json_object_set_new(row, "choices", choices_of(f));
	if (f->max) {
		json_object_set_new(row, "min", bound_to_json(f, f->min));
		json_object_set_new(row, "max", bound_to_json(f, f->max));
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
			    rows, field_describe(&defaults, &fields[i])) < 0) {
			json_decref(rows);
			return NULL;
		}
	return rows;
}
