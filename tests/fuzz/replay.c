/*
 * replay: runs a fuzz target on every file of a directory, in ordinary builds.
 *
 *	replay_policy tests/fuzz/corpus/policy
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
replay_file(const char *directory, const char *name)
{
	own(buf) struct buf b = BUF_INIT(16 * 1024 * 1024);
	struct remit_error err;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (path_read_file(&b, path, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return -1;
	}
	/* Printed before the target runs, since it aborts on a failure. */
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput((const uint8_t *)buf_text(&b), b.len);
	return 0;
}

int
main(int argc, char **argv)
{
	DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
	struct dirent *e;
	int files = 0;

	if (!directory) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	while ((e = readdir(directory))) {
		if (e->d_name[0] == '.')
			continue;
		if (replay_file(argv[1], e->d_name) < 0)
			return 1;
		files++;
	}
	closedir(directory);
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	/* An empty directory is a failure: the corpus may have moved. */
	return files ? 0 : 1;
}
