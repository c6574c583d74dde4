#include "bench_directory.h"

#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

int
bench_directory_make(char out[BENCH_DIRECTORY_SIZE], struct remit_error *err)
{
	const char *base = getenv("TMPDIR");

	/* Long names are no place for sockets. */
	if (!base || base[0] != '/' || strlen(base) > 40)
		base = "/tmp";
	snprintf(out, BENCH_DIRECTORY_SIZE, "%s/remit-bench-XXXXXX", base);
	if (mkdtemp(out))
		return 0;
	*out = '\0';
	return fail_sys(err, REMIT_E_KERNEL, "make a folder in %s", base);
}

/* Unmount the last mount inside. Only root's peers can have made one. */
static bool
unmount_last(const char *directory)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[2 * PATH_MAX], path[PATH_MAX], last[PATH_MAX] = "";
	size_t n = strlen(directory);

	if (!f)
		return false;
	/* proc(5): the fifth word is the mount point. */
	while (fgets(line, sizeof(line), f)) {
		char *at = line, *word = NULL;

		for (int i = 0; i < 5; i++)
			word = strsep(&at, " ");
		snprintf(path, sizeof(path), "%s", word ? word : "");
		if (!strncmp(path, directory, n) && path[n] == '/')
			memcpy(last, path, sizeof(last));
	}
	fclose(f);
	return *last && umount2(last, MNT_DETACH | UMOUNT_NOFOLLOW) == 0;
}

static int
remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	remove(path);
	return 0;
}

void
bench_directory_remove(const char *directory)
{
	if (!*directory)
		return;
	while (unmount_last(directory))
		;
	nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
