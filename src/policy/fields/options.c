#include "policy/fields/options.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/list.h"
#include "base/number.h"
#include "policy/nearest.h"
#include "policy/quantity.h"

/* A row, and how the user wrote its option. */
struct use {
	const struct option_table *table;
	const struct option *row;
	char written[48]; /* "--timeout" or "-j", for errors */
	bool negated;	  /* --no-NAME */
};

struct parse {
	const struct options *options;
	const struct options *const *others;
	void *target; /* NULL: only search for --help */
	int argc, i;
	char **argv;
	bool only_operands, ended, wants_help;
	struct remit_error *err;
};

/* ---- rows ---- */

const struct option *
option_next(const struct option_table *table, const struct option *row)
{
	if (row)
		row++;
	else
		row = table->make ? table->make() : table->rows;
	return row && (row->name || row->letter || row->value) ? row : NULL;
}

static bool
is_operand(const struct option *row)
{
	return !row->name && !row->letter;
}

/* In names '-' and '_' are equal. */
static bool
is_name(const char *known, const char *name, size_t len)
{
	if (!known || strlen(known) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (known[i] != name[i] &&
		    !(strchr("-_", known[i]) && strchr("-_", name[i])))
			return false;
	return true;
}

static bool
has_name(const struct option *row, const char *name, size_t len)
{
	return is_name(row->name, name, len) ||
	       is_name(row->alias, name, len) || is_name(row->also, name, len);
}

/* Finds the first row of the command with this name. */
static bool
find_name(const struct options *o, const char *name, size_t len, struct use *u)
{
	for (size_t t = 0; t < OPTION_TABLES; t++) {
		u->table = &o->tables[t];
		u->row = NULL;
		while ((u->row = option_next(u->table, u->row)))
			if (has_name(u->row, name, len))
				return true;
	}
	return false;
}

static bool
find_letter(const struct options *o, char letter, struct use *u)
{
	for (size_t t = 0; t < OPTION_TABLES; t++) {
		u->table = &o->tables[t];
		u->row = NULL;
		while ((u->row = option_next(u->table, u->row)))
			if (letter && u->row->letter == letter)
				return true;
	}
	return false;
}

static bool
find_operand(const struct options *o, struct use *u)
{
	for (size_t t = 0; t < OPTION_TABLES; t++) {
		u->table = &o->tables[t];
		u->row = NULL;
		while ((u->row = option_next(u->table, u->row)))
			if (is_operand(u->row))
				return true;
	}
	return false;
}

const char *
option_shown_name(const struct options *o, const struct option *row)
{
	const char *const names[] = { row->name, row->alias, row->also };
	struct use u;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i] && find_name(o, names[i], strlen(names[i]), &u) &&
		    u.row == row)
			return names[i];
	return NULL;
}

/* ---- errors about names ---- */

static void
try_row(struct nearest *n, const struct option *row, bool negated)
{
	const char *const names[] = { row->name, row->alias, row->also };

	if (row->hidden || (negated && row->kind != OPTION_SWITCH))
		return;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i])
			nearest_try(n, names[i], names[i]);
}

/* Returns the known name that is most similar to an unknown one, or NULL. */
static const char *
nearest_name(const struct options *o, const char *name, bool negated)
{
	struct nearest n = NEAREST_INIT(name);

	for (size_t t = 0; t < OPTION_TABLES; t++) {
		const struct option *row = NULL;

		while ((row = option_next(&o->tables[t], row)))
			try_row(&n, row, negated);
	}
	if (!negated)
		nearest_try(&n, "help", "help");
	return nearest_answer(&n);
}

static bool
has_option(const struct options *o, const char *arg)
{
	struct use u;

	if (arg[1] != '-')
		return !arg[2] && find_letter(o, arg[1], &u) && !u.row->hidden;
	arg += 2;
	if (find_name(o, arg, strlen(arg), &u))
		return !u.row->hidden;
	return !strncmp(arg, "no-", 3) &&
	       find_name(o, arg + 3, strlen(arg + 3), &u) && !u.row->hidden &&
	       u.row->kind == OPTION_SWITCH;
}

/* Returns -1 with an error if another command has the option, else 0. */
static int
reject_foreign(const struct parse *p, const char *arg, const char *shown)
{
	const char *owners[2] = { NULL };
	size_t count = 0;

	for (size_t i = 0; p->others && p->others[i]; i++) {
		if (!has_option(p->others[i], arg))
			continue;
		if (count < ARRAY_LEN(owners))
			owners[count] = p->others[i]->name;
		count++;
	}
	if (!count)
		return 0;
	if (count == 1)
		return fail(p->err, REMIT_E_INPUT,
			    "%s belongs to remit %s, not to remit %s", shown,
			    owners[0], p->options->name);
	return fail(p->err, REMIT_E_INPUT,
		    "%s belongs to remit %s%s remit %s%s, not to remit %s",
		    shown, owners[0], count > 2 ? "," : " and", owners[1],
		    count > 2 ? " and others" : "", p->options->name);
}

