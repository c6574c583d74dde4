/*
 * bench_peer: commands that run a program: bare Python, the command remit, and
 * other sandboxes if they are installed. Each is one row of the report.
 */
#ifndef REMIT_BENCH_PEER_H
#define REMIT_BENCH_PEER_H

#include "bench_program.h"
#include "bench_spawn.h"

/* Rows that others are compared with. */
#define BENCH_BARE	   "python3 -I"
#define BENCH_BARE_NO_SITE "python3 -I -S"
#define BENCH_COLD	   "remit run, cold"
#define BENCH_BUBBLEWRAP   "bubblewrap"

enum bench_env { ENV_GIVEN, ENV_OWN, ENV_SHARED };

#define BENCH_WORDS 40

struct bench_peer {
	const char *name;
	const char *argv[BENCH_WORDS]; /* see bench_template.h */
	/* The arguments for each directory of the host, and for each link,
	   which replace "{binds}". Without arguments for links, links are bound
	   like directories. */
	const char *bind[6], *link[6];
	/* Commands to run before the first program, and after the last. */
	const char *before[BENCH_WORDS], *after[BENCH_WORDS];
	enum bench_env env;
	bool serves; /* runs the program many times: see struct bench_driver */
	bool plain_only; /* cannot import numpy and pandas */
	bool first_only; /* does not run the program, so measure it only once */
	bool has_bundle; /* reads a config.json */
	bool quick;	 /* also measured with --quick */
};

extern const struct bench_peer
	bench_peers[]; /* ends with a row without a name */

/* Returns the peer of this name, or NULL. */
const struct bench_peer *bench_peer_find(const char *name);

/* Make the command for a program. Fails with the reason why the peer is
   absent. */
int bench_peer_command(const struct bench_peer *p, const struct bench *b,
		       const struct bench_program *program,
		       struct bench_command *out,
		       struct remit_error *err) must_check;
/* Run the command `before` or `after`, if the peer has one. */
int bench_peer_hook(const struct bench_peer *p, const char *const *hook,
		    const struct bench *b, struct remit_error *err) must_check;

/* A peer that runs the program many times. It writes "ready" after the first
   run. Then, for each line that it reads, it runs the program once and writes
   how many milliseconds that took. */
struct bench_driver {
	pid_t pid;
	int in, out;
};

/* Start a driver and wait until it is ready. */
int bench_driver_open(struct bench_driver *d, const struct bench *b,
		      const struct bench_command *c,
		      struct remit_error *err) must_check;
int bench_driver_time(const struct bench_driver *d, const struct bench *b,
		      double *us, struct remit_error *err) must_check;
void bench_driver_close(struct bench_driver *d);

#endif
