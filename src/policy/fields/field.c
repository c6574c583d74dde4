#include "policy/fields/field.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "policy/nearest.h"
#include "policy/quantity.h"

/* --stdout-max and stdout_max are the same flag. */
static bool
same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b)))
			return false;
	return *a == *b;
}

const struct field *
field_find(const char *name)
{
	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct field *f = &fields[i];

		if (same_name(f->name, name) || same_name(f->short_name, name))
			return f;
		if (f->alias && same_name(f->alias, name))
			return f;
	}
	return NULL;
}

const char *
field_nearest(const char *name)
{
	struct nearest n = NEAREST_INIT(name);

	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct field *f = &fields[i];

		nearest_try(&n, f->name, f->name);
		nearest_try(&n, f->short_name, f->name);
		if (f->alias)
			nearest_try(&n, f->alias, f->name);
	}
	return nearest_answer(&n);
}

static bool
number_is(const struct policy *p, const struct field *f, const char *text)
{
	struct remit_error ignored;
	uint64_t n = 0;
	int r;

	if (f->choices)
		r = field_check_choice(f, text, &n, f->name, &ignored);
	else
		r = field_check_number(f, text, &n, f->name, &ignored);
	return r == 0 && *FIELD_PTR(p, f, const uint64_t) == n;
}

bool
field_is_default(const struct policy *p, const struct field *f)
{
	switch (f->type) {
	case FIELD_BOOL:
		return *FIELD_PTR(p, f, const bool) ==
		       !strcmp(f->fallback, "true");
	case FIELD_BYTES:
	case FIELD_TIME:
	case FIELD_COUNT:
	case FIELD_CHOICE:
	case FIELD_SWITCH:
		return number_is(p, f, f->fallback);
	case FIELD_TEXT:
		return !strcmp(*FIELD_PTR(p, f, char *const), f->fallback);
	case FIELD_LIST:
	case FIELD_PATHS:
	case FIELD_ENV:
		return FIELD_PTR(p, f, const struct list)->count == 0;
	case FIELD_MOUNTS:
		return FIELD_PTR(p, f, const struct mount_list)->count == 0;
	}
	return false;
}

/* ---- checks of values ---- */

static void
show_number(const struct field *f, uint64_t n, char *out, size_t size)
{
	if (f->type == FIELD_BYTES)
		quantity_show_bytes(n, out, size);
	else if (f->type == FIELD_TIME)
		quantity_show_time(n, out, size);
	else
		snprintf(out, size, "%llu", (unsigned long long)n);
}

static int
check_range(const struct field *f, uint64_t n, const char *place,
	    struct remit_error *err)
{
	char given[QUANTITY_SIZE];
	char bound[QUANTITY_SIZE];

	if (n >= f->min && n <= f->max)
		return 0;
	show_number(f, n, given, sizeof(given));
	show_number(f, n < f->min ? f->min : f->max, bound, sizeof(bound));
	return fail(err, REMIT_E_INPUT, "%s: %s is too %s: the %s is %s", place,
		    given, n < f->min ? "small" : "large",
		    n < f->min ? "least" : "most", bound);
}

static int
parse_number(const struct field *f, const char *text, uint64_t *out,
	     struct remit_error *err)
{
	if (f->type == FIELD_BYTES)
		return quantity_bytes(text, out, err);
	if (f->type == FIELD_TIME)
		return quantity_time(text, out, err);
	return quantity_count(text, out, err);
}

int
field_check_number(const struct field *f, const char *text, uint64_t *out,
		   const char *place, struct remit_error *err)
{
	uint64_t n;

	if (!strcmp(text, "unlimited")) {
		if (!f->may_be_unlimited)
			return fail(err, REMIT_E_INPUT,
				    "%s: this limit cannot be unlimited",
				    place);
		*out = POLICY_UNLIMITED;
		return 0;
	}
	if (parse_number(f, text, &n, err) < 0)
		return fail_within(err, "%s", place);
	if (check_range(f, n, place, err) < 0)
		return -1;
	*out = n;
	return 0;
}

static int
find_word(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], text))
			return i;
	return -1;
}

static int
no_such_word(const char *const *words, const char *text, const char *place,
	     struct remit_error *err)
{
	own(buf) struct buf known = BUF_INIT(256);
	char shown[QUOTE_SIZE];

