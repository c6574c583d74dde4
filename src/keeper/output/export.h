/*
 * export: give files of a dead jail's workspace to its client, in small steps.
 *
 * Nobody in the jail lives any more, so nothing changes while it is looked at.
 * But its last state was chosen by the code: names, links, sizes and depth are
 * what an adversary likes them to be. So the walk knows no recursion, follows
 * no link, opens only what is beneath the workspace, and every step is small.
 */
#ifndef REMIT_EXPORT_H
#define REMIT_EXPORT_H

#include <dirent.h>

#include "base/file/path.h"
#include "base/list.h"
#include "policy/plan/plan.h"
#include "wire/link.h"

/* The most that artifact_depth can be. */
#define EXPORT_DEPTH_MAX 64
/* So many are told by name, the others by their number. */
#define EXPORT_SKIPPED_MAX 100

struct export_directory {
	DIR *dir;
	size_t path_len;
};

struct export
{
	const struct plan *plan;
	struct list patterns; /* tidied */
	struct export_directory directories[EXPORT_DEPTH_MAX];
	size_t depth; /* how many of them are open */
	char path[PLAIN_PATH_SIZE];
	int file;	     /* that is being sent, or -1 */
	uint64_t left_bytes; /* of it */
	uint64_t total_bytes;
	uint64_t count;
	struct buf skipped; /* JSON objects with commas between them */
	uint64_t skipped_count;
	struct buf given; /* the same of what was sent, as much as fits */
	bool over;	  /* nothing is left to do */
};

#define EXPORT_INIT                           \
	{                                     \
		.file = -1,                   \
		.skipped = BUF_INIT(1 << 20), \
		.given = BUF_INIT(1 << 20),   \
	}

/* Takes the descriptor of the workspace. */
int export_open(struct export *h, const struct plan *plan, int workspace,
		struct remit_error *err) must_check;
/* One name, or one piece of a file. */
int export_step(struct export *h, struct link *client,
		struct remit_error *err) must_check;
/* There is no time for more. */
int export_stop(struct export *h, struct remit_error *err) must_check;
/* The list of what was not given, as JSON. */
int export_write_skipped(const struct export *h, struct buf *out) must_check;
void export_free(struct export *h);

#endif
