/*
 * options_help: writes help, completion and the man page from the tables of
 * options.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "policy/fields/options.h"

#define INDENT 28
#define WIDTH  80

#define NAME_SIZE 48

/* ---- help ---- */

/* Appends words, with lines broken before column 80 and all lines but the first
   indented. Stops at a newline or at the end. Returns a pointer to that
   position, or NULL on failure. */
static const char *
add_wrapped(struct buf *out, const char *text, size_t indent)
{
	size_t column = indent;

	while (*text && *text != '\n') {
		size_t n = strcspn(text, " \n");

		if (column > indent && column + 1 + n > WIDTH) {
			if (buf_addf(out, "\n%*s", (int)indent, "") < 0)
				return NULL;
			column = indent;
		}
		if (column > indent) {
			if (buf_add(out, " ", 1) < 0)
				return NULL;
			column++;
		}
		if (buf_add(out, text, n) < 0)
			return NULL;
		column += n;
		text += n;
		text += strspn(text, " ");
	}
	return buf_add(out, "\n", 1) < 0 ? NULL : text;
}

/* Writes the name with '-' instead of '_'. Returns false if there is no
   name. */
static bool
show_name(const struct options *o, const struct option *row, char *out,
	  size_t size)
{
	const char *name = option_shown_name(o, row);

	snprintf(out, size, "%s", name ? name : "");
	for (char *c = out; *c; c++)
		if (*c == '_')
			*c = '-';
	return name;
}

/* Writes "--timeout TIME", "-j N" or "FILE". */
static void
show_form(const struct options *o, const struct option *row, char *out,
	  size_t size)
{
	char name[NAME_SIZE], letter[8] = "";
	bool has_name = show_name(o, row, name, sizeof(name));

	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c%s", row->letter,
			 has_name ? ", " : "");
	snprintf(out, size, "%s%s%s%s%s", letter, has_name ? "--" : "", name,
		 row->value && (has_name || row->letter) ? " " : "",
		 row->value ? row->value : "");
}

static bool
may_repeat(const struct option *row)
{
	return row->kind == OPTION_LIST ||
	       (row->kind == OPTION_CALL && !row->fallback);
}

static int
add_sentence(struct buf *out, const struct option *row)
{
	if (buf_addf(out, "%s", row->help) < 0)
		return -1;
	if (row->fallback && buf_addf(out, " [%s]", row->fallback) < 0)
		return -1;
	return may_repeat(row) ? buf_addf(out, " (repeatable)") : 0;
}

static int
add_row(const struct options *o, const struct option *row, struct buf *out)
{
	own(buf) struct buf text = BUF_INIT(1024);
	char form[80];

	if (row->title && buf_addf(out, "\n%s:\n", row->title) < 0)
		return -1;
	show_form(o, row, form, sizeof(form));
	if (add_sentence(&text, row) < 0)
		return -1;
	if (strlen(form) + 4 > INDENT) {
		if (buf_addf(out, "  %s\n%*s", form, INDENT, "") < 0)
			return -1;
	} else if (buf_addf(out, "  %-*s", INDENT - 2, form) < 0) {
		return -1;
	}
	return add_wrapped(out, buf_text(&text), INDENT) ? 0 : -1;
}

/* Whether the command line can reach the row and it is not hidden. */
static bool
is_shown(const struct options *o, const struct option *row)
{
	return !row->hidden &&
	       (!row->name || row->letter || option_shown_name(o, row));
}

static int
add_rows(const struct options *o, struct buf *out)
{
	bool is_first = true;

	for (size_t t = 0; t < OPTION_TABLES; t++) {
		const struct option *row = NULL;

		while ((row = option_next(&o->tables[t], row))) {
			if (!is_shown(o, row))
				continue;
			if (is_first && !row->title && buf_add(out, "\n", 1))
				return -1;
			is_first = false;
			if (add_row(o, row, out) < 0)
				return -1;
		}
	}
	return 0;
}

static int
add_notes(const char *notes, struct buf *out)
{
	if (buf_add(out, "\n", 1) < 0)
		return -1;
	while (*notes) {
		notes = add_wrapped(out, notes, 0);
		if (!notes)
			return -1;
		notes += *notes == '\n';
	}
	return 0;
}

int
options_help(const struct options *o, struct buf *out)
{
	if (buf_addf(out, "Usage: remit %s%s%s\n\n%s\n", o->name,
		     *o->usage ? " " : "", o->usage, o->summary) < 0 ||
	    (o->notes && add_notes(o->notes, out) < 0))
		return -1;
	if (add_rows(o, out) < 0)
		return -1;
	if (o->footnote && add_notes(o->footnote, out) < 0)
		return -1;
	return o->footnote ? buf_add(out, "\n", 1) : 0;
}

/* ---- completion ---- */

