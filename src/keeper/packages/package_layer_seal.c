/*
 * package_layer_seal: the seal of a package layer, which shows whether a file
 * of it was changed; see package_layer.h.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/beneath.h"
#include "keeper/packages/package_layer.h"

#define DEPTH_MAX 64
#define COUNT_MAX 500000

struct walk {
	struct sha256 sum;
	unsigned count;
	bool seals_directories; /* make directories read-only as well */
};

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int
is_name(const struct dirent *e)
{
	return !beneath_is_dots(e->d_name);
}

static void
walk_add(struct walk *w, const char *name, const struct stat *st)
{
	const uint64_t facts[] = {
		st->st_mode,
		S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec,
		(uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec,
		(uint64_t)st->st_ctim.tv_nsec,
	};

	sha256_add(&w->sum, name, strlen(name) + 1);
	sha256_add(&w->sum, facts, sizeof(facts));
}

static int walk_directory(struct walk *w, int directory, const char *name,
			  unsigned depth);

static int
walk_name(struct walk *w, int directory, const char *name, unsigned depth)
{
	own_fd int below = -1;
	struct stat st;

	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		walk_add(w, name, &st);
		return 0;
	}
	below = openat(directory, name,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return below < 0 ? -1 : walk_directory(w, below, name, depth + 1);
}

static int
walk_directory(struct walk *w, int directory, const char *name, unsigned depth)
{
	struct dirent **all = NULL;
	struct stat st;
	int n, failed = 0;

	if (depth > DEPTH_MAX || w->count > COUNT_MAX) {
		errno = E2BIG;
		return -1;
	}
	if (w->seals_directories && fchmod(directory, 0555) < 0)
		return -1;
	n = scandirat(directory, ".", &all, is_name, by_name);
	if (n < 0 || fstat(directory, &st) < 0)
		failed = -1;
	else
		walk_add(w, name, &st);
	for (int i = 0; i < n; i++) {
		w->count++;
		if (!failed)
			failed = walk_name(w, directory, all[i]->d_name, depth);
		free(all[i]);
	}
	free(all);
	/* Mark the end of a directory, so that "a/b, c" and "a, b, c" have
	   different sums. */
	sha256_add(&w->sum, "/", 1);
	return failed;
}

int
package_layer_seal(int directory, char out[SHA256_TEXT])
{
	struct walk w = { .sum = SHA256_INIT };

	if (walk_directory(&w, directory, "", 0) < 0)
		return -1;
	sha256_end(&w.sum, out);
	return 0;
}

int
package_layer_seal_directories(int directory)
{
	struct walk w = { .sum = SHA256_INIT, .seals_directories = true };

	return walk_directory(&w, directory, "", 0);
}
