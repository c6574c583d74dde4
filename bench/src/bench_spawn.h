/*
 * bench_spawn: commands, started without a shell in a process group of their
 * own, so that the terminal's Ctrl-C is ours to pass on.
 */
#ifndef REMIT_BENCH_SPAWN_H
#define REMIT_BENCH_SPAWN_H

#include "bench.h"

struct bench_command {
	struct list argv; /* the first is a path */
	const struct list *env;
};

void bench_command_free(struct bench_command *c);

/* A new path of a program on PATH, or in /usr/sbin; NULL if there is none. */
char *bench_spawn_find(const char *program);

/* Start it; -1 among the streams stands for /dev/null. */
int bench_spawn_start(const struct bench *b, const struct bench_command *c,
		      const int streams[3], pid_t *pid,
		      struct remit_error *err) must_check;
/* Wait for its end and that of orphans on the way; it is ended when the user
   wants an end, or when it takes longer than this. Only for one thread. */
int bench_spawn_wait(const struct bench *b, pid_t pid, unsigned limit_ms,
		     int *status, struct remit_error *err) must_check;
/* End it and what it started. */
void bench_spawn_end(pid_t pid);

/* Always -1: what a command wrote to this file for stderr becomes the message,
   if it wrote anything. */
int bench_spawn_read_error(int stderr_fd, struct remit_error *err);

/* Run it once; the error says what it said on stderr. */
int bench_spawn_try(const struct bench *b, const struct bench_command *c,
		    const char *wanted_output, double *us,
		    struct remit_error *err) must_check;
/* Run it once and take its time. */
int bench_spawn_time(const struct bench *b, const struct bench_command *c,
		     double *us, struct remit_error *err) must_check;
/* The same in one of several threads, which the user cannot interrupt. */
int bench_spawn_thread(const struct bench *b, const struct bench_command *c,
		       double *us, struct remit_error *err) must_check;

#endif
