#include "base/json_shape.h"

#include <string.h>

/* Behind the string that begins here. */
static const char *
after_string(const char *at, const char *end)
{
	while (at < end && *at != '"')
		at += *at == '\\' ? 2 : 1;
	return at < end ? at + 1 : end;
}

struct json_shape
json_shape_of(const char *text, size_t len)
{
	const char *at = text, *end = text + len;
	struct json_shape shape = { .values = 1 };
	size_t depth = 0;

	while (at < end) {
		char c = *at++;

		if (c == '"') {
			at = after_string(at, end);
			continue;
		}
		shape.values += c == ',' || c == '[' || c == '{';
		if (c == '[' || c == '{')
			depth++;
		else if ((c == ']' || c == '}') && depth)
			depth--;
		if (depth > shape.depth)
			shape.depth = depth;
	}
	return shape;
}