static int
add_words(const struct options *o, const struct option *row, struct buf *out)
{
	char name[NAME_SIZE];

	if (row->letter && buf_addf(out, "-%c\n", row->letter) < 0)
		return -1;
	if (!show_name(o, row, name, sizeof(name)))
		return 0;
	if (buf_addf(out, "--%s\n", name) < 0 ||
	    (row->alias && buf_addf(out, "--%s\n", row->alias) < 0))
		return -1;
	return row->kind == OPTION_SWITCH ? buf_addf(out, "--no-%s\n", name)
					  : 0;
}

int
options_words(const struct options *o, struct buf *out)
{
	for (size_t t = 0; t < OPTION_TABLES; t++) {
		const struct option *row = NULL;

		while ((row = option_next(&o->tables[t], row)))
			if (is_shown(o, row) && add_words(o, row, out) < 0)
				return -1;
	}
	return buf_addf(out, "--help\n");
}

/* ---- man page ---- */

/* Appends text with escapes, so that scdoc(1) shows it unchanged. */
static int
add_plain(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((strchr("*_\\[", text[i]) && buf_add(out, "\\", 1) < 0) ||
		    buf_add(out, text + i, 1) < 0)
			return -1;
	return 0;
}

static int
add_marked(struct buf *out, const char *mark, const char *text, size_t len)
{
	if (buf_addf(out, "%s", mark) < 0 || add_plain(out, text, len) < 0)
		return -1;
	return buf_addf(out, "%s", mark);
}

static bool
is_placeholder(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isupper((unsigned char)word[i]) && word[i] != '_')
			return false;
	return true;
}

/* Appends a usage: literal words are bold, placeholders underlined. */
static int
add_usage(struct buf *out, const char *usage)
{
	static const char between[] = " []|.,=:";

	while (*usage) {
		size_t n = strspn(usage, between);

		if (add_plain(out, usage, n) < 0)
			return -1;
		usage += n;
		n = strcspn(usage, between);
		if (n && add_marked(out, is_placeholder(usage, n) ? "_" : "*",
				    usage, n) < 0)
			return -1;
		usage += n;
	}
	return 0;
}

int
options_man_usage(const struct options *o, struct buf *out)
{
	if (buf_addf(out, "*remit %s*%s", o->name, *o->usage ? " " : "") < 0)
		return -1;
	return add_usage(out, o->usage);
}

/* Appends a sentence of help, with its options in bold. */
static int
add_help(struct buf *out, const char *help)
{
	char first = (char)toupper((unsigned char)*help);

	if (buf_add(out, &first, 1) < 0)
		return -1;
	for (help++; *help;) {
		size_t n = strcspn(help, " ");
		size_t word = strcspn(help, " ,;:)");

		if (strncmp(help, "--", 2) != 0)
			word = 0;
		if ((word && add_marked(out, "*", help, word) < 0) ||
		    add_plain(out, help + word, n - word) < 0)
			return -1;
		help += n;
		n = strspn(help, " ");
		if (n && buf_add(out, " ", 1) < 0)
			return -1;
		help += n;
	}
	return 0;
}

/* Appends lines of scdoc, each indented by two tabs unless it is empty. */
static int
add_detail(struct buf *out, const char *detail)
{
	while (*detail) {
		size_t n = strcspn(detail, "\n");

		if (buf_addf(out, "%s%.*s\n", n ? "\t\t" : "", (int)n, detail) <
		    0)
			return -1;
		detail += n;
		detail += *detail == '\n';
	}
	return 0;
}

static int
man_row(const struct options *o, const struct option *row, struct buf *out)
{
	char form[80];

	show_form(o, row, form, sizeof(form));
	if (buf_addf(out, "\t") < 0 || add_usage(out, form) < 0 ||
	    buf_addf(out, "\n\t\t") < 0 || add_help(out, row->help) < 0 ||
	    buf_addf(out, ".") < 0)
		return -1;
	if (row->fallback &&
	    (buf_addf(out, " Default: ") < 0 ||
	     add_plain(out, row->fallback, strlen(row->fallback)) < 0 ||
	     buf_addf(out, ".") < 0))
		return -1;
	if (may_repeat(row) && buf_addf(out, " May be repeated.") < 0)
		return -1;
	if (buf_addf(out, "\n") < 0 ||
	    (row->detail && add_detail(out, row->detail) < 0))
		return -1;
	return buf_addf(out, "\n");
}

int
options_man(const struct options *o, struct buf *out)
{
	for (size_t t = 0; t < OPTION_TABLES; t++) {
		const struct option_table *table = &o->tables[t];
		const struct option *row = NULL;

		if (table->man && *table->man &&
		    buf_addf(out, "\t%s\n\n", table->man) < 0)
			return -1;
		while (!table->man && (row = option_next(table, row)))
			if (is_shown(o, row) && man_row(o, row, out) < 0)
				return -1;
	}
	return 0;
}
