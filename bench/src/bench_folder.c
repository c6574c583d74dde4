#include "bench_folder.h"

#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

int
bench_folder_make(char out[BENCH_FOLDER_SIZE], struct remit_error *err)
{
	const char *base = getenv("TMPDIR");

	/* Long names are no place for sockets. */
	if (!base || base[0] != '/' || strlen(base) > 40)
		base = "/tmp";
	snprintf(out, BENCH_FOLDER_SIZE, "%s/remit-bench-XXXXXX", base);
	if (mkdtemp(out))
		return 0;
	*out = '\0';
	return fail_sys(err, REMIT_E_KERNEL, "make a folder in %s", base);
}

/* Unmount the last mount inside. Only root's peers can have made one. */
static bool
unmount_last(const char *folder)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[2 * PATH_MAX], path[PATH_MAX], last[PATH_MAX] = "";
	size_t n = strlen(folder);

	if (!f)
		return false;
	/* proc(5): the fifth word is the mount point. */
	while (fgets(line, sizeof(line), f)) {
		char *at = line, *word = NULL;

		for (int i = 0; i < 5; i++)
			word = strsep(&at, " ");
		snprintf(path, sizeof(path), "%s", word ? word : "");
		if (!strncmp(path, folder, n) && path[n] == '/')
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
bench_folder_remove(const char *folder)
{
	if (!*folder)
		return;
	while (unmount_last(folder))
		;
	nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
