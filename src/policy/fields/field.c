#include "policy/fields/field.h"

#include <string.h>

#include "policy/fields/check.h"
#include "policy/nearest.h"

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
	uint64_t n;
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