static int
reject_unknown(const struct parse *p, const char *arg)
{
	char whole[64], shown[64];
	const char *name = whole, *near;
	bool negated;

	snprintf(whole, sizeof(whole), "%.*s", (int)strcspn(arg, "="), arg);
	quote_bare(shown, sizeof(shown), whole);
	if (reject_foreign(p, whole, shown) < 0)
		return -1;
	name += strspn(name, "-");
	negated = !strncmp(name, "no-", 3);
	near = nearest_name(p->options, negated ? name + 3 : name, negated);
	if (near)
		return fail(p->err, REMIT_E_INPUT,
			    "unknown option %s; did you mean --%s%s?", shown,
			    negated ? "no-" : "", near);
	return fail(p->err, REMIT_E_INPUT,
		    "unknown option %s; \"remit %s --help\" lists the options",
		    shown, p->options->name);
}

/* ---- values ---- */

static int
set_option_number(const struct use *u, const char *text, uint64_t *out,
		  struct remit_error *err)
{
	uint64_t n;

	if (number_parse(&n, text) < 0 || n < u->row->min || n > u->row->max)
		return fail(err, REMIT_E_INPUT,
			    "%s must be a number from %llu to %llu", u->written,
			    (unsigned long long)u->row->min,
			    (unsigned long long)u->row->max);
	*out = n;
	return 0;
}

static int
set_option_bytes(const struct use *u, const char *text, uint64_t *out,
		 struct remit_error *err)
{
	char most[QUANTITY_SIZE];
	uint64_t n;

	if (quantity_bytes(text, &n, err) < 0)
		return fail_within(err, "%s", u->written);
	quantity_show_bytes(u->row->max, most, sizeof(most));
	if (u->row->max && n > u->row->max)
		return fail(err, REMIT_E_INPUT, "%s must be at most %s",
			    u->written, most);
	*out = n;
	return 0;
}

static int
set_option_choice(const struct use *u, const char *text, unsigned *out,
		  struct remit_error *err)
{
	const char *const *choices = u->row->choices, *near;
	struct nearest n = NEAREST_INIT(text);
	char shown[QUOTE_SIZE], known[128] = "";

	for (unsigned i = 0; choices[i]; i++) {
		size_t len = strlen(known);

		if (!strcmp(choices[i], text)) {
			*out = i + 1;
			return 0;
		}
		nearest_try(&n, choices[i], choices[i]);
		snprintf(known + len, sizeof(known) - len, "%s%s",
			 !i		  ? ""
			 : choices[i + 1] ? ", "
					  : " or ",
			 choices[i]);
	}
	near = nearest_answer(&n);
	return fail(err, REMIT_E_INPUT, "%s: %s is not %s%s%s%s", u->written,
		    quote(shown, text), known, near ? "; did you mean " : "",
		    near ? near : "", near ? "?" : "");
}

static int
set_option_path(const struct use *u, const char *text, const char **out,
		struct remit_error *err)
{
	if (!*text)
		return fail(err, REMIT_E_INPUT, "%s: the path is empty",
			    u->written);
	*out = text;
	return 0;
}

static int
set_option_value(const struct parse *p, const struct use *u, const char *text)
{
	void *at;

	if (!p->target)
		return 0;
	at = (char *)p->target + u->table->offset + u->row->offset;
	switch (u->row->kind) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)at = text;
		return 0;
	case OPTION_PATH:
		return set_option_path(u, text, at, p->err);
	case OPTION_LIST:
		if (list_add(at, text) < 0)
			return fail_memory(p->err, u->written);
		return 0;
	case OPTION_NUMBER:
		return set_option_number(u, text, at, p->err);
	case OPTION_TIME:
		if (quantity_time(text, at, p->err) < 0)
			return fail_within(p->err, "%s", u->written);
		return 0;
	case OPTION_BYTES:
		return set_option_bytes(u, text, at, p->err);
	case OPTION_CHOICE:
		return set_option_choice(u, text, at, p->err);
	case OPTION_CALL:
	case OPTION_SWITCH:
		return u->row->set(at, u->row, text, p->err);
	}
	return -1;
}

/* ---- arguments ---- */

static int
reject_missing(const struct parse *p, const struct use *u, bool is_next)
{
	const struct option *row = u->row;
	char hint[120] = "";

	if (is_next)
		snprintf(hint, sizeof(hint),
			 "; write %s=VALUE if it begins with --", u->written);
	return fail(p->err, REMIT_E_INPUT, "%s requires a value%s%s%s",
		    u->written, row->example ? ", such as " : ": ",
		    row->example ? row->example : row->value, hint);
}

/* Parses the value of an option. `joined` is the text after "=" or after a
   letter, or NULL. */
static int
parse_value(struct parse *p, const struct use *u, const char *joined)
{
	bool is_last = p->i + 1 >= p->argc;

	if (u->row->kind == OPTION_FLAG)
		return set_option_value(p, u, NULL);
	if (!joined) {
		/* The value of a letter, such as code, may begin with --. */
		bool is_option = !is_last && u->written[1] == '-' &&
				 !strncmp(p->argv[p->i + 1], "--", 2);

		if (is_last || is_option)
			return reject_missing(p, u, is_option);
		joined = p->argv[++p->i];
	}
	p->ended = u->row->ends;
	return set_option_value(p, u, joined);
}

