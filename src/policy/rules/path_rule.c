#include "policy/rules/path_rule.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file/path.h"

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
	{ .path = PATH_RULE_WORKSPACE, .below_is_free = true },
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

/* ---- the workspace ---- */

/* Directories in which no workspace may be: the jail or the programs in it
   need what is there. */
static const char *const occupied[] = {
	"/bin",	  "/boot",  "/dev",    "/etc",	"/lib",
	"/lib32", "/lib64", "/libx32", "/proc", "/run",
	"/sbin",  "/sys",   "/tmp",    "/usr",	"/var",
};

static bool
is_place_byte(char c, bool is_first)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '_')
		return true;
	return !is_first && (c == '.' || c == '-');
}

/* The path is written into /etc/passwd, the environment and instructions for
   models, where other characters would have a meaning. */
static bool
has_only_plain_names(const char *path)
{
	for (const char *at = path; *at; at++)
		if (*at != '/' && !is_place_byte(*at, at[-1] == '/'))
			return false;
	return true;
}

int
path_rule_place(const char *text, char *out, const char *place,
		struct remit_error *err)
{
	char shown[QUOTE_SIZE];
	char path[PATH_RULE_SIZE] = "";

	if (path_rule_host(text, path, place, err) < 0)
		return -1;
	if (!strcmp(path, "/"))
		return fail(err, REMIT_E_INPUT,
			    "%s: \"/\" is the root of the jail: choose a "
			    "directory below it",
			    place);
	if (strlen(path) >= PATH_RULE_PLACE_SIZE)
		return fail(err, REMIT_E_INPUT,
			    "%s: the path is longer than %d bytes", place,
			    PATH_RULE_PLACE_SIZE - 1);
	if (!has_only_plain_names(path))
		return fail(
			err, REMIT_E_INPUT,
			"%s: each name in %s must consist of letters, "
			"digits, \"_\", and after the first character \".\" "
			"and \"-\"",
			place, quote(shown, text));
	for (size_t i = 0; i < ARRAY_LEN(occupied); i++)
		if (path_lies_in(path, occupied[i]))
			return fail(err, REMIT_E_INPUT,
				    "%s: %s is in %s, which the jail needs "
				    "itself: choose another path, such as "
				    "/home/user, /mnt/data or /content",
				    place, quote(shown, path), occupied[i]);
	memcpy(out, path, strlen(path) + 1);
	return 0;
}

const char *
path_rule_inside(const struct policy *p, const char *path)
{
	if (path_lies_in(path, p->workspace))
		return path + strlen(p->workspace);
	for (size_t i = 0; i < p->workspace_aliases.count; i++)
		if (path_lies_in(path, p->workspace_aliases.items[i]))
			return path + strlen(p->workspace_aliases.items[i]);
	return NULL;
}

bool
path_rule_is_below_writable(const struct policy *p, const char *jail)
{
	return path_lies_in(jail, "/tmp") || path_rule_inside(p, jail);
}

/* ---- paths in it ---- */

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

/* Checks a path below a directory whose own path has `above` bytes. *out is
   without empty and "." components, and begins with a slash. */
static int
check_below(size_t above, const char *text, char out[PATH_RULE_SIZE],
	    const char *place, struct remit_error *err)
{
	char shown[QUOTE_SIZE];
	char whole[2 * PATH_RULE_SIZE];

	if (!*text)
		return fail(err, REMIT_E_INPUT, "%s: the path is empty", place);
	if (strnlen(text, PATH_RULE_SIZE) + above + 2 > PATH_RULE_SIZE)
		return fail_too_long(place, err);
	snprintf(whole, sizeof(whole), "/%s", text);
	path_tidy(whole, out);
	if (has_dotdot(out))
		return fail(err, REMIT_E_INPUT,
			    "%s: %s contains \"..\": write the path without it",
			    place, quote(shown, text));
	if (has_long_name(out))
		return fail(err, REMIT_E_INPUT,
			    "%s: %s has a name of more than %d bytes", place,
			    quote(shown, text), NAME_MAX);
	return 0;
}

int
path_rule_workspace(const struct policy *p, const char *text,
		    char out[PATH_RULE_SIZE], const char *place,
		    struct remit_error *err)
{
	char shown[QUOTE_SIZE];
	char path[PATH_RULE_SIZE] = "";
	const char *rest = path;

	if (check_below(strlen(p->workspace), text, path, place, err) < 0)
		return -1;
	if (*text == '/')
		rest = path_rule_inside(p, path);
	if (!rest || !*rest || !rest[1])
		return fail(err, REMIT_E_INPUT,
			    "%s: %s is not in the workspace: write a path "
			    "relative to %s, or one below it",
			    place, quote(shown, text), p->workspace);
	rest++;
	memcpy(out, rest, strlen(rest) + 1);
	return 0;
}

int
path_rule_below(const char *text, char out[PATH_RULE_SIZE], const char *place,
		struct remit_error *err)
{
	char shown[QUOTE_SIZE];
	char path[PATH_RULE_SIZE] = "";

	if (*text == '/')
		return fail(err, REMIT_E_INPUT,
			    "%s: %s is absolute: write a path relative to the "
			    "folder",
			    place, quote(shown, text));
	if (check_below(sizeof(PATH_RULE_WORKSPACE), text, path, place, err) <
	    0)
		return -1;
	if (!path[1])
		return fail(err, REMIT_E_INPUT,
			    "%s: %s names the folder itself: write a path "
			    "below it",
			    place, quote(shown, text));
	memcpy(out, path + 1, strlen(path + 1) + 1);
	return 0;
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
