#include "protected.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#include "glob.h"

/* All that begin with a dot, since every tool has its own; and what Python
   runs at its start or instead of a source. File systems may not tell capitals
   apart. */
static const char *const ends[] = { ".pth", ".pyc", ".pyo" };
/* Up to the first dot: modules are files of several kinds, and folders. */
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
any(const struct list *l, const char *path,
    bool (*test)(const char *, const char *))
{
	for (size_t i = 0; i < l->count; i++)
		if (test(l->items[i], path))
			return true;
	return false;
}

bool
protected_path(const char *path, const struct list *allowed)
{
	return has_protected(path) && !any(allowed, path, glob_matches);
}

bool
protected_folder(const char *path, const struct list *allowed)
{
	return protected_path(path, allowed) &&
	       !any(allowed, path, glob_leads_into);
}
