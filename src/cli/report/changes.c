#include "cli/report/changes.h"

#include <string.h>

#include "cli/report/line_text.h"

/* So many of each list are shown; JSON has them all. */
#define LINES_MAX 20
/* Characters of foreign text in a line. */
#define SHOWN 1024

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
	    line_text_message(out, text_of(row, "path"), SHOWN) < 0)
		return -1;
	return buf_add(out, "\n", 1);
}

static int
add_skipped(struct buf *out, const json_t *row)
{
	const char *path = text_of(row, "path");

	if (buf_addf(out, "remit: not written: ") < 0 ||
	    line_text_message(out, path, SHOWN) < 0 ||
	    buf_addf(out, "%s", *path ? ": " : "") < 0 ||
	    line_text_message(out, text_of(row, "reason"), SHOWN) < 0)
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
		     "remit: %zu change%s not written, since the "
		     "program did not end well (--commit always)\n",
		     n, n == 1 ? " was" : "s were") < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(skipped) && i < LINES_MAX; i++)
		if (add_skipped(out, json_array_get(skipped, i)) < 0)
			return -1;
	return add_rest(out, "not written", json_array_size(skipped));
}
