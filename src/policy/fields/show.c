/*
 * field_show: converts values of fields to JSON, and to text for people.
 */
#include "policy/fields/field.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "policy/quantity.h"

static json_t *
number_to_json(const struct field *f, uint64_t n)
{
	if (n == POLICY_UNLIMITED)
		return json_string("unlimited");
	if (f->type != FIELD_TIME)
		return json_integer((json_int_t)n);
	if (n % 1000 == 0)
		return json_integer((json_int_t)(n / 1000));
	return json_real((double)n / 1000);
}

static json_t *
list_to_json(const struct list *l)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < l->count; i++) {
		if (json_array_append_new(array, json_string(l->items[i])) <
		    0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *
env_to_json(const struct list *l)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < l->count; i++) {
		const char *equals = strchr(l->items[i], '=');
		own_mem char *name =
			strndup(l->items[i], (size_t)(equals - l->items[i]));

		if (!name || json_object_set_new(object, name,
						 json_string(equals + 1)) < 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static json_t *
mount_to_json(const struct mount_rule *m)
{
	json_t *object = json_pack("{s:s, s:s, s:s}", "host", m->host, "jail",
				   m->jail, "mode", mount_mode_names[m->mode]);

	if (object && m->max_bytes &&
	    json_object_set_new(object, "max_bytes",
				json_integer((json_int_t)m->max_bytes)) < 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *
mounts_to_json(const struct mount_list *l)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < l->count; i++) {
		if (json_array_append_new(array, mount_to_json(&l->items[i])) <
		    0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *
switch_to_json(const struct field *f, uint64_t n)
{
	const char *word = f->choices[n];

	if (!strcmp(word, "true") || !strcmp(word, "false"))
		return json_boolean(*word == 't');
	return json_string(word);
}

json_t *
field_to_json(const struct policy *p, const struct field *f)
{
	switch (f->type) {
	case FIELD_BOOL:
		return json_boolean(*FIELD_PTR(p, f, const bool));
	case FIELD_BYTES:
	case FIELD_TIME:
	case FIELD_COUNT:
		return number_to_json(f, *FIELD_PTR(p, f, const uint64_t));
	case FIELD_CHOICE:
		return json_string(
			f->choices[*FIELD_PTR(p, f, const uint64_t)]);
	case FIELD_SWITCH:
		return switch_to_json(f, *FIELD_PTR(p, f, const uint64_t));
	case FIELD_TEXT:
		return json_string(*FIELD_PTR(p, f, char *const));
	case FIELD_LIST:
	case FIELD_PATHS:
		return list_to_json(FIELD_PTR(p, f, const struct list));
	case FIELD_MOUNTS:
		return mounts_to_json(FIELD_PTR(p, f, const struct mount_list));
	case FIELD_ENV:
		return env_to_json(FIELD_PTR(p, f, const struct list));
	}
	return NULL;
}

static void
show_number(const struct field *f, uint64_t n, char *out, size_t size)
{
	if (n == POLICY_UNLIMITED)
		snprintf(out, size, "unlimited");
	else if (f->type == FIELD_BYTES)
		quantity_show_bytes(n, out, size);
	else if (f->type == FIELD_TIME)
		quantity_show_time(n, out, size);
	else
		snprintf(out, size, "%llu", (unsigned long long)n);
}

static void
show_switch(const struct field *f, uint64_t n, char *out, size_t size)
{
	const char *word = f->choices[n];

	snprintf(out, size, "%s",
		 !strcmp(word, "true")	  ? "on"
		 : !strcmp(word, "false") ? "off"
					  : word);
}

static void
show_entries(size_t n, char *out, size_t size)
{
	if (n == 0)
		snprintf(out, size, "none");
	else
		snprintf(out, size, "%zu %s", n, n == 1 ? "entry" : "entries");
}

void
field_show(const struct policy *p, const struct field *f, char *out,
	   size_t size)
{
	switch (f->type) {
	case FIELD_BOOL:
		snprintf(out, size, "%s",
			 *FIELD_PTR(p, f, const bool) ? "on" : "off");
		return;
	case FIELD_BYTES:
	case FIELD_TIME:
	case FIELD_COUNT:
		show_number(f, *FIELD_PTR(p, f, const uint64_t), out, size);
		return;
	case FIELD_CHOICE:
		snprintf(out, size, "%s",
			 f->choices[*FIELD_PTR(p, f, const uint64_t)]);
		return;
	case FIELD_SWITCH:
		show_switch(f, *FIELD_PTR(p, f, const uint64_t), out, size);
		return;
	case FIELD_TEXT:
		quote_bare(out, size, *FIELD_PTR(p, f, char *const));
		return;
	case FIELD_LIST:
	case FIELD_PATHS:
	case FIELD_ENV:
		show_entries(FIELD_PTR(p, f, const struct list)->count, out,
			     size);
		return;
	case FIELD_MOUNTS:
		show_entries(FIELD_PTR(p, f, const struct mount_list)->count,
			     out, size);
		return;
	}
}
