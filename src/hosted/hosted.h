/*
 * hosted: sessions that a server keeps for its clients, each with an id and a
 * thread that runs its cells.
 *
 * The calls of libremit block, and a server must not. Therefore each hosted
 * session has a worker thread, and requests are queued for it: every function
 * below returns immediately, and the worker calls the events. The arguments of
 * an event are valid only during the call. A run is a hosted session for one
 * program and ends with it.
 *
 * All functions may be called from any thread, also from events. Hosted
 * sessions are reference counted: a caller that received one must
 * hosted_unref() it. *out is set before the first event is called.
 */
#ifndef REMIT_HOSTED_H
#define REMIT_HOSTED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "hosted/artifact_store.h"
#include "hosted/tenants.h"
#include "wire/command.h"
#include "wire/watch.h"

/* The size of an id of a session, a call or a question; ids cannot be
   guessed. */
#define HOSTED_ID_SIZE 21

/* The size of the id by which a keeper knows a session. */
#define HOSTED_SESSION_ID_SIZE 24

/* How many requests may wait for the worker of one hosted session. */
#define HOSTED_QUEUE_MAX 16
/* An unanswered question is denied after this time. */
#define HOSTED_QUESTION_MS (300 * 1000)

struct hosted_table;
struct hosted;

/* A run or cell for the audit, and how it ended. */
struct hosted_record {
	const char *owner;
	const struct remit_job *job;	/* includes the policy */
	const struct remit_result *res; /* NULL: there is no result */
	const json_t *document;		/* of a command, which has no result */
	const struct remit_error *err;	/* set if there is neither */
};

/* The audit, called by workers. All members may be NULL. */
struct hosted_audit {
	/* Returns -1 if the audit cannot be written; then nothing is run. */
	int (*check)(void *user, struct remit_error *err);
	/* Records a run before its result is sent. If it returns -1, its error
	   is sent instead of the result. */
	int (*add)(void *user, const struct hosted_record *rec,
		   struct remit_error *err);
	void *user;
};

/* The limits of one owner at any time. */
struct hosted_share {
	uint64_t hosted_count; /* sessions and runs */
	uint64_t memory_bytes; /* the sum over their policies */
};

struct hosted_table_options {
	struct remit *remit; /* must outlive the table */
	struct tenants_limits limits;
	/* The memory of the machine, which bounds what any program can use,
	   whatever its policy says; 0: unknown. */
	uint64_t machine_bytes;
	/* There is a single owner, whose results are sent even if one is larger
	   than the limit for all results. */
	bool is_lone;
	struct artifact_store *artifacts; /* NULL: no files leave jails */
	struct hosted_audit audit;
	/* Returns the limits of an owner; NULL means no limits. Called with the
	   lock of the table held, so it must not block. */
	struct hosted_share (*share)(void *user, const char *owner);
	void *share_user;
	/* Processor time is divided evenly between owners. */
	bool divides_processors;
};

/* The events of a task. All except `result` may be NULL. */
struct hosted_events {
	/* Called first, unless the task fails before it begins. */
	void (*begin)(void *user, struct hosted *r);
	void (*output)(void *user, enum remit_stream stream, const char *bytes,
		       size_t len);
	void (*display)(void *user, const struct remit_display *d);
	/* Reports the installation of packages. */
	void (*progress)(void *user, const char *line, size_t len);
	/* The server answers with hosted_table_answer_call(). NULL: calls
	   fail. */
	void (*call)(void *user, const char *id, const char *tool,
		     const char *arguments_json, size_t len);
	/* The server answers with hosted_table_answer_question(). NULL: every
	   question is denied. */
	void (*question)(void *user, const char *id,
			 const struct remit_question *q);
	/* The answer to hosted_file(). */
	void (*file)(void *user, const struct remit_file_answer *answer);
	/* The work of hosted_visit(). If it returns -1, its error is the
	   result. */
	int (*visit)(void *user, struct remit_session *session,
		     struct remit_error *err);
	/* Called exactly once, last. At most one of `res` and `err` is set;
	   neither is after a success without a result, such as a reset. */
	void (*result)(void *user, struct remit_result *res,
		       const struct remit_error *err);
};

/* Memory lent to a hosted session: it calls release(owner) once, from any
   thread, when it no longer needs it. A function that fails has borrowed
   nothing. */
struct hosted_loan {
	void (*release)(void *owner);
	void *owner;
};

struct hosted_options {
	const char *owner;	 /* copied; "" is a valid owner */
	const char *policy_json; /* lent; NULL: the default policy */
	/* Lent; the hosted session sets their `call` and `user`. */
	struct remit_tool *tools;
	size_t tool_count;
	const struct remit_secret *secrets; /* lent; sessions only */
	size_t secret_count;
	bool exports;	       /* files may leave the jail, into the store */
	bool forkable;	       /* sessions only */
	bool commands;	       /* sessions only: hosted_command() is used */
	bool watches;	       /* sessions only: hosted_watch() is used */
	bool ports;	       /* sessions only: hosted_port() is used */
	uint64_t life_ms;      /* a session is dropped after it; 0: never */
	uint64_t memory_bytes; /* from the policy, for the owner's limit */
	uint64_t result_bytes; /* of one result in the server's memory */
	struct hosted_loan loan;
};

