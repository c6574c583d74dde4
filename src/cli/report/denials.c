#include "cli/report/denials.h"

#include <string.h>

#include "cli/report/line_text.h"
#include "policy/fields/field.h"

/* Characters of foreign text in a line. */
#define SHOWN 256

static int
add_quoted(struct buf *out, const char *text)
{
	if (buf_addf(out, " \"") < 0 || line_text_add(out, text, SHOWN) < 0)
		return -1;
	return buf_add(out, "\"", 1);
}

/* What the code's own memory held, in the order of the document. */
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
