/*
 * field_text: sets fields from the text of a flag.
 */
#include "policy/fields/field.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "policy/rules/path_rule.h"

typedef int set_text_fn(struct policy *p, const struct field *f,
			const char *text, const char *place,
			struct remit_error *err);

static int
set_text_bool(struct policy *p, const struct field *f, const char *text,
	      const char *place, struct remit_error *err)
{
	char shown[QUOTE_SIZE];

	if (strcmp(text, "true") && strcmp(text, "false"))
		return fail(err, REMIT_E_INPUT, "%s: %s is not true or false",
			    place, quote(shown, text));
	*FIELD_PTR(p, f, bool) = *text == 't';
	return 0;
}

static int
set_text_number(struct policy *p, const struct field *f, const char *text,
		const char *place, struct remit_error *err)
{
	return field_check_number(f, text, FIELD_PTR(p, f, uint64_t), place,
				  err);
}

static int
set_text_choice(struct policy *p, const struct field *f, const char *text,
		const char *place, struct remit_error *err)
{
	return field_check_choice(f, text, FIELD_PTR(p, f, uint64_t), place,
				  err);
}

static int
set_text_switch(struct policy *p, const struct field *f, const char *text,
		const char *place, struct remit_error *err)
{
	int i = field_find_choice(f, text);
	char shown[QUOTE_SIZE], words[64];

	if (i >= 0) {
		*FIELD_PTR(p, f, uint64_t) = (uint64_t)i;
		return 0;
	}
	field_switch_words(f, "", words, sizeof(words));
	return fail(err, REMIT_E_INPUT, "%s: %s is not %s", place,
		    quote(shown, text), words);
}

/* A text with a slash is a path or a URL; any other text is a name. */
static int
set_text_text(struct policy *p, const struct field *f, const char *text,
	      const char *place, struct remit_error *err)
{
	char **to = FIELD_PTR(p, f, char *);
	char here[PATH_RULE_SIZE];
	char path[PATH_RULE_SIZE];
	char *copy;

	if (field_check_text(text, place, err) < 0)
		return -1;
	if (f->path_rule) {
		if (f->path_rule(text, path, place, err) < 0)
			return -1;
		text = path;
	} else if (strchr(text, '/') && !strstr(text, "://")) {
		if (path_rule_from_here(text, here, place, err) < 0 ||
		    path_rule_host(here, path, place, err) < 0)
			return -1;
		text = path;
	}
	if (field_check_utf8(text, place, err) < 0)
		return -1;
	copy = strdup(text);
	if (!copy)
		return fail_memory(err, place);
	free(*to);
	*to = copy;
	return 0;
}

static int
add_text_entry(struct policy *p, const struct field *f, const char *text,
	       const char *place, struct remit_error *err)
{
	struct list *l = FIELD_PTR(p, f, struct list);

	if (field_check_text(text, place, err) < 0 ||
	    field_check_space(l->count, place, err) < 0)
		return -1;
	return list_add(l, text) < 0 ? fail_memory(err, place) : 0;
}

/* Adds one entry, or several with commas between them if entries of the field
   cannot contain a comma. */
static int
add_text_entries(struct policy *p, const struct field *f, const char *text,
		 const char *place, struct remit_error *err)
{
	own_mem char *copy = strdup(text);
	char *rest = copy, *one;

	if (!f->commas)
		return add_text_entry(p, f, text, place, err);
	if (!copy)
		return fail_memory(err, place);
	while ((one = strsep(&rest, ",")))
		if (add_text_entry(p, f, one, place, err) < 0)
			return -1;
	return 0;
}

static int
add_text_path(struct policy *p, const struct field *f, const char *text,
	      const char *place, struct remit_error *err)
{
	char here[PATH_RULE_SIZE];
	char path[PATH_RULE_SIZE];

	if (f->path_rule) {
		if (f->path_rule(text, path, place, err) < 0)
			return -1;
	} else if (path_rule_from_here(text, here, place, err) < 0 ||
		   path_rule_jail(here, path, place, err) < 0) {
		return -1;
	}
	return add_text_entry(p, f, path, place, err);
}

/* Splits HOST:JAIL[:MODE] in place. *mode is NULL if there is no mode. */
static int
split_mount(char *text, char **jail, char **mode, const char *place,
	    struct remit_error *err)
{
	*jail = strchr(text, ':');
	*mode = *jail ? strchr(*jail + 1, ':') : NULL;
	if (!*jail || (*mode && strchr(*mode + 1, ':')))
		return fail(err, REMIT_E_INPUT,
			    "%s: write HOST:JAIL or HOST:JAIL:MODE; for a path "
			    "with a colon, use a policy file",
			    place);
	*(*jail)++ = '\0';
	if (*mode)
		*(*mode)++ = '\0';
	return 0;
}

static int
add_text_mount(struct policy *p, const struct field *f, const char *text,
	       const char *place, struct remit_error *err)
{
	struct mount_list *l = FIELD_PTR(p, f, struct mount_list);
	char here[PATH_RULE_SIZE];
	char host[PATH_RULE_SIZE];
	char inside[PATH_RULE_SIZE];
	enum mount_mode mode = MOUNT_RO;
	own_mem char *copy = strdup(text);
	char *jail_text, *mode_text;

	if (!copy)
		return fail_memory(err, place);
	if (split_mount(copy, &jail_text, &mode_text, place, err) < 0 ||
	    path_rule_from_here(copy, here, place, err) < 0 ||
	    path_rule_host(here, host, place, err) < 0 ||
	    path_rule_jail(jail_text, inside, place, err) < 0 ||
	    field_check_utf8(host, place, err) < 0 ||
	    field_check_utf8(inside, place, err) < 0 ||
	    field_check_space(l->count, place, err) < 0)
		return -1;
	if (mode_text && field_check_mode(mode_text, &mode, place, err) < 0)
		return -1;
	if (mount_list_add(l, host, inside, mode, 0) < 0)
		return fail_memory(err, place);
	return 0;
}

static int
add_text_env(struct policy *p, const struct field *f, const char *text,
	     const char *place, struct remit_error *err)
{
	size_t name_len = strcspn(text, "=");
	const char *value = text + name_len + 1;

	if (field_check_env_name(text, name_len, place, err) < 0)
		return -1;
	if (!text[name_len]) {
		char shown[QUOTE_SIZE];

		value = getenv(text);
		if (!value)
			return fail(err, REMIT_E_INPUT,
				    "%s: %s is not set in the environment: "
				    "write NAME=VALUE",
				    place, quote(shown, text));
	}
	return field_put_env(FIELD_PTR(p, f, struct list), text, name_len,
			     value, place, err);
}

static set_text_fn *const setters[] = {
	[FIELD_BOOL] = set_text_bool,	  [FIELD_BYTES] = set_text_number,
	[FIELD_TIME] = set_text_number,	  [FIELD_COUNT] = set_text_number,
	[FIELD_CHOICE] = set_text_choice, [FIELD_SWITCH] = set_text_switch,
	[FIELD_TEXT] = set_text_text,	  [FIELD_LIST] = add_text_entries,
	[FIELD_PATHS] = add_text_path,	  [FIELD_MOUNTS] = add_text_mount,
	[FIELD_ENV] = add_text_env,
};

int
field_set_text(struct policy *p, const struct field *f, const char *text,
	       struct remit_error *err)
{
	char place[FIELD_PLACE_SIZE];

	snprintf(place, sizeof(place), "--%s", f->short_name);
	if (setters[f->type](p, f, text, place, err) < 0) {
		snprintf(err->where, sizeof(err->where), "%s", f->name);
		return -1;
	}
	return 0;
}
