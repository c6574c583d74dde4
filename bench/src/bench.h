/*
 * bench: what all measurements share: the options, the interpreter, the
 * environments, a directory that goes away with them, and the report.
 *
 * Nothing is left behind, also after Ctrl-C: signals are only looked at
 * (bench_check()), every command runs in a process group of its own, and
 * orphans of commands become ours, so that the end can end them.
 */
#ifndef REMIT_BENCH_H
#define REMIT_BENCH_H

#include <signal.h>
#include <sys/types.h>

#include "bench_report.h"
#include "bench_root.h"

#define BENCH_DIRECTORY_SIZE 64

/* A directory for everything that the bench and its peers write, and that
   nothing of is left. */
int bench_directory_make(char out[BENCH_DIRECTORY_SIZE],
			 struct remit_error *err) must_check;
/* With what peers have mounted inside. */
void bench_directory_remove(const char *directory);

struct bench_options {
	unsigned rounds;    /* of everything that starts */
	unsigned window_ms; /* of each throughput row */
	bool quick;	    /* fewer peers and sizes */
	const char *only;   /* a pattern for sections, or NULL */
};

struct bench {
	struct bench_options opt;
	const struct interpreter *python;
	char remit[4096];   /* the command */
	char drivers[4096]; /* where bench/jupyter.py lies */
	char directory[BENCH_DIRECTORY_SIZE];
	struct bench_root root; /* in it */
	/* As the caller had it; without any keeper; with the bench's own. */
	struct list env_given, env_own, env_shared;
	int signals;  /* readable once the user wants an end */
	int children; /* readable when a child has ended */
	sigset_t mask;
	pid_t keeper; /* shared by the commands that env_shared is for */
	int keeper_control;
	bool shows_progress;
	bool closing; /* what runs now runs to its end */
	struct bench_report report;
};

/* *b must live until bench_close(), which also follows a failed open. */
int bench_open(struct bench *b, const struct bench_options *opt,
	       const struct interpreter *python,
	       struct remit_error *err) must_check;
void bench_close(struct bench *b);

/* Before one of those that are measured one at a time. */
#define BENCH_GAP_MS 20

/* -1 once the user wants an end. */
int bench_check(const struct bench *b, struct remit_error *err) must_check;
/* The same after some time. */
int bench_pause(const struct bench *b, unsigned ms,
		struct remit_error *err) must_check;

/* Whether a section is asked for. */
bool bench_wants(const struct bench *b, const char *section);
/* On a terminal, one line that the next one overwrites. */
void bench_progress(const struct bench *b, const char *fmt, ...)
	printf_like(2, 3);

/* A new private keeper. */
int bench_remit(const struct bench *b, struct remit **out,
		struct remit_error *err) must_check;
/* The keeper that the commands share. */
int bench_shared(const struct bench *b, struct remit **out,
		 struct remit_error *err) must_check;

/* A new last row of the report, and a word of it where progress is shown. */
int bench_new_row(struct bench *b, const char *section, const char *name,
		  struct bench_row **row, struct remit_error *err) must_check;
/* What failed with *err is absent; only the user's end is an error. */
int bench_absent(const struct bench *b, struct bench_row *row,
		 struct remit_error *err) must_check;
/* One cell, which must print this, and how long it took. */
int bench_cell(const struct bench *b, struct remit_session *s, const char *code,
	       const char *output, double *us,
	       struct remit_error *err) must_check;

#endif
