#include "policy/fields/flags.h"

/* The rows that are not fields. */
#define BASES 2

static int
add_use(struct flags *fl, struct flag_use use, struct remit_error *err)
{
	struct flag_use *items =
		reallocarray(fl->items, fl->count + 1, sizeof(*items));

	if (!items)
		return fail(err, REMIT_E_MEMORY, "flags: no memory");
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
