/*
 * flags: the command line form of a policy, from the field table.
 *
 * flags_options() are rows for a command's tables (options.h); they fill a
 * struct flags, which flags_apply() then turns into a policy. The names of a
 * field's option are its short name, its alias and its JSON name.
 *
 * Presets and files are applied first, in their order, then the other flags
 * in theirs, wherever they stand: a flag overrides the file. A flag of a list
 * adds to the list of the file.
 */
#ifndef REMIT_FLAGS_H
#define REMIT_FLAGS_H

#include "base/buf.h"
#include "policy/fields/field.h"
#include "policy/fields/options.h"

struct flag_use {
	const struct field *field; /* NULL: --policy or --preset */
	bool is_preset;
	const char *text; /* borrowed from argv */
};

struct flags {
	struct flag_use *items;
	size_t count;
};

/* Rows whose target is a struct flags. Values are not checked yet. */
const struct option *flags_options(void);

/* The table of a command whose target has a struct flags. The man page has one
   of its own for policies. */
#define FLAGS_TABLE(type, member)        \
	{                                \
		.make = flags_options,   \
		OPTION_AT(type, member), \
		.man = "",               \
	}

/* Change the policy; it stays as it was if any value is wrong. */
int flags_apply(const struct flags *fl, struct policy *p,
		struct remit_error *err) must_check;
void flags_free(struct flags *fl);

/* The title under which a field stands. */
const char *flags_group(enum field_id id);
/* The policy section of the man page, for scdoc(1): -1 with errno EFBIG or
   ENOMEM. */
int flags_man(struct buf *out) must_check;

#endif
