#include "base/file/plain.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

static bool
has_control(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		/* The second row of control characters is two bytes long. */
		if (c < 0x20 || c == 0x7f ||
		    (c == 0xc2 && (unsigned char)s[i + 1] < 0xa0))
			return true;
	}
	return false;
}

static bool
is_plain(const char *s, size_t len)
{
	if (!len || len > NAME_MAX || s[0] == '-')
		return false;
	if (s[0] == '.' && (len == 1 || (len == 2 && s[1] == '.')))
		return false;
	return text_valid_prefix(s, len) == len && !has_control(s, len);
}

bool
plain_name(const char *name)
{
	return !strchr(name, '/') && is_plain(name, strlen(name));
}

bool
plain_path(const char *path)
{
	if (strnlen(path, PLAIN_PATH_SIZE) == PLAIN_PATH_SIZE)
		return false;
	for (;;) {
		size_t n = strcspn(path, "/");

		if (!is_plain(path, n))
			return false;
		if (!path[n])
			return true;
		path += n + 1;
	}
}
