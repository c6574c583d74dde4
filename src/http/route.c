#include "http/route.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

/* Matches one segment of the pattern. Returns how many bytes of the path it
   covers, or -1. */
static long
match_segment(const char *pattern, size_t len, const char *path,
	      struct route_param *param, bool *is_param)
{
	size_t have = strcspn(path, "/");
	bool rest = len > 5 && !memcmp(pattern + len - 4, "...}", 4);

	*is_param = len > 2 && pattern[0] == '{' && pattern[len - 1] == '}';
	if (!*is_param)
		return have == len && !memcmp(pattern, path, len) ? (long)len
								  : -1;
	if (rest)
		have = strlen(path);
	*param = (struct route_param){ .name = pattern + 1,
				       .name_len = len - (rest ? 5 : 2),
				       .value = path,
				       .value_len = have };
	return have || rest ? (long)have : -1;
}

bool
route_matches(const char *pattern, const char *path,
	      struct route_param params[ROUTE_PARAMS_MAX], size_t *count)
{
	*count = 0;
	while (*pattern == '/' && *path == '/') {
		struct route_param param = { 0 };
		size_t len = strcspn(++pattern, "/");
		bool is_param = false;
		long taken =
			match_segment(pattern, len, ++path, &param, &is_param);

		if (taken < 0)
			return false;
		if (is_param && *count < ROUTE_PARAMS_MAX)
			params[(*count)++] = param;
		pattern += len;
		path += taken;
	}
	return !*pattern && !*path;
}

static void
note_method(char allowed[64], const char *method)
{
	size_t len = strlen(allowed);

	if (!strstr(allowed, method))
		snprintf(allowed + len, 64 - len, "%s%s", len ? ", " : "",
			 method);
}

const struct route *
route_find(const struct route_table *tables, const struct exchange *x,
	   const char *method, const char *path,
	   struct route_param params[ROUTE_PARAMS_MAX], size_t *count,
	   char allowed[64])
{
	bool is_head = !strcmp(method, "HEAD");

	allowed[0] = '\0';
	for (const struct route_table *t = tables; t; t = t->next)
		for (const struct route *r = t->rows; r->method; r++) {
			if (!route_matches(r->pattern, path, params, count) ||
			    (r->applies && !r->applies(x)))
				continue;
			if (!strcmp(r->method, is_head ? "GET" : method) ||
			    !strcmp(r->method, "*"))
				return r;
			note_method(allowed, r->method);
		}
	*count = 0;
	return NULL;
}

char *
route_decode(const char *text, size_t len, bool plus)
{
	char *out = malloc(len + 1);
	size_t n = 0;

	for (size_t i = 0; out && i < len; i++) {
		int byte = (unsigned char)text[i];

		if (byte == '+' && plus)
			byte = ' ';
		if (byte == '%') {
			int high = i + 2 < len ? number_hex_digit(text[i + 1])
					       : -1;
			int low = i + 2 < len ? number_hex_digit(text[i + 2])
					      : -1;

			byte = high < 0 || low < 0 ? 0 : high * 16 + low;
			i += 2;
		}
		if (!byte) {
			free(out);
			return NULL;
		}
		out[n++] = (char)byte;
	}
	if (out)
		out[n] = '\0';
	return out;
}
