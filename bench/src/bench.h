/*
 * bench: shared by all measurements: options, interpreter, environments, a
 * temporary directory, and the report.
 *
 * The bench cleans up even after Ctrl-C: signals are blocked and polled with
 * bench_check(), every command runs in a separate process group, and orphans of
 * commands become children of the bench, which kills them at its end.
 */
#ifndef REMIT_BENCH_H
#define REMIT_BENCH_H

#include <signal.h>
#include <sys/types.h>

#include "bench_report.h"
#include "bench_root.h"

#define BENCH_DIRECTORY_SIZE 64

/* Create a directory for everything that the bench and its peers write. */
int bench_directory_make(char out[BENCH_DIRECTORY_SIZE],
			 struct remit_error *err) must_check;
/* Remove the directory, and unmount what peers have mounted in it. */
void bench_directory_remove(const char *directory);

struct bench_options {
	unsigned rounds;    /* how often each start is measured */
	unsigned window_ms; /* duration of each throughput row */
	bool quick;	    /* measure fewer peers and sizes */
	const char *only;   /* a pattern for sections, or NULL */
};

struct bench {
	struct bench_options opt;
	const struct interpreter *python;
	char remit[4096];   /* the command */
	char drivers[4096]; /* the directory of bench/jupyter.py */
	char directory[BENCH_DIRECTORY_SIZE];
	struct bench_root root; /* in the directory */
	/* Environments: the caller's; without a keeper; with the bench's
	   keeper. */
	struct list env_given, env_own, env_shared;
	int signals;  /* readable once the user interrupts */
	int children; /* readable when a child has ended */
	sigset_t mask;
	pid_t keeper; /* the keeper for commands with env_shared */
	int keeper_control;
	bool shows_progress;
	bool closing; /* interrupts are ignored during cleanup */
	struct bench_report report;
};

/* *b must live until bench_close(), which also follows a failed open. */
int bench_open(struct bench *b, const struct bench_options *opt,
	       const struct interpreter *python,
	       struct remit_error *err) must_check;
void bench_close(struct bench *b);

/* The pause before each run that is measured on an idle machine. */
#define BENCH_GAP_MS 20

/* Returns -1 once the user has interrupted the bench. */
int bench_check(const struct bench *b, struct remit_error *err) must_check;
/* Wait for some time. Returns -1 once the user has interrupted the bench. */
int bench_pause(const struct bench *b, unsigned ms,
		struct remit_error *err) must_check;

/* Returns true if --only selects the section. */
bool bench_wants(const struct bench *b, const char *section);
/* Show progress on a terminal, in one line that the next call overwrites. */
void bench_progress(const struct bench *b, const char *fmt, ...)
	printf_like(2, 3);

/* Open a new private keeper. */
int bench_remit(const struct bench *b, struct remit **out,
		struct remit_error *err) must_check;
/* Connect to the keeper that the commands share. */
int bench_shared(const struct bench *b, struct remit **out,
		 struct remit_error *err) must_check;

/* Add a row to the report, and show it as progress. */
int bench_new_row(struct bench *b, const char *section, const char *name,
		  struct bench_row **row, struct remit_error *err) must_check;
/* Mark the row as absent because of *err. Returns -1 only if the user has
   interrupted the bench. */
int bench_absent(const struct bench *b, struct bench_row *row,
		 struct remit_error *err) must_check;
/* Run one cell, which must print `output`, and measure its time. */
int bench_cell(const struct bench *b, struct remit_session *s, const char *code,
	       const char *output, double *us,
	       struct remit_error *err) must_check;

#endif
