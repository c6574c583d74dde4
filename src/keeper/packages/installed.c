#include "keeper/packages/installed.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* NAME-VERSION.dist-info, or .egg-info; false if it is neither. */
static bool
read_name(const char *directory, char *out, size_t size)
{
	const char *dash = strchr(directory, '-');
	const char *end = strstr(directory, ".dist-info");

	if (!end)
		end = strstr(directory, ".egg-info");
	if (!dash || !end || dash > end || directory[0] == '.')
		return false;
	snprintf(out, size, "%.*s %.*s", (int)(dash - directory), directory,
		 (int)strcspn(dash + 1, "-") < (int)(end - dash - 1)
			 ? (int)strcspn(dash + 1, "-")
			 : (int)(end - dash - 1),
		 dash + 1);
	/* For a prompt: words only. */
	return strspn(out, "abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "0123456789._+! ") == strlen(out);
}

static bool
has(const struct list *l, const char *text)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->items[i], text))
			return true;
	return false;
}

static int
look_into(struct list *out, const char *path, struct remit_error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	char name[256];
	int failed = 0;

	if (!dir) {
		own_fd_close(&fd);
		return 0;
	}
	while (!failed && out->count < INSTALLED_MAX && (entry = readdir(dir)))
		if (read_name(entry->d_name, name, sizeof(name)) &&
		    !has(out, name) && list_add(out, name) < 0)
			failed = fail_sys(err, REMIT_E_MEMORY, "packages");
	closedir(dir);
	return failed;
}

static int
compare(const void *a, const void *b)
{
	return strcasecmp(*(char *const *)a, *(char *const *)b);
}

int
installed_list(struct list *out, const struct interpreter *in,
	       struct remit_error *err)
{
	for (size_t i = 0; i < in->sys_path.count; i++)
		if (look_into(out, in->sys_path.items[i], err) < 0)
			return -1;
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), compare);
	return 0;
}
