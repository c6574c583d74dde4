/*
 * options: parses the command lines of all commands by tables.
 *
 *	struct batch_options {
 *		bool quiet;
 *		uint64_t threads;
 *		const char *input;
 *		struct flags flags;
 *	};
 *	static const struct option rows[] = {
 *		{ .name = "quiet", .kind = OPTION_FLAG, .help = "...",
 *		  OPTION_AT(struct batch_options, quiet) },
 *		{ .letter = 'j', .kind = OPTION_NUMBER, .value = "N", ... },
 *		{ .value = "FILE", .kind = OPTION_TEXT, ... },	an operand
 *		{ 0 },
 *	};
 *	const struct options batch = {
 *		.name = "batch",
 *		.tables = { { .rows = rows },
 *			    { .make = flags_options,
 *			      OPTION_AT(struct batch_options, flags) } },
 *	};
 *	options_parse(&batch, &target, argc, argv, NULL, NULL, &err)
 *
 * Forms: --name VALUE, --name=VALUE, --name, -x VALUE, and -j2 for a number. A
 * switch also has --no-name and --name=WORD. In names '-' and '_' are equal.
 * Options and operands may be mixed, up to "--" or up to a row that ends the
 * options. Help, completion and the man page use the same rows.
 */
#ifndef REMIT_OPTIONS_H
#define REMIT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum option_kind {
	OPTION_FLAG,   /* bool; takes no value */
	OPTION_TEXT,   /* const char *, borrowed from argv */
	OPTION_PATH,   /* the same; an empty text is an error */
	OPTION_LIST,   /* struct list; may be repeated */
	OPTION_NUMBER, /* uint64_t from min to max */
	OPTION_TIME,   /* uint64_t of ms; "1.5s" */
	OPTION_BYTES,  /* uint64_t, at most max unless that is 0; "512M" */
	OPTION_CHOICE, /* unsigned: 1 for the first of `choices`, and so on */
	OPTION_CALL,   /* set() receives the value; may be repeated */
	OPTION_SWITCH, /* the same; --name is "true" and --no-name "false" */
};

/* A row with neither name nor letter describes the operands. An empty row ends
   the table. */
struct option {
	const char *name;  /* without "--"; NULL: only the letter */
	const char *alias; /* a second name, or NULL */
	const char *also;  /* a third name, which completion does not offer */
	char letter;	   /* 'j' for -j, or 0 */
	enum option_kind kind;
	const char *value;    /* the value's placeholder in help: "FILE" */
	const char *example;  /* shown in the error about a missing value */
	const char *fallback; /* the default, in brackets in help, or NULL */
	const char *title;    /* a heading above this row in help, or NULL */
	const char *help;   /* one clause without capital letter and full stop;
			       NULL only in a hidden row */
	const char *detail; /* more sentences for the man page, in scdoc(5) */
	bool hidden;	    /* not shown in help, completion and the man page */
	bool ends;	    /* the arguments after the value are not parsed */
	size_t offset;
	uint64_t min, max;
	const char *const *choices; /* NULL-terminated */
	int (*set)(void *target, const struct option *row, const char *text,
		   struct remit_error *err);
	const void *data; /* for set() */
};

#define OPTION_AT(type, member) .offset = offsetof(type, member)

struct option_table {
	const struct option *rows;
	/* Returns the rows if they are made from another table; replaces
	   `rows`. */
	const struct option *(*make)(void);
	size_t offset; /* of the struct that the rows set, in the target */
	/* Replaces the rows in the man page; "" if another page has them. */
	const char *man;
};

#define OPTION_TABLES 4

struct options {
	const char *name;     /* "run": the command is called "remit run" */
	const char *usage;    /* the arguments, shown after the name */
	const char *summary;  /* one line */
	const char *notes;    /* further paragraphs of help, or NULL */
	const char *footnote; /* the last paragraph of help, or NULL */
	/* An earlier table hides the names it shares with a later one. */
	struct option_table tables[OPTION_TABLES];
};

/*
 * Parses argv[1] and all later arguments into *target. `others` is a
 * NULL-terminated list of further commands, or NULL: an option of one of them
 * gets an error that names the command. If `rest` is not NULL, it is set to the
 * first argument after a row that ends the options, or to argv + argc. argv
 * must outlive *target.
 */
int options_parse(const struct options *o, void *target, int argc, char **argv,
		  char ***rest, const struct options *const *others,
		  struct remit_error *err) must_check;

/* Whether --help or -h is at a position where options_parse() would parse an
   option. Must be called first: options_parse() rejects both as unknown. */
bool options_want_help(const struct options *o, int argc, char **argv);

/* Returns the row after `row`, or the first row if that is NULL; NULL after the
   last. */
const struct option *option_next(const struct option_table *table,
				 const struct option *row);
/* Returns the first name of a row that no earlier row has, or NULL. */
const char *option_shown_name(const struct options *o,
			      const struct option *row);

/* The functions below append text. They return -1 with errno EFBIG or
   ENOMEM. */

/* Appends what --help prints, at most 80 columns wide. */
int options_help(const struct options *o, struct buf *out) must_check;
/* Appends all options of the command, one per line, for shell completion. */
int options_words(const struct options *o, struct buf *out) must_check;
/* Appends "*remit run* [_OPTION_...] ..." for scdoc(1). */
int options_man_usage(const struct options *o, struct buf *out) must_check;
/* Appends the options as entries of a man page, indented by a tab. */
int options_man(const struct options *o, struct buf *out) must_check;

#endif
