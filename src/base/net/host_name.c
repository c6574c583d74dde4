#include "base/net/host_name.h"

#include <string.h>

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns the letter in lower case, or 0 if a name may not contain it. */
static char
host_letter(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	if ((c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_')
		return c;
	return 0;
}

static bool
label_is_fine(const char *label, size_t len)
{
	return len >= 1 && len <= 63 && label[0] != '-' &&
	       label[len - 1] != '-';
}

/* Some resolvers parse 0x... as a number. */
static bool
is_number(const char *label)
{
	if (label[0] == '0' && label[1] == 'x')
		return true;
	while (is_digit(*label))
		label++;
	return !*label;
}

int
host_name_read(const char *bytes, size_t len, char out[HOST_NAME_SIZE])
{
	size_t label = 0;

	if (len && bytes[len - 1] == '.')
		len--;
	if (!len || len >= HOST_NAME_SIZE)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '.') {
			if (!label_is_fine(out + label, i - label))
				return -1;
			out[i] = '.';
			label = i + 1;
			continue;
		}
		out[i] = host_letter(bytes[i]);
		if (!out[i])
			return -1;
	}
	out[len] = '\0';
	if (!label_is_fine(out + label, len - label) || is_number(out + label))
		return -1;
	return 0;
}

bool
host_name_is_below(const char *name, const char *parent)
{
	size_t n = strlen(name), p = strlen(parent);

	return n > p + 1 && name[n - p - 1] == '.' &&
	       !strcmp(name + n - p, parent);
}
