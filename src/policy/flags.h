/*
 * flags: the command line form of a policy, from the field table.
 *
 *	own(flags) struct flags fl = { 0 };
 *	for (int i = 1; i < argc; i++) {
 *		switch (flags_take(&fl, argc, argv, &i, err)) {
 *		case FLAGS_TAKEN: continue;
 *		case FLAGS_OTHER: the command's own, or flags_unknown()
 *		case FLAGS_ERROR: return -1;
 *		}
 *	}
 *	flags_apply(&fl, &policy, err)
 *
 * Forms: --name VALUE, --name=VALUE; for what is on or off --name, --no-name,
 * --name=true, --name=false; and --policy FILE and --preset NAME. A name is a
 * field's short name, alias or JSON name; '-' and '_' are the same.
 *
 * Presets and files are applied first, in their order, then the other flags
 * in theirs, wherever they stand: a flag overrides the file. A flag of a list
 * adds to the list of the file.
 */
#ifndef REMIT_FLAGS_H
#define REMIT_FLAGS_H

#include "buf.h"
#include "field.h"

struct flag_use {
	const struct field *field; /* NULL: --policy or --preset */
	bool is_preset;
	const char *text; /* borrowed from argv */
};

struct flags {
	struct flag_use *items;
	size_t count;
};

enum flags_answer {
	FLAGS_ERROR = -1,
	FLAGS_OTHER, /* not a flag of the policy; nothing was done */
	FLAGS_TAKEN, /* *i is now the last argument that was used */
};

/* Look at argv[*i]. argv must outlive *fl. Values are not checked yet. */
enum flags_answer flags_take(struct flags *fl, int argc, char **argv, int *i,
			     struct remit_error *err) must_check;

/* Change the policy; it stays as it was if any value is wrong. */
int flags_apply(const struct flags *fl, struct policy *p,
		struct remit_error *err) must_check;
void flags_free(struct flags *fl);

/* Always -1: `unknown flag "--memroy" (did you mean "--memory"?)` */
int flags_unknown(const char *arg, struct remit_error *err);

/* What follows writes text: -1 with errno EFBIG or ENOMEM. */

/* The title under which a field stands. */
const char *flags_group(enum field_id id);
/* Rows for --help, in groups, at most 80 columns wide. */
int flags_help(struct buf *out) must_check;
/* Every flag, one a line, for shell completion. */
int flags_completion(struct buf *out) must_check;
/* The policy section of the man page, for scdoc(1). */
int flags_man(struct buf *out) must_check;

#endif