	for (int i = 0; words[i]; i++)
		if (buf_addf(&known, "%s%s", i ? ", " : "", words[i]) < 0)
			break;
	return fail(err, REMIT_E_INPUT, "%s: %s is not one of %s", place,
		    quote(shown, text), buf_text(&known));
}

int
field_find_choice(const struct field *f, const char *word)
{
	return find_word(f->choices, word);
}

void
field_switch_words(const struct field *f, const char *mark, char *out,
		   size_t size)
{
	size_t used = (size_t)snprintf(out, size, "true, false");

	for (int i = 0; f->choices[i] && used < size; i++) {
		const char *word = f->choices[i];

		if (!strcmp(word, "true") || !strcmp(word, "false"))
			continue;
		used += (size_t)snprintf(out + used, size - used, "%s%s%s%s",
					 f->choices[i + 1] ? ", " : " or ",
					 mark, word, mark);
	}
}

int
field_check_choice(const struct field *f, const char *text, uint64_t *out,
		   const char *place, struct remit_error *err)
{
	int i = find_word(f->choices, text);

	/* Tiers have aliases. */
	if (i < 0 && f == &fields[F_TIER])
		i = tier_find(text);
	if (i < 0)
		return no_such_word(f->choices, text, place, err);
	*out = (uint64_t)i;
	return 0;
}

int
field_check_mode(const char *text, enum mount_mode *out, const char *place,
		 struct remit_error *err)
{
	int i = find_word(mount_mode_names, text);

	if (i < 0)
		return no_such_word(mount_mode_names, text, place, err);
	*out = (enum mount_mode)i;
	return 0;
}

int
field_check_utf8(const char *text, const char *place, struct remit_error *err)
{
	json_auto_t *carried = json_string(text);

	if (carried)
		return 0;
	return fail(err, REMIT_E_INPUT, "%s: the text is not UTF-8", place);
}

int
field_check_text(const char *text, const char *place, struct remit_error *err)
{
	if (!*text)
		return fail(err, REMIT_E_INPUT, "%s: the text is empty", place);
	if (strnlen(text, FIELD_MAX_TEXT + 1) > FIELD_MAX_TEXT)
		return fail(err, REMIT_E_INPUT,
			    "%s: the text is longer than 64 KiB", place);
	return field_check_utf8(text, place, err);
}

static bool
is_name_byte(char c, bool first)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')
		return true;
	return !first && c >= '0' && c <= '9';
}

int
field_check_env_name(const char *name, size_t len, const char *place,
		     struct remit_error *err)
{
	size_t good = 0;

	while (good < len && is_name_byte(name[good], good == 0))
		good++;
	if (len && good == len)
		return 0;
	return fail(err, REMIT_E_INPUT,
		    "%s: the name of a variable must consist of letters, "
		    "digits and _, and must not start with a digit",
		    place);
}

int
field_check_space(size_t count, const char *place, struct remit_error *err)
{
	if (count < FIELD_MAX_ENTRIES)
		return 0;
	return fail(err, REMIT_E_INPUT, "%s: at most %d entries", place,
		    FIELD_MAX_ENTRIES);
}

static char **
find_env(struct list *env, const char *name, size_t len)
{
	for (size_t i = 0; i < env->count; i++)
		if (!strncmp(env->items[i], name, len) &&
		    env->items[i][len] == '=')
			return &env->items[i];
	return NULL;
}

int
field_put_env(struct list *env, const char *name, size_t name_len,
	      const char *value, const char *place, struct remit_error *err)
{
	own_mem char *text = NULL;
	char **old;

	if (strnlen(value, FIELD_MAX_TEXT + 1) > FIELD_MAX_TEXT ||
	    name_len > FIELD_MAX_TEXT)
		return fail(err, REMIT_E_INPUT,
			    "%s: the text is longer than 64 KiB", place);
	if (field_check_utf8(value, place, err) < 0)
		return -1;
	if (asprintf(&text, "%.*s=%s", (int)name_len, name, value) < 0) {
		text = NULL;
		return fail_memory(err, place);
	}
	old = find_env(env, name, name_len);
	if (old) {
		free(*old);
		*old = take_ptr(&text);
		return 0;
	}
	if (field_check_space(env->count, place, err) < 0)
		return -1;
	return list_add(env, text) < 0 ? fail_memory(err, place) : 0;
}
