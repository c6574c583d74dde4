#include "cli/report/result_lines.h"

#include <string.h>

#include "cli/report/screen.h"
#include "policy/fields/field.h"

/* ---- denials ---- */

/* Characters of foreign text in a line. */
#define DENIAL_SHOWN 256

static int
add_quoted(struct buf *out, const char *text)
{
	if (buf_addf(out, " \"") < 0 ||
	    line_text_add(out, text, DENIAL_SHOWN) < 0)
		return -1;
	return buf_add(out, "\"", 1);
}

/* Add what the code reported about the call, in the order of the document. */
static int
add_reported(struct buf *out, const json_t *reported)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)reported, key, value)
	{
		const char *text = json_string_value(value);

		if (!strcmp(key, "errno") ? buf_addf(out, " (%s)", text) < 0
					  : add_quoted(out, text) < 0)
			return -1;
	}
	return 0;
}

static int
add_reason(struct buf *out, const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "field"));
	const char *flag = json_string_value(json_object_get(row, "flag"));
	const struct field *f = name ? field_find(name) : NULL;

	if (!f)
		return buf_addf(out, ": no policy field allows it\n");
	if (buf_addf(out, ": %s %s", name,
		     field_is_switch(f) ? "is off" : "does not name it") < 0)
		return -1;
	if (flag && buf_addf(out, "; allow with %s", flag) < 0)
		return -1;
	return buf_add(out, "\n", 1);
}

int
denials_show_tried(const json_t *row, struct buf *out)
{
	const char *what = json_string_value(json_object_get(row, "what"));
	json_int_t count = json_integer_value(json_object_get(row, "count"));

	if (buf_addf(out, "%s", what ? what : "path") < 0 ||
	    add_reported(out, json_object_get(row, "reported")) < 0)
		return -1;
	return count > 1 ? buf_addf(out, " ×%lld", (long long)count) : 0;
}

static int
add_row(struct buf *out, const json_t *row)
{
	if (buf_addf(out, "remit: denied: ") < 0 ||
	    denials_show_tried(row, out) < 0)
		return -1;
	return add_reason(out, row);
}

int
denials_show(const json_t *result, struct buf *out)
{
	json_int_t more =
		json_integer_value(json_object_get(result, "denials_left_out"));
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "denials"), i, row)
	{
		if (add_row(out, row) < 0)
			return -1;
	}
	if (!more)
		return 0;
	return buf_addf(out, "remit: denied: %lld more\n", (long long)more);
}

/* ---- changes of folders of the host ---- */

/* At most this many rows of each list are shown; JSON has all. */
#define LINES_MAX 20
/* Characters of foreign text in a line. */
#define CHANGE_SHOWN 1024

static const char *
text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static int
add_written(struct buf *out, const json_t *row, bool committed)
{
	if (buf_addf(out, "remit: %s%s: ", committed ? "" : "would be ",
		     text_of(row, "kind")) < 0 ||
	    line_text_message(out, text_of(row, "path"), CHANGE_SHOWN) < 0)
		return -1;
	return buf_add(out, "\n", 1);
}

static int
add_skipped(struct buf *out, const json_t *row)
{
	const char *path = text_of(row, "path");

	if (buf_addf(out, "remit: not written: ") < 0 ||
	    line_text_message(out, path, CHANGE_SHOWN) < 0 ||
	    buf_addf(out, "%s", *path ? ": " : "") < 0 ||
	    line_text_message(out, text_of(row, "reason"), CHANGE_SHOWN) < 0)
		return -1;
	return buf_add(out, "\n", 1);
}

static int
add_rest(struct buf *out, const char *what, size_t count)
{
	if (count <= LINES_MAX)
		return 0;
	return buf_addf(out, "remit: %s: %zu more (--json has all)\n", what,
			count - LINES_MAX);
}

int
changes_show(const json_t *result, bool all, struct buf *out)
{
	const json_t *written = json_object_get(result, "changes");
	const json_t *skipped = json_object_get(result, "changes_skipped");
	bool committed = json_is_true(json_object_get(result, "committed"));
	size_t n = json_array_size(written);

	for (size_t i = 0; all && i < n && i < LINES_MAX; i++)
		if (add_written(out, json_array_get(written, i), committed) < 0)
			return -1;
	if (all && add_rest(out, "changes", n) < 0)
		return -1;
	if (n && !committed && !all &&
	    buf_addf(out,
		     "remit: %zu change%s not written, since the program did "
		     "not succeed (see --commit always)\n",
		     n, n == 1 ? " was" : "s were") < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(skipped) && i < LINES_MAX; i++)
		if (add_skipped(out, json_array_get(skipped, i)) < 0)
			return -1;
	return add_rest(out, "not written", json_array_size(skipped));
}

/* ---- findings of the validator ---- */

/* Characters of foreign text in a line. */
#define FINDING_SHOWN 1000

static void
add_finding_text(FILE *to, const char *before, const char *text)
{
	own(buf) struct buf shown = BUF_INIT(64 * 1024);

	if (text && *text &&
	    line_text_message(&shown, text, FINDING_SHOWN) == 0)
		fprintf(to, "%s%s", before, buf_text(&shown));
}

static void
add_finding_number(FILE *to, const json_t *number)
{
	if (json_is_integer(number))
		fprintf(to, ":%d", (int)json_integer_value(number));
}

void
findings_show(FILE *to, const char *name, const json_t *findings)
{
	json_t *row;
	size_t i;

	json_array_foreach(findings, i, row)
	{
		add_finding_text(to, "", name);
		add_finding_number(to, json_object_get(row, "line"));
		add_finding_number(to, json_object_get(row, "column"));
		add_finding_text(
			to, ": ",
			json_string_value(json_object_get(row, "value")));
		add_finding_text(
			to, "\n    ",
			json_string_value(json_object_get(row, "hint")));
		fputc('\n', to);
	}
}