static int
parse_switch(struct parse *p, const struct use *u, const char *joined)
{
	if (joined && u->negated)
		return fail(p->err, REMIT_E_INPUT, "--no-%s takes no value",
			    u->written + 2);
	if (!joined)
		joined = u->negated ? "false" : "true";
	return set_option_value(p, u, joined);
}

/* Finds the row of NAME, or of the NAME in no-NAME. Returns false if there is
   none. */
static bool
find_long(const struct options *o, const char *name, size_t len, struct use *u)
{
	u->negated = false;
	if (!find_name(o, name, len, u)) {
		if (len <= 3 || strncmp(name, "no-", 3) != 0)
			return false;
		u->negated = true;
		name += 3;
		len -= 3;
		if (!find_name(o, name, len, u))
			return false;
	}
	snprintf(u->written, sizeof(u->written), "--%.*s", (int)len, name);
	return true;
}

static int
parse_long(struct parse *p, char *arg)
{
	size_t len = strcspn(arg + 2, "=");
	const char *joined = arg[2 + len] ? arg + 2 + len + 1 : NULL;
	struct use u;

	if (!strcmp(arg, "--help")) {
		p->wants_help = true;
		return p->target ? reject_unknown(p, arg) : 0;
	}
	if (!find_long(p->options, arg + 2, len, &u))
		return reject_unknown(p, arg);
	if (u.row->kind == OPTION_SWITCH)
		return parse_switch(p, &u, joined);
	if (u.negated)
		return fail(p->err, REMIT_E_INPUT,
			    "unknown option --no-%s; %s cannot be switched off",
			    u.written + 2, u.written);
	if (joined && u.row->kind == OPTION_FLAG)
		return fail(p->err, REMIT_E_INPUT, "%s takes no value",
			    u.written);
	return parse_value(p, &u, joined);
}

/* Parses -c VALUE, and -j2 for numbers. -cpus is a mistake, not the code
   "pus". */
static int
parse_letter(struct parse *p, char *arg)
{
	const char *joined = arg[2] ? arg + 2 : NULL;
	struct use u = { 0 };

	if (!strcmp(arg, "-h")) {
		p->wants_help = true;
		return p->target ? reject_unknown(p, arg) : 0;
	}
	if (!find_letter(p->options, arg[1], &u) ||
	    (joined &&
	     (u.row->kind != OPTION_NUMBER || !strchr("0123456789", *joined))))
		return reject_unknown(p, arg);
	snprintf(u.written, sizeof(u.written), "-%c", arg[1]);
	return parse_value(p, &u, joined);
}

static int
parse_operand(struct parse *p, char *arg)
{
	struct use u = { 0 };
	char shown[QUOTE_SIZE];
	bool is_known = find_operand(p->options, &u);
	char **at = NULL;

	if (is_known && p->target)
		at = (char **)((char *)p->target + u.table->offset +
			       u.row->offset);
	if (!is_known)
		return fail(p->err, REMIT_E_INPUT,
			    "unexpected argument %s: remit %s takes only "
			    "options",
			    quote(shown, arg), p->options->name);
	/* Only a list accepts several operands. */
	if (at && u.row->kind != OPTION_LIST && *at)
		return fail(p->err, REMIT_E_INPUT,
			    "unexpected argument %s: remit %s takes one %s",
			    quote(shown, arg), p->options->name, u.row->value);
	snprintf(u.written, sizeof(u.written), "%s", u.row->value);
	p->ended = u.row->ends;
	return set_option_value(p, &u, arg);
}

static int
parse_argument(struct parse *p)
{
	char *arg = p->argv[p->i];

	if (p->only_operands || arg[0] != '-' || !arg[1])
		return parse_operand(p, arg);
	if (!strcmp(arg, "--")) {
		p->only_operands = true;
		return 0;
	}
	return arg[1] == '-' ? parse_long(p, arg) : parse_letter(p, arg);
}

static int
parse_arguments(struct parse *p)
{
	for (p->i = 1; p->i < p->argc && !p->ended && !p->wants_help; p->i++)
		if (parse_argument(p) < 0)
			return -1;
	return 0;
}

int
options_parse(const struct options *o, void *target, int argc, char **argv,
	      char ***rest, const struct options *const *others,
	      struct remit_error *err)
{
	struct parse p = {
		.options = o,
		.others = others,
		.target = target,
		.argc = argc,
		.argv = argv,
		.err = err,
	};

	if (parse_arguments(&p) < 0)
		return -1;
	if (rest)
		*rest = argv + p.i;
	return 0;
}

bool
options_want_help(const struct options *o, int argc, char **argv)
{
	struct remit_error ignored;
	struct parse p = {
		.options = o,
		.argc = argc,
		.argv = argv,
		.err = &ignored,
	};

	return parse_arguments(&p) == 0 && p.wants_help;
}
