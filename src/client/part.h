/*
 * client_part: what connections and runs (client.c) and sessions (session.c)
 * know of each other. For these files only.
 */
#ifndef REMIT_CLIENT_PART_H
#define REMIT_CLIENT_PART_H

#include <pthread.h>

#include "client/displays.h"
#include "client/files/artifacts.h"
#include "client/files/file_task.h"
#include "client/result_view.h"
#include "client/tools/calls.h"
#include "wire/link.h"

/* As many as threads that run at once have use for. */
#define CONNECTIONS_KEPT 16

struct connections {
	int kept[CONNECTIONS_KEPT];
	size_t count;
};

struct remit {
	pthread_mutex_t lock; /* of the control socket and the connections */
	int control;	      /* private keeper, else -1 */
	pid_t keeper_pid;     /* private keeper, else 0 */
	char *command_path;   /* of the private keeper, or NULL */
	char *keeper_path;    /* shared keeper, else NULL */
	bool found;	      /* nobody named it: it was there */
	struct connections
		connections; /* to a private keeper, that wait for a run */
};

/* A run, or a cell, as it lasts. */
struct run {
	const struct remit *remit; /* whose keeper it is, until it answers */
	bool shared;		   /* which of its keepers */
	struct link link;
	const struct remit_job *job;
	struct remit_result *result;
	struct artifacts artifacts;
	struct displays displays;
	struct tools tools; /* of a run, or of all cells */
	struct tool_calls calls;
	int wake;	  /* an eventfd that asks for an interrupt, or -1 */
	bool wants_input; /* a cell that somebody types waits for input */
	bool stays;	  /* the connection can be used again */
	bool opened; /* what was asked for is a session's jail, and is there */
	struct file_answer *filing; /* that is waited for, or NULL */
};

#define RUN_INIT                                       \
	{                                              \
		.link = LINK_INIT,                     \
		.wake = -1,                            \
		.artifacts = ARTIFACTS_INIT,           \
		.displays = DISPLAYS_INIT(NULL, NULL), \
		.calls = TOOL_CALLS_INIT,              \
	}

/* ---- client.c ---- */

void run_free(struct run *r);

/* A keeper of our own, unless there is one already. */
int client_need_private(struct remit *r, struct remit_error *err) must_check;
/* What is answered next is this. */
void client_set_job(struct run *r, const struct remit_job *job);
/* Over this socket, to the shared keeper of `remit` or to its private one. */
void client_begin(struct run *r, const struct remit *remit, bool shared,
		  int fd);
/* `stays`: the keeper shall wait for another one over the same socket. */
int client_send_job(struct link *l, const struct remit_job *job, bool stays,
		    struct remit_error *err) must_check;
/* Send what is queued and read until there is an answer. */
int client_converse(struct run *r, struct remit_error *err) must_check;

/* ---- connection.c ---- */

/* Start a private keeper. It is the remit command itself, so that a library in
   a threaded program never forks one. */
int keeper_process_start(pid_t *pid, int *control, const char *command_path,
			 struct remit_error *err) must_check;

/* To the keeper that listens there, if it is the same user's or root's. */
int connection_connect(const char *path, struct remit_error *err) must_check;
/* A connection. *theirs is the other side, to be given to the keeper, or -1
   where the keeper has it already. */
int connection_make(struct remit *r, bool shared, int *theirs,
		    struct remit_error *err) must_check;
/* Nothing to do for -1. */
int connection_give(struct remit *r, int theirs,
		    struct remit_error *err) must_check;
/* Both. */
int connection_open(struct remit *r, bool shared,
		    struct remit_error *err) must_check;
/* The keeper waits at its other side for the next job. Takes it. */
void connection_keep(struct remit *r, int fd);
void connections_close(struct connections *d);

/*
 * A keeper that outlived an upgrade, or of another installation, may speak
 * another protocol (wire/frame.h). It is refused with one sentence that names
 * both releases and the remedy.
 *
 * As link_next(), from the shared or the private keeper of `r`, or from one
 * that is not named (NULL). Returns -1 with the sentence if the keeper is of
 * another protocol.
 */
int release_next(const struct remit *r, bool shared, struct link *l,
		 struct frame *f, struct remit_error *err) must_check;

#endif
