/*
 * options: the command line of every command, read from tables by one loop.
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
 * Forms: --name VALUE, --name=VALUE, --name, -x VALUE, and -j2 for a number.
 * A switch also has --no-name and --name=WORD. In names '-' and '_' are the
 * same. Options and operands may be mixed, up to "--" or up to a row that ends
 * the options. Help, completion and the man page come from the same rows.
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

/* A row with neither name nor letter describes the operands. A row that has no
   value name either ends the table. */
struct option {
	const char *name;  /* without "--"; NULL: only the letter */
	const char *alias; /* a second name, or NULL */
	const char *also;  /* a third one, which completion does not offer */
	char letter;	   /* 'j' for -j, or 0 */
	enum option_kind kind;
	const char *value;    /* what the value is called in help: "FILE" */
	const char *example;  /* a value for the error about a missing one */
	const char *fallback; /* the default, in brackets in help, or NULL */
	const char *title;    /* in help, a heading above this row, or NULL */
	const char *help;     /* one clause without capital and full stop;
				 may be missing only in a hidden row */
	const char *detail;   /* more sentences for the man page, in scdoc(5) */
	bool hidden;	      /* not for people */
	bool ends; /* all that follows the value is left to the caller */
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
	/* Instead of `rows`, where they are made from another table. */
	const struct option *(*make)(void);
	size_t offset; /* of what the rows set, in the command's target */
	/* Instead of the rows, in the man page; "" where another page has them.
	 */
	const char *man;
};

#define OPTION_TABLES 4

struct options {
	const char *name;     /* "run": the command is called "remit run" */
	const char *usage;    /* what follows it */
	const char *summary;  /* one line */
	const char *notes;    /* further paragraphs of help, or NULL */
	const char *footnote; /* the last paragraph of help, or NULL */
	/* An earlier table hides the names it shares with a later one. */
	struct option_table tables[OPTION_TABLES];
};

/*
 * Read argv[1] and what follows into *target. `others`, a NULL-terminated list
 * or NULL, are further commands: an option of one of them gets an error that
 * names the command. If `rest` is not NULL it receives the first argument after
 * a row that ends the options, or argv + argc. argv must outlive *target.
 */
int options_parse(const struct options *o, void *target, int argc, char **argv,
		  char ***rest, const struct options *const *others,
		  struct remit_error *err) must_check;

/* True if --help or -h stands where options_parse() would read an option. To be
   called first: options_parse() rejects both as unknown. */
bool options_want_help(const struct options *o, int argc, char **argv);

/* The row after this one, the first one after NULL; NULL after the last. */
const struct option *option_next(const struct option_table *table,
				 const struct option *row);
/* The first name of a row that no earlier row has, or NULL if there is none. */
const char *option_shown_name(const struct options *o,
			      const struct option *row);

/* The functions below append text: -1 with errno EFBIG or ENOMEM. */

/* What --help prints, at most 80 columns wide. */
int options_help(const struct options *o, struct buf *out) must_check;
/* All options of the command, one per line, for shell completion. */
int options_words(const struct options *o, struct buf *out) must_check;
/* "*remit run* [_OPTION_...] ..." for scdoc(1). */
int options_man_usage(const struct options *o, struct buf *out) must_check;
/* The options as entries of a man page, indented by a tab. */
int options_man(const struct options *o, struct buf *out) must_check;

#endif
