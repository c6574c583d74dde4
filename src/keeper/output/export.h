/*
 * export: sends files of a dead jail's workspace to its client, in small steps.
 *
 * Everything in the jail is dead, so nothing changes during the export. But the
 * code has chosen the final state: names, links, sizes and depth may be
 * hostile. So the walk is not recursive, follows no links, opens only what is
 * beneath the workspace, and every step is small.
 */
#ifndef REMIT_EXPORT_H
#define REMIT_EXPORT_H

#include <dirent.h>

#include "base/file/path.h"
#include "base/list.h"
#include "policy/plan/plan.h"
#include "wire/link.h"

/* The maximum of artifact_depth. */
#define EXPORT_DEPTH_MAX 64
/* This many skipped files are listed by name; the others are counted. */
#define EXPORT_SKIPPED_MAX 100

struct export_directory {
	DIR *dir;
	size_t path_len;
};

struct export
{
	const struct plan *plan;
	struct list patterns; /* in normal form */
	struct export_directory directories[EXPORT_DEPTH_MAX];
	size_t depth; /* number of open directories */
	char path[PLAIN_PATH_SIZE];
	int file;	     /* the file being sent, or -1 */
	uint64_t left_bytes; /* bytes of the file that are still to be sent */
	uint64_t total_bytes;
	uint64_t count;
	struct buf skipped; /* JSON objects separated by commas */
	uint64_t skipped_count;
	struct buf given; /* the same for the files that were sent, until it is
			     full */
	bool over;	  /* nothing is left to do */
};

#define EXPORT_INIT                           \
	{                                     \
		.file = -1,                   \
		.skipped = BUF_INIT(1 << 20), \
		.given = BUF_INIT(1 << 20),   \
	}

/* Takes ownership of the descriptor of the workspace. */
int export_open(struct export *h, const struct plan *plan, int workspace,
		struct remit_error *err) must_check;
/* Continues the export by one directory entry, or one piece of a file. */
int export_step(struct export *h, struct link *client,
		struct remit_error *err) must_check;
/* Ends the export because its time is over. */
int export_stop(struct export *h, struct remit_error *err) must_check;
/* Writes the list of skipped files as JSON. */
int export_write_skipped(const struct export *h, struct buf *out) must_check;
void export_free(struct export *h);

#endif
