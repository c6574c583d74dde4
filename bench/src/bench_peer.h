/*
 * bench_peer: whole commands that run a program: bare Python, Remit's own
 * command, and other sandboxes where they are installed. One row each.
 */
#ifndef REMIT_BENCH_PEER_H
#define REMIT_BENCH_PEER_H

#include "bench_program.h"
#include "bench_spawn.h"

/* The two that others are compared with. */
#define BENCH_BARE	   "python3 -I"
#define BENCH_BARE_NO_SITE "python3 -I -S"
#define BENCH_COLD	   "remit run, cold"
#define BENCH_BUBBLEWRAP   "bubblewrap"

enum bench_env { ENV_GIVEN, ENV_OWN, ENV_SHARED };

#define BENCH_WORDS 40

struct bench_peer {
	const char *name;
	const char *argv[BENCH_WORDS]; /* see bench_template.h */
	/* For each directory of the host, and each link, at "{binds}". Without
	   words for links they are bound like directories. */
	const char *bind[6], *link[6];
	/* Once before its first program, and after its last. */
	const char *before[BENCH_WORDS], *after[BENCH_WORDS];
	enum bench_env env;
	bool serves;	 /* lives on and answers: see struct bench_driver */
	bool plain_only; /* has no numpy and pandas */
	bool first_only; /* the program changes nothing about it */
	bool has_bundle; /* reads a config.json */
	bool quick;	 /* is measured with --quick too */
};

extern const struct bench_peer bench_peers[]; /* ends without a name */

/* NULL if there is none of this name. */
const struct bench_peer *bench_peer_find(const char *name);

/* The command for a program. An error says why the peer is absent. */
int bench_peer_command(const struct bench_peer *p, const struct bench *b,
		       const struct bench_program *program,
		       struct bench_command *out,
		       struct remit_error *err) must_check;
/* Carry out `before` or `after`, if the peer has it. */
int bench_peer_hook(const struct bench_peer *p, const char *const *hook,
		    const struct bench *b, struct remit_error *err) must_check;

/* A peer that lives on. It writes "ready" once it has answered for the first
   time, then reads lines, and for each runs the program once and writes how
   many milliseconds that took. */
struct bench_driver {
	pid_t pid;
	int in, out;
};

/* Returns when it is ready. */
int bench_driver_open(struct bench_driver *d, const struct bench *b,
		      const struct bench_command *c,
		      struct remit_error *err) must_check;
int bench_driver_time(const struct bench_driver *d, const struct bench *b,
		      double *us, struct remit_error *err) must_check;
void bench_driver_close(struct bench_driver *d);

#endif
