#include "serve/compat/piston_version.h"

#include <string.h>

#include "base/own.h"

/* Up to three numbers; the rest is whatever it is. */
struct partial {
	int part[3];
	int count;
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "3", "3.11", "3.x", "*": what is behind it, or NULL. */
static const char *
read_partial(const char *at, struct partial *p)
{
	bool is_open = false; /* a number behind a star says nothing */

	*p = (struct partial){ .count = 0 };
	at += *at == 'v';
	for (int i = 0; i < 3; i++) {
		int n = 0;

		if (*at == 'x' || *at == 'X' || *at == '*') {
			is_open = true;
			at++;
		} else if (is_digit(*at)) {
			while (is_digit(*at) && n < 100000)
				n = n * 10 + (*at++ - '0');
			if (!is_open)
				p->part[p->count++] = n;
		} else {
			return NULL;
		}
		if (*at != '.')
			break;
		if (i < 2)
			at++;
	}
	return *at && *at != ' ' && *at != '|' ? NULL : at;
}

/* -1, 0 or 1: what a partial does not say is equal. */
static int
compare(const int version[3], const struct partial *p)
{
	for (int i = 0; i < p->count; i++)
		if (version[i] != p->part[i])
			return version[i] < p->part[i] ? -1 : 1;
	return 0;
}

/* The same in its first parts. */
static bool
agrees(const int version[3], const struct partial *p, int parts)
{
	for (int i = 0; i < parts && i < p->count; i++)
		if (version[i] != p->part[i])
			return false;
	return true;
}

/* No change of the first number that is not 0. */
static bool
is_compatible(const int version[3], const struct partial *p)
{
	int parts = 1;

	while (parts < 3 && !p->part[parts - 1])
		parts++;
	return agrees(version, p, parts);
}

static bool
meets(const int version[3], const char *op, size_t len, const struct partial *p)
{
	int order = compare(version, p);

	if (!len || (len == 1 && *op == '='))
		return order == 0;
	if (len == 1 && *op == '^')
		return order >= 0 && is_compatible(version, p);
	if (len == 1 && *op == '~')
		return order >= 0 && agrees(version, p, 2);
	if (*op == '>')
		return order > 0 || (len == 2 && order == 0);
	return order < 0 || (len == 2 && order == 0);
}

/* One condition; what is behind it, or NULL if it is none. */
static const char *
read_condition(const char *at, const int version[3], bool *is_met)
{
	static const char *const ops[] = {
		">=", "<=", ">", "<", "=", "^", "~"
	};
	const char *op = at;
	struct partial p;
	size_t len = 0;

	for (size_t i = 0; !len && i < ARRAY_LEN(ops); i++)
		if (!strncmp(at, ops[i], strlen(ops[i])))
			len = strlen(ops[i]);
	at += len;
	at += strspn(at, " ");
	at = read_partial(at, &p);
	*is_met = at && meets(version, op, len, &p);
	return at;
}

bool
piston_version_matches(const char *selector, const int version[3])
{
	bool is_any = false, is_all = true;
	const char *at = selector + strspn(selector, " ");

	if (!*at)
		return false;
	while (at && *at) {
		bool is_met;

		at = read_condition(at, version, &is_met);
		if (!at)
			return false;
		is_all &= is_met;
		at += strspn(at, " ");
		if (*at && *at != '|')
			continue;
		is_any |= is_all;
		is_all = true;
		if (!*at)
			return is_any;
		if (strncmp(at, "||", 2) != 0)
			return false;
		at += 2;
		at += strspn(at, " ");
	}
	return false;
}