/* A program. What the job points to is lent. The hosted session sets policy,
   tools, callbacks and interrupt_fd of the job. */
struct hosted_job {
	struct remit_job job;
	struct hosted_loan loan;
};

enum hosted_state { HOSTED_OPENING, HOSTED_IDLE, HOSTED_BUSY, HOSTED_ENDED };

/* The current state of a hosted session. */
struct hosted_view {
	char id[HOSTED_ID_SIZE];
	enum hosted_state state;
	bool forkable;
	uint64_t created_ms; /* since 1970 */
	uint64_t expires_ms; /* since 1970; 0: never */
	uint64_t cells;	     /* that have begun */
	unsigned waiting;    /* requests in its queue */
};

extern const char *const hosted_state_names[];

int hosted_table_open(struct hosted_table **out,
		      const struct hosted_table_options *opt,
		      struct remit_error *err) must_check;
/* Drops sessions and files that are past their time. Call it about once a
   second. */
void hosted_table_sweep(struct hosted_table *table);
/* Refuses new sessions and runs, drops the existing ones, and waits for their
   workers. Returns false if some did not end in time (for instance one that
   installs packages); then nothing may be freed, and the process must exit. */
bool hosted_table_end(struct hosted_table *table,
		      uint64_t timeout_ms) must_check;
/* Call it after hosted_table_end() returned true and all references were
   released. Accepts NULL. */
void hosted_table_free(struct hosted_table *table);
/* Counts the sessions and runs of one owner, or of all (NULL). */
size_t hosted_table_count(struct hosted_table *table, const char *owner);
/* Whether the owner's limits allow `count` more sessions or runs with this much
   memory each now. It reserves nothing: each is checked again when it is
   added. */
int hosted_table_check_share(struct hosted_table *table, const char *owner,
			     uint64_t count, uint64_t memory_bytes,
			     struct remit_error *err) must_check;
/* Lists the sessions of one owner, or of all (NULL), oldest first. The caller
   frees *out. Returns -1 if memory is exhausted. */
int hosted_table_list(struct hosted_table *table, const char *owner,
		      struct hosted_view **out, size_t *count) must_check;

/*
 * Opens a session. The event reports whether it could be opened; cells wait
 * until then. A session that could not be opened has left the table when the
 * event is called.
 */
int hosted_open(struct hosted_table *table, const struct hosted_options *opt,
		const struct hosted_events *ev, void *user, struct hosted **out,
		struct remit_error *err) must_check;
/* Runs one program without a session. It has left the table when its result is
   reported. */
int hosted_run(struct hosted_table *table, const struct hosted_options *opt,
	       const struct hosted_job *job, const struct hosted_events *ev,
	       void *user, struct hosted **out,
	       struct remit_error *err) must_check;
/* Returns a new reference, or NULL if this owner has no such session. */
struct hosted *hosted_find(struct hosted_table *table, const char *owner,
			   const char *id);
/* The same for runs. */
struct hosted *hosted_find_run(struct hosted_table *table, const char *owner,
			       const char *id);
struct hosted *hosted_ref(struct hosted *r);
void hosted_unref(struct hosted *r);

const char *hosted_id(const struct hosted *r);
/* The policy it was opened with, or NULL; valid as long as the reference. */
const char *hosted_policy(const struct hosted *r);
uint64_t hosted_memory(const struct hosted *r);
struct hosted_view hosted_get_view(struct hosted *r);
/* Whether it was ended by hosted_drop(), or has expired. */
bool hosted_is_dropped(struct hosted *r);
/* Copies the id by which remit_status() lists the session; "" if it is not open
   yet. */
void hosted_get_session_id(struct hosted *r, char out[HOSTED_SESSION_ID_SIZE]);

/* Queues a cell. *number identifies it for hosted_cancel(); `number` may be
   NULL. */
int hosted_cell(struct hosted *r, const struct hosted_job *job,
		const struct hosted_events *ev, void *user, uint64_t *number,
		struct remit_error *err) must_check;
/* Queues a file task, see remit_session_file(). What the task points to is
   lent. */
int hosted_file(struct hosted *r, const struct remit_file_task *task,
		struct hosted_loan loan, const struct hosted_events *ev,
		void *user, struct remit_error *err) must_check;
/* Calls the event `visit` in the worker, which may use the session for any
   number of file tasks: no other task comes between them. `soon`: the running
   cell is interrupted, and those that wait, however many they are, come later;
   the caller calls it once. */
int hosted_visit(struct hosted *r, bool soon, const struct hosted_events *ev,
		 void *user, struct remit_error *err) must_check;
