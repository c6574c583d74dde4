/*
 * run_displays: what a program of `remit run` shows, as files of a directory,
 * and its value as text.
 *
 * The names are ours (display-1.png), and the program chooses none. What is
 * there already stays as it is.
 */
#ifndef REMIT_RUN_DISPLAYS_H
#define REMIT_RUN_DISPLAYS_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

struct run_displays {
	const char *path; /* of the directory */
	int directory;	  /* -1: no files are wanted */
	size_t count;	  /* of displays so far */
	struct buf value; /* its text */
	bool has_value;
	struct buf lines; /* what to say of files, for people */
};

#define RUN_DISPLAYS_INIT                              \
	{                                              \
		.directory = -1,                       \
		.value = BUF_INIT((size_t)256 << 20),  \
		.lines = BUF_INIT((size_t)1024 << 10), \
	}

/* The directory is made if only its last part is missing. */
int run_displays_open(struct run_displays *r, const char *path,
		      struct remit_error *err) must_check;
void run_displays_add(struct run_displays *r, const struct remit_display *d);
/* The program is run again. */
void run_displays_reset(struct run_displays *r);
/* On stderr: files that were written, what was left out of a result; and on a
   terminal that there could be files. */
void run_displays_explain(const struct run_displays *r, const json_t *result);
void run_displays_free(struct run_displays *r);

#endif
