/*
 * flags: the command line options of a policy, derived from the field table.
 *
 * flags_options() returns rows for a command's tables (options.h). They fill a
 * struct flags, which flags_apply() applies to a policy. The names of a field's
 * option are its short name, its alias and its JSON name.
 *
 * Presets and files are applied first, in their order, then the other flags in
 * theirs, in any position: a flag overrides the file. A flag of a list adds to
 * the list of the file.
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

/* Returns rows whose target is a struct flags. They do not check values. */
const struct option *flags_options(void);

/* A table of options for a command whose target has a struct flags. Policies
   have their own man page. */
#define FLAGS_TABLE(type, member)        \
	{                                \
		.make = flags_options,   \
		OPTION_AT(type, member), \
		.man = "",               \
	}

/* Applies the flags. If any value is wrong, the policy is unchanged. */
int flags_apply(const struct flags *fl, struct policy *p,
		struct remit_error *err) must_check;
void flags_free(struct flags *fl);

/* Returns the title of the group that a field belongs to. */
const char *flags_group(enum field_id id);
/* Appends the policy section of the man page, for scdoc(1). Returns -1 with
   errno EFBIG or ENOMEM. */
int flags_man(struct buf *out) must_check;

#endif
