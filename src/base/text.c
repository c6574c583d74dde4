#include "base/text.h"

#include <stdint.h>
#include <string.h>

/* Returns the length of the character at `s`, 0 if it is invalid, -1 if it is
   truncated. */
static int
utf8_length(const unsigned char *s, size_t len)
{
	static const struct {
		unsigned char low, high, second_low, second_high;
		int length;
	} forms[] = {
		{ 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		int n = forms[i].length;

		if (s[0] < forms[i].low || s[0] > forms[i].high)
			continue;
		for (int k = 1; k < n; k++) {
			unsigned char low = k == 1 ? forms[i].second_low : 0x80;
			unsigned char high =
				k == 1 ? forms[i].second_high : 0xbf;

			if ((size_t)k >= len)
				return -1;
			if (s[k] < low || s[k] > high)
				return 0;
		}
		return n;
	}
	return 0;
}

size_t
text_valid_prefix(const char *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		int n = utf8_length((const unsigned char *)bytes + at,
				    len - at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	return at;
}

bool
text_is_cut(const char *bytes, size_t len)
{
	size_t at = text_valid_prefix(bytes, len);

	return at < len &&
	       utf8_length((const unsigned char *)bytes + at, len - at) < 0;
}

json_t *
text_to_json(const char *bytes, size_t len)
{
	own(buf) struct buf out = BUF_INIT(3 * len + 3);
	size_t at = 0;

	if (text_valid_prefix(bytes, len) == len)
		return json_stringn(bytes, len);
	while (at < len) {
		size_t n = text_valid_prefix(bytes + at, len - at);

		if (buf_add(&out, bytes + at, n) < 0)
			return NULL;
		at += n;
		if (at < len) {
			if (buf_add(&out, "\xef\xbf\xbd", 3) < 0)
				return NULL;
			at++;
		}
	}
	return json_stringn(buf_text(&out), out.len);
}

/* More bytes than any number needs. */
#define NUMBER_BYTES 40

static size_t
escaped_len(const char *text, size_t len)
{
	size_t n = 2;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		n += c < 0x20 ? 6 : c == '"' || c == '\\' ? 2 : 1;
	}
	return n;
}

size_t
text_json_bound(const json_t *value)
{
	size_t n = 2, i;
	const char *key;
	json_t *item;

	switch (json_typeof(value)) {
	case JSON_STRING:
		return escaped_len(json_string_value(value),
				   json_string_length(value));
	case JSON_ARRAY:
		json_array_foreach(value, i, item)
		{
			n += text_json_bound(item) + 1;
		}
		return n;
	case JSON_OBJECT:
		json_object_foreach((json_t *)value, key, item)
		{
			n += escaped_len(key, strlen(key)) +
			     text_json_bound(item) + 2;
		}
		return n;
	default:
		return NUMBER_BYTES;
	}
}

/* Most members of a result are one of these words; they need no call of the
   JSON writer. */
static const char *
short_json(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_NULL:
		return "null";
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	case JSON_ARRAY:
		return json_array_size(value) ? NULL : "[]";
	default:
		return NULL;
	}
}

int
text_add_json(struct buf *out, const json_t *value)
{
	const size_t flags =
		JSON_COMPACT | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY;
	const char *word = short_json(value);
	size_t bound, len;

	if (word)
		return buf_add(out, word, strlen(word));
	bound = text_json_bound(value);
	if (buf_reserve(out, bound) < 0)
		return -1;
	len = json_dumpb(value, out->data + out->len, bound, flags);
	if (!len || len > bound) {
		errno = ENOMEM;
		return -1;
	}
	out->len += len;
	out->data[out->len] = '\0';
	return 0;
}

int
text_add_name(struct buf *out, const char *name)
{
	bool first = !out->len || out->data[out->len - 1] == '{';

	if (buf_add(out, first ? "\"" : ",\"", first ? 1 : 2) < 0 ||
	    buf_add(out, name, strlen(name)) < 0)
		return -1;
	return buf_add(out, "\":", 2);
}

char *
text_from_json(const json_t *doc, size_t *len)
{
	own(buf) struct buf out = BUF_INIT(SIZE_MAX / 4);

	if (text_add_json(&out, doc) < 0)
		return NULL;
	buf_fit(&out);
	*len = out.len;
	return take_ptr(&out.data);
}

/* ---- base64 ---- */

static int
base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes four characters to `keep` (1 to 3) bytes. */
static int
base64_decode_group(const char *text, size_t keep, char *out)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < 4; i++) {
		int v = i <= keep ? base64_value(text[i]) : 0;

		if (v < 0)
			return -1;
		bits = bits << 6 | (uint32_t)v;
	}
	for (size_t i = 0; i < keep; i++)
		out[i] = (char)(bits >> (16 - 8 * i));
	/* Unused bits must be zero, so that equal bytes have equal texts. */
	return bits & ((UINT32_C(1) << (8 * (3 - keep))) - 1) ? -1 : 0;
}

int
base64_decode(const char *text, size_t len, char **bytes, size_t *out)
{
	size_t pad = 0, groups = len / 4;
	char *to;

	errno = EINVAL;
	if (len % 4)
		return -1;
	while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
		pad++;
	to = malloc(groups * 3 + 1);
	if (!to)
		return -1;
	for (size_t i = 0; i < groups; i++)
		if (base64_decode_group(text + 4 * i,
					i + 1 == groups ? 3 - pad : 3,
					to + 3 * i) < 0) {
			free(to);
			errno = EINVAL;
			return -1;
		}
	*out = groups * 3 - pad;
	to[*out] = '\0';
	*bytes = to;
	return 0;
}

char *
base64_encode(const char *bytes, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm"
				     "nopqrstuvwxyz0123456789+/";
	const unsigned char *s = (const unsigned char *)bytes;
	char *out = malloc((len + 2) / 3 * 4 + 1), *to = out;

	if (!out)
		return NULL;
	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)s[i] << 16;

		if (i + 1 < len)
			v |= (uint32_t)s[i + 1] << 8;
		if (i + 2 < len)
			v |= s[i + 2];
		*to++ = digits[v >> 18 & 63];
		*to++ = digits[v >> 12 & 63];
		*to++ = i + 1 < len ? digits[v >> 6 & 63] : '=';
		*to++ = i + 2 < len ? digits[v & 63] : '=';
	}
	*to = '\0';
	return out;
}

/* ---- the shape of a JSON text ---- */

/* Returns the position after the string that begins here. */
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
