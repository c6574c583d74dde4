/*
 * hosted_part: declarations shared by the table (hosted_table.c), the queue of
 * a hosted session (hosted.c), its worker (hosted_work.c), commands
 * (hosted_commands.c), watches (hosted_watch.c), ports (hosted_ports.c) and
 * unanswered calls and questions (hosted_wait.c). For these files only.
 */
#ifndef REMIT_HOSTED_PART_H
#define REMIT_HOSTED_PART_H

#include <pthread.h>

#include "base/own.h"
#include "hosted/hosted.h"

enum task_kind {
	TASK_OPEN,
	TASK_RUN,
	TASK_CELL,
	TASK_FILE,
	TASK_VISIT,
	TASK_RESET,
	TASK_FORK,
	TASK_CLOSE
};

/* One request in the queue of a hosted session. */
struct task {
	struct task *next;
	enum task_kind kind;
	uint64_t number;
	struct hosted_job job;	     /* for a run or a cell */
	struct remit_file_task file; /* uses the loan of `job` */
	struct hosted *branch;	     /* for a fork */
	bool cancelled;
	bool is_soon; /* queued before the others */
	const struct hosted_events *ev;
	void *user;
};

/* A call or question without an answer so far. */
struct wait {
	struct wait *next;
	char id[HOSTED_ID_SIZE];
	struct hosted *hosted; /* its worker removes this before it continues */
	struct remit_tool_call *call; /* NULL for a question */
	bool answered;
	enum remit_answer answer;
};

/* One lock protects all members. It is held briefly, and never across a call
   that may block or is implemented elsewhere. */
struct hosted_table {
	pthread_mutex_t lock;
	pthread_cond_t worker_ended;
	pthread_cond_t result_ended; /* memory for results became free */
	struct remit *remit;
	struct artifact_store *artifacts;
	struct tenants tenants;
	bool divides_processors;
	uint64_t machine_bytes;
	bool is_lone;
	struct hosted_audit audit;
	struct hosted_share (*share)(void *user, const char *owner);
	void *share_user;
	bool closing;
	struct hosted *first; /* in the order they were added */
	size_t workers;
	struct wait *waits;
};

struct hosted_commands;
struct hosted_watches;
struct hosted_ports;

struct hosted {
	struct hosted *next;
	struct hosted_table *table;
	struct refcount refs;
	bool listed; /* in the table, which has a reference */
	bool is_run;
	char id[HOSTED_ID_SIZE];
	char *owner;
	struct tenant *tenant;
	bool has_session_place;
	uint64_t session_bytes; /* memory charged for an open session */
	uint64_t kept_bytes;	/* memory charged for a run while its result is
				   sent */
	uint64_t
		sent_bytes; /* charged for results while one is made and sent */
	struct turn turn;   /* of the waiting or running program */
	/* The options it was opened with; a branch borrows its parent's. */
	struct hosted_options opt;
	char *directory; /* for artifacts; may be NULL */
	bool has_kept_artifacts;
	struct hosted *parent;
	uint64_t created_ms, expires_ms, expires_us;

	pthread_cond_t changed;
	enum hosted_state state;
	bool over;    /* the worker ends when the queue is empty */
	bool dropped; /* hidden from clients, even while listed */
	struct task *first, **last;
	unsigned queued;
	uint64_t numbers;     /* last number of a task */
	struct task *current; /* the worker's current task */
	uint64_t cells;
	struct remit_session *session;
	struct hosted_commands *commands;	 /* NULL: it cannot run any */
	struct hosted_watches *watches;		 /* NULL: nothing is watched */
	struct hosted_ports *ports;		 /* NULL: none can be reached */
	char session_id[HOSTED_SESSION_ID_SIZE]; /* the keeper's */
	int wake; /* an eventfd that interrupts the running cell */
};

/* Adds a new hosted session to the table, with a second reference for the
   caller. */
int hosted_table_add(struct hosted_table *table,
		     const struct hosted_options *opt, bool is_run,
		     struct hosted **out, struct remit_error *err) must_check;
/* Removes it from the table if it is listed. */
void hosted_table_remove(struct hosted *r);
/* The session's jail has ended: frees its place and memory for others. */
void hosted_table_release_session(struct hosted *r);
/* The memory to reserve for its jail and for the results that the server
   keeps. */
uint64_t hosted_weight(const struct hosted *r);
/* Wakes the programs that can run now. Called with the lock held. */
void hosted_table_grant_turns(struct hosted_table *table);
/* Starts the worker thread, which has a reference. */
int hosted_start_worker(struct hosted *r, struct remit_error *err) must_check;
/* Starts a thread that the end of the table waits for: its last act must be
   hosted_table_end_worker(). */
int hosted_table_begin_thread(struct hosted_table *table,
			      void *(*run)(void *arg), void *arg,
			      size_t stack_bytes,
			      struct remit_error *err) must_check;
void hosted_table_end_worker(struct hosted_table *table);
/* Called by the worker when the session has a new jail, and before that jail
   ends. If commands cannot be had, requests for them fail. */
void hosted_commands_begin(struct hosted *r);
void hosted_commands_end(struct hosted *r);
/* The same for watches. */
void hosted_watches_begin(struct hosted *r);
void hosted_watches_end(struct hosted *r);
/* The same for ports. */
void hosted_ports_begin(struct hosted *r);
void hosted_ports_end(struct hosted *r);
int hosted_queue(struct hosted *r, const struct task *given, uint64_t *number,
		 struct remit_error *err) must_check;

/* For the worker: registers a call to be answered. Returns -1 if memory is
   exhausted. The id is copied out, because the call may be answered and freed
   at any time. */
int hosted_wait_call(struct hosted *r, struct remit_tool_call *call,
		     char id[HOSTED_ID_SIZE]) must_check;
/* For the worker: sends a question and waits for the answer. */
enum remit_answer hosted_wait_answer(struct hosted *r, const struct task *t,
				     const struct remit_question *q);
/* The cell has ended: fails its unanswered calls. */
void hosted_wait_end(struct hosted *r);

#endif
