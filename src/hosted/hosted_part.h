/*
 * hosted_part: what the table (hosted_table.c), the queue of a hosted session
 * (hosted.c), its worker (hosted_work.c) and what waits for an answer
 * (hosted_wait.c) know of each other. For these files only.
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
	TASK_RESET,
	TASK_FORK,
	TASK_CLOSE
};

/* What is asked of a hosted session. */
struct task {
	struct task *next;
	enum task_kind kind;
	uint64_t number;
	struct hosted_job job;	     /* of a run or a cell */
	struct remit_file_task file; /* with the loan of the job */
	struct hosted *branch;	     /* of a fork */
	bool cancelled;
	const struct hosted_events *ev;
	void *user;
};

/* A call or question that is not answered yet. */
struct wait {
	struct wait *next;
	char id[HOSTED_ID_SIZE];
	struct hosted *hosted; /* whose worker removes it before it goes on */
	struct remit_tool_call *call; /* NULL: it is a question */
	bool answered;
	enum remit_answer answer;
};

/* One lock for all: it is held for moments, and never while anything is called
   that waits or is somebody else's. */
struct hosted_table {
	pthread_mutex_t lock;
	pthread_cond_t worker_ended;
	pthread_cond_t result_ended; /* there is room for another */
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
	struct hosted *first; /* of the table */
	size_t workers;
	struct wait *waits;
};

struct hosted {
	struct hosted *next;
	struct hosted_table *table;
	struct refcount refs;
	bool listed; /* in the table, which holds it */
	bool is_run;
	char id[HOSTED_ID_SIZE];
	char *owner;
	struct tenant *tenant;
	bool has_session_place;
	uint64_t session_bytes; /* of memory, that it holds */
	uint64_t kept_bytes;	/* of a run whose result is being sent */
	uint64_t sent_bytes;	/* of results, while one is made and sent */
	struct turn turn;	/* of the program that waits or runs */
	/* As it was opened; a branch borrows from its parent. */
	struct hosted_options opt;
	char *directory; /* for artifacts, or NULL */
	bool has_kept_artifacts;
	struct hosted *parent;
	uint64_t created_ms, expires_ms, expires_us;

	pthread_cond_t changed;
	enum hosted_state state;
	bool over;    /* the worker is to end */
	bool dropped; /* no client finds it, whether it is listed or not */
	struct task *first, **last;
	unsigned queued;
	uint64_t numbers;     /* of tasks given out */
	struct task *current; /* what the worker does */
	uint64_t cells;
	struct remit_session *session;
	int wake; /* an eventfd: interrupts the cell that runs */
};

/* A new room in the table, held once more for the caller. */
int hosted_table_add(struct hosted_table *table,
		     const struct hosted_options *opt, bool is_run,
		     struct hosted **out, struct remit_error *err) must_check;
/* Out of the table, if it is in it. */
void hosted_table_remove(struct hosted *r);
/* The hosted session's session is gone: another may be opened. */
void hosted_table_release_session(struct hosted *r);
/* The memory of its jail and of the results that the server keeps. */
uint64_t hosted_weight(const struct hosted *r);
/* Programs that can run now do. The lock is held. */
void hosted_table_grant_turns(struct hosted_table *table);
/* A thread for the hosted session, which it will be held by. */
int hosted_start_worker(struct hosted *r, struct remit_error *err) must_check;
int hosted_queue(struct hosted *r, const struct task *given, uint64_t *number,
		 struct remit_error *err) must_check;

/* Of the worker: a call to be answered; NULL without memory. The id is copied
   out, since an answer may come at once. */
int hosted_wait_call(struct hosted *r, struct remit_tool_call *call,
		     char id[HOSTED_ID_SIZE]) must_check;
/* Of the worker: ask, and wait for the answer. */
enum remit_answer hosted_wait_answer(struct hosted *r, const struct task *t,
				     const struct remit_question *q);
/* The cell is over: calls that nobody answered are answered for them. */
void hosted_wait_end(struct hosted *r);

#endif