/* See remit_session_reset(). */
int hosted_reset(struct hosted *r, const struct hosted_events *ev, void *user,
		 struct remit_error *err) must_check;
/* Opens a branch as a separate hosted session, with the lifetime that its
   parent was opened with. */
int hosted_fork(struct hosted *r, const struct hosted_events *ev, void *user,
		struct hosted **branch, struct remit_error *err) must_check;
/* Closes the session after the queued cells: its files are exported, and the
   event has the session's last result. */
int hosted_close(struct hosted *r, const struct hosted_events *ev, void *user,
		 struct remit_error *err) must_check;
/* Ends the session immediately. Queued requests fail with REMIT_E_GONE. A
   session that is still being opened counts against the limits until the
   opening is done. */
void hosted_drop(struct hosted *r);

/* ---- commands: programs that run beside the cells ---- */

/* Whether it was opened with `commands`. */
bool hosted_has_commands(const struct hosted *r);

/* The events of a command, called in a thread that all commands of the session
   share. */
struct hosted_command_events {
	void (*started)(void *user, uint32_t pid); /* a claim */
	void (*output)(void *user, enum command_stream stream,
		       const char *bytes, size_t len);
	/* Called exactly once, last. */
	void (*ended)(void *user, const struct command_end *end);
};

/* Starts a command. What the parameters point to is lent during the call. *id
   is for the functions below, unique in the session, and set before the first
   event. The command may end before this returns. */
int hosted_command(struct hosted *r, const struct command_params *params,
		   const struct hosted_command_events *ev, void *user,
		   uint32_t *id, struct remit_error *err) must_check;
/* Sends a piece of input; with len 0, its end. If the command has ended, these
   do nothing. */
int hosted_command_input(struct hosted *r, uint32_t id, const void *bytes,
			 size_t len, struct remit_error *err) must_check;
int hosted_command_signal(struct hosted *r, uint32_t id, int number,
			  struct remit_error *err) must_check;
int hosted_command_resize(struct hosted *r, uint32_t id, unsigned columns,
			  unsigned rows, struct remit_error *err) must_check;

/* ---- watched directories ---- */

/* The events of a watch, called in a thread that all watches of the session
   share. */
struct hosted_watch_events {
	/* WATCH_BEGUN, and then what happens to files. */
	void (*event)(void *user, const struct watch_event *e);
	/* Called exactly once, last, with WATCH_REFUSED or a later kind. */
	void (*ended)(void *user, enum watch_kind why);
};

/* Begins to watch a directory, whatever the session does. *id is for the
   functions below, and set before the first event. Fails if nothing in this
   session can be watched, or if too much is. */
int hosted_watch(struct hosted *r, const char *path, unsigned flags,
		 const struct hosted_watch_events *ev, void *user, uint32_t *id,
		 struct remit_error *err) must_check;
/* The watch ends soon. It may have ended already. */
void hosted_watch_stop(struct hosted *r, uint32_t id);
/* Calls done(user) once, after the events of everything that has happened until
   now, or when no more events will come. Fails if none will come. */
int hosted_watch_sync(struct hosted *r, void (*done)(void *user), void *user,
		      struct remit_error *err) must_check;
/* ---- ports: programs that listen in the jail ---- */

/* Returns in *fd a non-blocking socket that is being connected to
   127.0.0.1:port in the session's jail. Unlike the functions above it waits for
   the keeper, but neither for the session's worker nor for the program that
   listens. */
int hosted_port(struct hosted *r, uint16_t port, int *fd,
		struct remit_error *err) must_check;

/* Raises KeyboardInterrupt in the running cell, if any. A run is killed two
   seconds later. */
void hosted_interrupt(struct hosted *r);
/* Interrupts one cell in this way, or removes it from the queue. */
void hosted_cancel(struct hosted *r, uint64_t number);
/* Sets when the session expires, from now; 0: never. */
void hosted_set_life(struct hosted *r, uint64_t life_ms);
/* Like hosted_set_life(), but never shortens the life of the session. */
void hosted_extend_life(struct hosted *r, uint64_t life_ms);

/* Called within the event `result` or `file` when the reply has been built:
   `bytes` of memory are needed for it from now on. Elsewhere it has no
   effect. */
void hosted_result_made(uint64_t bytes);

/* Return -1 if this owner has no such unanswered call or question. */
int hosted_table_answer_call(struct hosted_table *table, const char *owner,
			     const char *id, const char *json,
			     size_t len) must_check;
int hosted_table_fail_call(struct hosted_table *table, const char *owner,
			   const char *id, const char *message) must_check;
int hosted_table_answer_question(struct hosted_table *table, const char *owner,
				 const char *id,
				 enum remit_answer answer) must_check;

/* Makes an id of 20 letters and digits with 100 random bits. */
int hosted_make_id(char out[HOSTED_ID_SIZE],
		   struct remit_error *err) must_check;

#endif
