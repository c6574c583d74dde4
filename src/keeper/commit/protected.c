#include "keeper/commit/protected.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file/glob.h"

/* All names that begin with a dot are protected, since every tool has its own;
   and the names that Python runs at its start or instead of a source file. File
   systems may ignore case. */
static const char *const ends[] = { ".pth", ".pyc", ".pyo" };
/* Compared up to the first dot, since modules are directories or files of
   several types. */
static const char *const stems[] = { "sitecustomize", "usercustomize", "pyvenv",
				     "__pycache__" };

static bool
is_protected(const char *name, size_t n)
{
	size_t stem = strcspn(name, "./");

	if (name[0] == '.')
		return true;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (n > 4 && !strncasecmp(name + n - 4, ends[i], 4))
			return true;
	/* A git repository needs this file. Only capital letters count: "head"
	   is an ordinary name, and overlayfs refuses file systems that ignore
	   case. */
	if (n == 4 && !memcmp(name, "HEAD", n))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(stems); i++)
		if (stem == strlen(stems[i]) &&
		    !strncasecmp(name, stems[i], stem))
			return true;
	return false;
}

static bool
has_protected(const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (is_protected(path, n))
			return true;
		path += n + (path[n] == '/');
	}
	return false;
}

static bool
any_matches(const struct list *l, const char *path,
	    bool (*test)(const char *, const char *))
{
	for (size_t i = 0; i < l->count; i++)
		if (test(l->items[i], path))
			return true;
	return false;
}

bool
protected_is_named(const char *path, bool directory, const struct list *allowed)
{
	return any_matches(allowed, path, glob_matches) ||
	       (directory && any_matches(allowed, path, glob_leads_into));
}

bool
protected_path(const char *path, const struct list *allowed)
{
	return has_protected(path) && !protected_is_named(path, false, allowed);
}

bool
protected_directory(const char *path, const struct list *allowed)
{
	return has_protected(path) && !protected_is_named(path, true, allowed);
}

/* Git treats a directory as a repository if it has HEAD, and either objects and
   refs, of any type, or a file that says where these are. It looks in the
   current directory and in those above. */
bool
protected_is_repository(int a, int b, const char *name)
{
	static const char *const parts[] = { "HEAD", "objects", "refs",
					     "commondir" };
	const int at[] = { a, b };
	char path[NAME_MAX + sizeof("/commondir")];
	bool has[ARRAY_LEN(parts)] = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		snprintf(path, sizeof(path), "%s/%s", name, parts[i]);
		for (size_t k = 0; k < ARRAY_LEN(at); k++)
			has[i] |= at[k] >= 0 &&
				  faccessat(at[k], path, F_OK,
					    AT_SYMLINK_NOFOLLOW) == 0;
	}
	return has[0] && ((has[1] && has[2]) || has[3]);
}
