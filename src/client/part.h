/*
 * client_part: shared by client.c (runs), connection.c and session.c. No other
 * file includes it.
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

struct commands_link;
struct ports_link;

/* How many connections are kept for later runs. */
#define CONNECTIONS_KEPT 16

struct connections {
	int kept[CONNECTIONS_KEPT];
	size_t count;
};

struct remit {
	pthread_mutex_t lock; /* for the control socket and the connections */
	int control; /* the control socket of the private keeper, else -1 */
	pid_t keeper_pid;   /* the private keeper, else 0 */
	char *command_path; /* the program of the private keeper, or NULL */
	char *keeper_path;  /* the socket of the shared keeper, else NULL */
	bool found; /* the shared keeper was found at the default socket, not
		       named */
	struct connections
		connections; /* idle connections to the private keeper */
};

/* A run or a cell, while it lasts. */
struct run {
	const struct remit *remit; /* for error messages about the keeper, until
				      it answers; or NULL */
	bool shared; /* whether it is the shared keeper of `remit` */
	struct link link;
	const struct remit_job *job;
	struct remit_result *result;
	struct artifacts artifacts;
	struct displays displays;
	struct tools
		tools; /* those of the run, or of all cells of the session */
	struct tool_calls calls;
	int wake;	  /* an eventfd that requests an interrupt, or -1 */
	bool wants_input; /* an interactive cell waits for input */
	bool stays;  /* the keeper will accept another job over this connection
		      */
	bool opened; /* the jail of a session was requested, and is open */
	char session_id[24];	    /* the keeper's, once it has been open */
	struct file_answer *filing; /* the answer that is expected, or NULL */
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

/* Start a private keeper, unless one runs already. */
int client_need_private(struct remit *r, struct remit_error *err) must_check;
/* Set the job whose answer is received next. */
void client_set_job(struct run *r, const struct remit_job *job);
/* Begin to use this socket, to the shared keeper of `remit` or to its private
   one. Takes ownership of fd. */
void client_begin(struct run *r, const struct remit *remit, bool shared,
		  int fd);
/* Queue the job. `stays`: the keeper shall wait for another job over the same
   socket. */
int client_send_job(struct link *l, const struct remit_job *job, bool stays,
		    struct remit_error *err) must_check;
/* Send the queued frames, and receive frames until the answer is complete. */
int client_converse(struct run *r, struct remit_error *err) must_check;

/* ---- commands.c ---- */

/* Takes ownership of the descriptor. Returns NULL if memory is exhausted. */
struct commands_link *commands_link_new(int fd);

/* ---- ports.c ---- */

/* The same for ports. */
struct ports_link *ports_link_new(int fd);

/* ---- connection.c ---- */

/* Start a private keeper with posix_spawn(). It is the remit command, so that
   the library never has to run code between fork and exec in a threaded
   program. */
int keeper_process_start(pid_t *pid, int *control, const char *command_path,
			 struct remit_error *err) must_check;

/* Connect to the keeper that listens at this path. Fails unless it belongs to
   the same user or to root. Returns the descriptor. */
int connection_connect(const char *path, struct remit_error *err) must_check;
/* Make a connection and return its descriptor. *theirs is the other end, to be
   sent with connection_give(), or -1 if the keeper already has it. */
int connection_make(struct remit *r, bool shared, int *theirs,
		    struct remit_error *err) must_check;
/* Send the other end of a connection to the private keeper; -1 does nothing. */
int connection_give(struct remit *r, int theirs,
		    struct remit_error *err) must_check;
/* connection_make() and connection_give() in one step. */
int connection_open(struct remit *r, bool shared,
		    struct remit_error *err) must_check;
/* Keep a connection at which the keeper waits for the next job. Takes ownership
   of fd. */
void connection_keep(struct remit *r, int fd);
void connections_close(struct connections *d);

/*
 * Like link_next(), but fails if the keeper uses another version of the
 * protocol (wire/frame.h): a keeper that outlived an upgrade, or of another
 * installation. The error names both releases and the remedy. The keeper is the
 * shared or the private one of `r`, which may be NULL.
 */
int release_next(const struct remit *r, bool shared, struct link *l,
		 struct frame *f, struct remit_error *err) must_check;

#endif
