/*
 * run_displays: writes what a program of `remit run` displays to files in a
 * directory, and keeps its value as text.
 *
 * Remit chooses all names (display-1.png); the program has no influence.
 * Existing files are never changed.
 */
#ifndef REMIT_RUN_DISPLAYS_H
#define REMIT_RUN_DISPLAYS_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

struct run_displays {
	const char *path; /* of the directory */
	int directory;	  /* -1: write no files */
	size_t count;	  /* displays so far */
	struct buf value; /* the text of the value */
	bool has_value;
	struct buf lines; /* what to print about the files */
};

#define RUN_DISPLAYS_INIT                              \
	{                                              \
		.directory = -1,                       \
		.value = BUF_INIT((size_t)256 << 20),  \
		.lines = BUF_INIT((size_t)1024 << 10), \
	}

/* Open the directory, and create it if only its last part is missing. */
int run_displays_open(struct run_displays *r, const char *path,
		      struct remit_error *err) must_check;
void run_displays_add(struct run_displays *r, const struct remit_display *d);
/* Drop the value and the lines, before the program runs again. */
void run_displays_reset(struct run_displays *r);
/* Print to stderr which files were written and how many displays were left out.
   On a terminal, also print that --displays would write files. */
void run_displays_explain(const struct run_displays *r, const json_t *result);
void run_displays_free(struct run_displays *r);

#endif
