#include "policy/rules/path_rule.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file/path.h"

#define WORKSPACE "/workspace"

/* Directories that the jail creates, and whether the policy may mount something
   below them. */
static const struct owned {
	const char *path;
	bool below_is_free;
} owned[] = {
	{ .path = "/proc" },
	{ .path = "/dev" },
	{ .path = "/sys" },
	{ .path = "/.remit" },
	{ .path = WORKSPACE, .below_is_free = true },
	{ .path = "/tmp", .below_is_free = true },
};

static int
fail_too_long(const char *place, struct remit_error *err)
{
	return fail(err, REMIT_E_INPUT, "%s: the path is longer than %d bytes",
		    place, PATH_RULE_SIZE - 1);
}

/* Copies an absolute path without empty and "." components. */
static void
path_tidy(const char *text, char *out)
{
	char *end = out;

	while (*text) {
		size_t n = strcspn(text, "/");

		if (n && !(n == 1 && *text == '.')) {
			*end++ = '/';
			memcpy(end, text, n);
			end += n;
		}
		text += n;
		text += strspn(text, "/");
	}
	if (end == out)
		*end++ = '/';
	*end = '\0';
}

int
path_rule_host(const char *text, char out[PATH_RULE_SIZE], const char *place,
	       struct remit_error *err)
{
	char shown[QUOTE_SIZE];

	if (!*text)
		return fail(err, REMIT_E_INPUT, "%s: the path is empty", place);
	if (strnlen(text, PATH_RULE_SIZE) == PATH_RULE_SIZE)
		return fail_too_long(place, err);
	if (*text != '/')
		return fail(err, REMIT_E_INPUT,
			    "%s: %s is not absolute: it must start with /",
			    place, quote(shown, text));
	path_tidy(text, out);
	return 0;
}

static bool
has_dotdot(const char *path)
{
	for (const char *s = path; (s = strstr(s, "/..")); s += 3)
		if (s[3] == '/' || s[3] == '\0')
			return true;
	return false;
}

/* Returns '\0' if path is dir, '/' if it is below dir, else -1. */
static int
path_relation(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (strncmp(path, dir, n) || (path[n] != '/' && path[n] != '\0'))
		return -1;
	return path[n];
}

static int
check_owned(const char *path, const char *place, struct remit_error *err)
{
	char shown[QUOTE_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(owned); i++) {
		int r = path_relation(path, owned[i].path);

		if (r < 0 || (r == '/' && owned[i].below_is_free))
			continue;
		if (owned[i].below_is_free)
			return fail(err, REMIT_E_INPUT,
				    "%s: %s is the jail's own writable "
				    "directory: choose a path below it",
				    place, quote(shown, path));
		return fail(err, REMIT_E_INPUT,
			    "%s: %s is in %s, which belongs to the jail: "
			    "choose another path in the jail",
			    place, quote(shown, path), owned[i].path);
	}
	return 0;
}

int
path_rule_jail(const char *text, char out[PATH_RULE_SIZE], const char *place,
	       struct remit_error *err)
{
	char shown[QUOTE_SIZE];
	char path[PATH_RULE_SIZE];

	if (path_rule_host(text, path, place, err) < 0)
		return -1;
	if (has_dotdot(path))
		return fail(err, REMIT_E_INPUT,
			    "%s: %s contains \"..\": write the path without it",
			    place, quote(shown, text));
	if (!strcmp(path, "/"))
		return fail(err, REMIT_E_INPUT,
			    "%s: \"/\" is the root of the jail: choose "
			    "directories below it",
			    place);
	if (check_owned(path, place, err) < 0)
		return -1;
	memcpy(out, path, strlen(path) + 1);
	return 0;
}

static bool
has_long_name(const char *path)
{
	for (size_t n; *path; path += n + (path[n] == '/')) {
		n = strcspn(path, "/");
		if (n > NAME_MAX)
			return true;
	}
	return false;
}

bool
path_rule_is_below_writable(const char *jail)
{
	for (size_t i = 0; i < ARRAY_LEN(owned); i++)
		if (owned[i].below_is_free && path_lies_in(jail, owned[i].path))
			return true;
	return false;
}

int
path_rule_workspace(const char *text, char out[PATH_RULE_SIZE],
		    const char *place, struct remit_error *err)
{
	static const char top[] = WORKSPACE "/";
	char shown[QUOTE_SIZE];
	char whole[2 * PATH_RULE_SIZE];
	char path[PATH_RULE_SIZE];

	if (!*text)
		return fail(err, REMIT_E_INPUT, "%s: the path is empty", place);
	if (strnlen(text, PATH_RULE_SIZE) + sizeof(top) > PATH_RULE_SIZE)
		return fail_too_long(place, err);
	snprintf(whole, sizeof(whole), "%s%s", *text == '/' ? "" : top, text);
	path_tidy(whole, path);
	if (has_dotdot(path))
		return fail(err, REMIT_E_INPUT,
			    "%s: %s contains \"..\": write the path without it",
			    place, quote(shown, text));
	if (strncmp(path, top, sizeof(top) - 1) != 0)
		return fail(err, REMIT_E_INPUT,
			    "%s: %s is not in the workspace: write a path "
			    "relative to " WORKSPACE ", or one below it",
			    place, quote(shown, text));
	if (has_long_name(path))
		return fail(err, REMIT_E_INPUT,
			    "%s: %s has a name of more than %d bytes", place,
			    quote(shown, text), NAME_MAX);
	memcpy(out, path + sizeof(top) - 1, strlen(path + sizeof(top) - 1) + 1);
	return 0;
}

int
path_rule_below(const char *text, char out[PATH_RULE_SIZE], const char *place,
		struct remit_error *err)
{
	char shown[QUOTE_SIZE];

	if (*text == '/')
		return fail(err, REMIT_E_INPUT,
			    "%s: %s is absolute: write a path relative to the "
			    "folder",
			    place, quote(shown, text));
	return path_rule_workspace(text, out, place, err);
}

/* Resolves leading "." and ".." of *text by removing names from the end of
   `dir`. */
static void
path_climb(char *dir, const char **text)
{
	for (;;) {
		const char *s = *text;
		size_t n = strcspn(s, "/");
		char *slash;

		if (n == 2 && s[0] == '.' && s[1] == '.') {
			slash = strrchr(dir, '/');
			slash[slash == dir] = '\0';
		} else if (!(n == 1 && *s == '.')) {
			return;
		}
		s += n;
		*text = s + strspn(s, "/");
	}
}

int
path_rule_from_here(const char *text, char out[PATH_RULE_SIZE],
		    const char *place, struct remit_error *err)
{
	char dir[PATH_RULE_SIZE] = "";
	int n;

	if (!*text)
		return fail(err, REMIT_E_INPUT, "%s: the path is empty", place);
	if (*text != '/') {
		errno = ENOENT; /* for a result of "(unreachable)...", see
				   getcwd(3) */
		if (!getcwd(dir, sizeof(dir)) || *dir != '/')
			return fail_sys(err, REMIT_E_INPUT,
					"%s: the current directory has no "
					"path: write an absolute path",
					place);
		path_climb(dir, &text);
	}
	n = snprintf(out, PATH_RULE_SIZE, "%s%s%s", dir, *dir ? "/" : "", text);
	if (n >= PATH_RULE_SIZE)
		return fail_too_long(place, err);
	return 0;
}
