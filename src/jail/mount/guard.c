#include "jail/mount/guard.h"

#include <limits.h>
#include <string.h>

#include "base/file/path.h"

/* Under its name, and under that without links. */
static int
add(struct list *out, const char *path)
{
	char real[PATH_MAX];

	if (!path || path[0] != '/' || !path[1])
		return 0;
	if (list_add(out, path) < 0)
		return -1;
	if (!realpath(path, real) || !strcmp(real, path))
		return 0;
	return list_add(out, real);
}

static int
add_links(struct list *out, const struct list *links)
{
	for (size_t i = 0; i < links->count; i++) {
		own_mem char *path = strdup(links->items[i]);

		if (!path)
			return -1;
		path[strcspn(path, "\t")] = '\0';
		if (add(out, path) < 0)
			return -1;
	}
	return 0;
}

int
guard_list(struct list *out, const struct interpreter *in,
	   const char *runtime_dir)
{
	const char *const paths[] = { in->executable,  in->real,
				      in->prefix,      in->exec_prefix,
				      in->compiled,    runtime_dir,
				      "/proc/self/exe" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (add(out, paths[i]) < 0)
			return -1;
	for (size_t i = 0; i < in->mounts.count; i++)
		if (add(out, in->mounts.items[i]) < 0)
			return -1;
	return add_links(out, &in->links);
}

bool
guard_meets(const struct list *guarded, const char *directory)
{
	for (size_t i = 0; i < guarded->count; i++)
		if (path_lies_in(guarded->items[i], directory) ||
		    path_lies_in(directory, guarded->items[i]))
			return true;
	return false;
}
