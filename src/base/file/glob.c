#include "base/file/glob.h"

#include <stddef.h>
#include <string.h>

/* One part of a path or pattern: up to the next slash or the end. */
struct part {
	const char *at;
	size_t len;
};

static struct part
part_at(const char *text)
{
	return (struct part){ text, strcspn(text, "/") };
}

/* Returns the text after a part and its slash; "" at the end. */
static const char *
after_part(struct part p)
{
	return p.at + p.len + (p.at[p.len] == '/');
}

static bool
is_any_names(struct part p)
{
	return p.len == 2 && p.at[0] == '*' && p.at[1] == '*';
}

static bool
is_hidden(struct part name)
{
	return name.len && name.at[0] == '.';
}

static bool
has_wildcard(struct part p)
{
	return memchr(p.at, '*', p.len) || memchr(p.at, '?', p.len);
}

/* Returns the length of the UTF-8 character at `at`, or 1 if it is invalid. */
static size_t
utf8_length(const char *at, size_t len)
{
	size_t n = 1;

	while (n < len && ((unsigned char)at[n] & 0xc0) == 0x80 && n < 4)
		n++;
	return n;
}

/* Only the last star needs backtracking: each star before it has already
   matched at the earliest possible position. */
static bool
name_matches(struct part pattern, struct part name)
{
	size_t p = 0, n = 0, star = 0, tried = 0;
	bool has_star = false;

	if (is_hidden(name) && !is_hidden(pattern))
		return false;
	while (n < name.len) {
		char c = p < pattern.len ? pattern.at[p] : '\0';

		if (c == '*') {
			has_star = true;
			star = ++p;
			tried = n;
		} else if (c == '?') {
			p++;
			n += utf8_length(name.at + n, name.len - n);
		} else if (p < pattern.len && c == name.at[n]) {
			p++;
			n++;
		} else if (has_star) {
			p = star;
			n = ++tried;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.at[p] == '*')
		p++;
	return p == pattern.len;
}

/* Called at the end of the pattern: whether it matches everything that is left
   of the path. `last` is the pattern's last part. */
static bool
is_rest(const char *rest, struct part last)
{
	if (!*rest)
		return true;
	if (has_wildcard(last))
		return false;
	for (; *rest; rest = after_part(part_at(rest)))
		if (is_hidden(part_at(rest)))
			return false;
	return true;
}

bool
glob_matches(const char *pattern, const char *path)
{
	const char *again_pattern = NULL, *again_path = NULL;
	struct part last = { pattern, 0 };

	for (;;) {
		struct part p = part_at(pattern), name = part_at(path);

		if (is_any_names(p)) {
			if (!*after_part(p) && !*path)
				return false;
			again_pattern = pattern = after_part(p);
			again_path = path;
			last = p;
			if (*pattern || !*path)
				continue;
			/* As the last part it matches the whole rest. */
			for (; *path; path = after_part(part_at(path)))
				if (is_hidden(part_at(path)))
					return false;
			return true;
		}
		if (!*pattern && is_rest(path, last))
			return true;
		if (*pattern && *path && name_matches(p, name)) {
			last = p;
			pattern = after_part(p);
			path = after_part(name);
			continue;
		}
		if (!again_pattern || !*again_path ||
		    is_hidden(part_at(again_path)))
			return false;
		again_path = after_part(part_at(again_path));
		pattern = again_pattern;
		path = again_path;
	}
}

bool
glob_leads_into(const char *pattern, const char *directory)
{
	while (*directory) {
		struct part p = part_at(pattern), name = part_at(directory);

		if (is_any_names(p))
			return !is_hidden(name);
		if (!name_matches(p, name))
			return false;
		pattern = after_part(p);
		directory = after_part(name);
		if (!*pattern)
			return !has_wildcard(p);
	}
	return true;
}
