#include "protected.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#include "glob.h"

/* All that begin with a dot, since every tool has its own; and what Python
   runs at its start. File systems may not tell capitals apart. */
static const char *const others[] = { "sitecustomize.py", "usercustomize.py",
				      "pyvenv.cfg" };

static bool
is_protected(const char *name, size_t n)
{
	if (name[0] == '.' || (n > 4 && !strncasecmp(name + n - 4, ".pth", 4)))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (n == strlen(others[i]) && !strncasecmp(name, others[i], n))
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
