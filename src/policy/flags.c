#include "flags.h"

#include <stdio.h>
#include <string.h>

#include "nearest.h"
#include "quote.h"

#define MAX_NAME 64

/* One argument, taken apart: --[no-]name[=value]. */
struct argument {
	char name[MAX_NAME];
	bool negated;
	const char *value; /* NULL: no = */
	struct flag_use use;
};

static bool
find_use(const char *name, struct flag_use *use)
{
	*use = (struct flag_use){
		.field = field_find(name),
		.is_preset = !strcmp(name, "preset"),
	};
	return use->field || use->is_preset || !strcmp(name, "policy");
}

/* False if it is no flag of the policy. */
static bool
take_apart(const char *arg, struct argument *a)
{
	size_t len;

	if (strncmp(arg, "--", 2))
		return false;
	arg += 2;
	len = strcspn(arg, "=");
	if (len >= sizeof(a->name))
		return false;
	memcpy(a->name, arg, len);
	a->name[len] = '\0';
	a->value = arg[len] ? arg + len + 1 : NULL;
	a->negated = false;
	if (find_use(a->name, &a->use))
		return true;
	a->negated = !strncmp(a->name, "no-", 3);
	return a->negated && find_use(a->name + 3, &a->use);
}

static bool
is_switch(const struct flag_use *use)
{
	return use->field && field_is_switch(use->field);
}

/* What a switch is set to: --net, --net=false, --no-net. */
static int
switch_value(struct argument *a, struct remit_error *err)
{
	if (a->negated && a->value)
		return fail(err, REMIT_E_INPUT, "--%s: takes no value",
			    a->name);
	if (!a->value)
		a->value = a->negated ? "false" : "true";
	return 0;
}

static int
next_value(struct argument *a, int argc, char **argv, int *i,
	   struct remit_error *err)
{
	if (a->negated)
		return fail(err, REMIT_E_INPUT,
			    "--%s: only what is on or off has a --no- form",
			    a->name);
	if (a->value)
		return 0;
	if (*i + 1 >= argc)
		return fail(err, REMIT_E_INPUT, "--%s: needs a value", a->name);
	if (!strncmp(argv[*i + 1], "--", 2))
		return fail(err, REMIT_E_INPUT,
			    "--%s: needs a value; one that starts with -- is "
			    "written --%s=VALUE",
			    a->name, a->name);
	a->value = argv[++*i];
	return 0;
}

static int
remember(struct flags *fl, const struct flag_use *use, struct remit_error *err)
{
	struct flag_use *items =
		realloc(fl->items, (fl->count + 1) * sizeof(*items));

	if (!items)
		return fail(err, REMIT_E_MEMORY, "flags: no memory");
	fl->items = items;
	fl->items[fl->count++] = *use;
	return 0;
}

enum flags_answer
flags_take(struct flags *fl, int argc, char **argv, int *i,
	   struct remit_error *err)
{
	struct argument a;
	int r;

	if (!take_apart(argv[*i], &a))
		return FLAGS_OTHER;
	if (is_switch(&a.use))
		r = switch_value(&a, err);
	else
		r = next_value(&a, argc, argv, i, err);
	if (r < 0)
		return FLAGS_ERROR;
	a.use.text = a.value;
	return remember(fl, &a.use, err) < 0 ? FLAGS_ERROR : FLAGS_TAKEN;
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
apply(const struct flags *fl, struct policy *p, struct remit_error *err)
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
		return fail(err, REMIT_E_MEMORY, "flags: no memory");
	if (apply(fl, &fresh, err) < 0)
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

static const char *
nearest_flag(const char *name)
{
	struct nearest n = NEAREST_INIT(name);

	nearest_try(&n, "policy", "policy");
	nearest_try(&n, "preset", "preset");
	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct field *f = &fields[i];

		nearest_try(&n, f->short_name, f->short_name);
		nearest_try(&n, f->name, f->short_name);
		if (f->alias)
			nearest_try(&n, f->alias, f->alias);
	}
	return nearest_answer(&n);
}

int
flags_unknown(const char *arg, struct remit_error *err)
{
	char name[MAX_NAME];
	char shown[QUOTE_SIZE];
	const char *near;
	bool negated;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg, "="), arg);
	quote(shown, name);
	if (arg[0] != '-')
		return fail(err, REMIT_E_INPUT, "unexpected argument %s",
			    shown);
	arg = name + strspn(name, "-");
	negated = !strncmp(arg, "no-", 3);
	near = nearest_flag(negated ? arg + 3 : arg);
	if (!near)
		return fail(err, REMIT_E_INPUT, "unknown flag %s", shown);
	return fail(err, REMIT_E_INPUT,
		    "unknown flag %s (did you mean \"--%s%s\"?)", shown,
		    negated ? "no-" : "", near);
}
