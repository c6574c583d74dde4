/*
 * bench_spawn: starts commands without a shell, in separate process groups, so
 * that Ctrl-C at the terminal only reaches the bench.
 */
#ifndef REMIT_BENCH_SPAWN_H
#define REMIT_BENCH_SPAWN_H

#include "bench.h"

struct bench_command {
	struct list argv; /* the first is the path of the program */
	const struct list *env;
};

void bench_command_free(struct bench_command *c);

/* Returns the path of a program in PATH or /usr/sbin as a new string, or
   NULL. */
char *bench_spawn_find(const char *program);

/* Start a command. -1 in `streams` means /dev/null. */
int bench_spawn_start(const struct bench *b, const struct bench_command *c,
		      const int streams[3], pid_t *pid,
		      struct remit_error *err) must_check;
/* Wait until the command ends, and reap orphans meanwhile. The command is
   killed when the user interrupts, or after limit_ms. Only one thread may call
   this. */
int bench_spawn_wait(const struct bench *b, pid_t pid, unsigned limit_ms,
		     int *status, struct remit_error *err) must_check;
/* Kill the command and its children. */
void bench_spawn_end(pid_t pid);

/* Replace the error message by what the command wrote to this file for stderr,
   if anything. Returns -1. */
int bench_spawn_read_error(int stderr_fd, struct remit_error *err);

/* Run the command once and check its output. The error has its stderr. */
int bench_spawn_try(const struct bench *b, const struct bench_command *c,
		    const char *wanted_output, double *us,
		    struct remit_error *err) must_check;
/* Run the command once and measure its time. */
int bench_spawn_time(const struct bench *b, const struct bench_command *c,
		     double *us, struct remit_error *err) must_check;
/* Like bench_spawn_time(), for one of several threads. Cannot be
   interrupted. */
int bench_spawn_thread(const struct bench *b, const struct bench_command *c,
		       double *us, struct remit_error *err) must_check;

#endif
