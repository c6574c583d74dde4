/*
 * room_part: what the table (rooms.c), the queue of a room (room.c), its worker
 * (room_work.c) and what waits for an answer (room_wait.c) know of each other.
 * For these files only.
 */
#ifndef REMIT_ROOM_PART_H
#define REMIT_ROOM_PART_H

#include <pthread.h>

#include "base/refcount.h"
#include "hosted/room.h"

enum task_kind {
	TASK_OPEN,
	TASK_RUN,
	TASK_CELL,
	TASK_FILE,
	TASK_RESET,
	TASK_FORK,
	TASK_CLOSE
};

/* What is asked of a room. */
struct task {
	struct task *next;
	enum task_kind kind;
	uint64_t number;
	struct room_job job;	     /* of a run or a cell */
	struct remit_file_task file; /* with the loan of the job */
	struct room *branch;	     /* of a fork */
	bool cancelled;
	const struct room_events *ev;
	void *user;
};

/* A call or question that is not answered yet. */
struct wait {
	struct wait *next;
	char id[ROOM_ID_SIZE];
	struct room *room; /* whose worker removes it before it goes on */
	struct remit_tool_call *call; /* NULL: it is a question */
	bool answered;
	enum remit_answer answer;
};

/* One lock for all: it is held for moments, and never while anything is called
   that waits or is somebody else's. */
struct rooms {
	pthread_mutex_t lock;
	pthread_cond_t worker_ended;
	pthread_cond_t result_ended; /* there is room for another */
	struct remit *remit;
	struct artifact_store *artifacts;
	struct tenants tenants;
	bool divides_processors;
	uint64_t machine_bytes;
	bool is_lone;
	struct room_audit audit;
	struct room_share (*share)(void *user, const char *owner);
	void *share_user;
	bool closing;
	struct room *first; /* of the table */
	size_t workers;
	struct wait *waits;
};

struct room {
	struct room *next;
	struct rooms *all;
	struct refcount refs;
	bool listed; /* in the table, which holds it */
	bool is_run;
	char id[ROOM_ID_SIZE];
	char *owner;
	struct tenant *tenant;
	bool has_session_place;
	uint64_t session_bytes; /* of memory, that it holds */
	uint64_t kept_bytes;	/* of a run whose result is being sent */
	uint64_t sent_bytes;	/* of results, while one is made and sent */
	struct turn turn;	/* of the program that waits or runs */
	/* As it was opened; a branch borrows from its parent. */
	struct room_options opt;
	char *folder; /* for artifacts, or NULL */
	bool has_kept_artifacts;
	struct room *parent;
	uint64_t created_ms, expires_ms, expires_us;

	pthread_cond_t changed;
	enum room_state state;
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
int rooms_add(struct rooms *rs, const struct room_options *opt, bool is_run,
	      struct room **out, struct remit_error *err) must_check;
/* Out of the table, if it is in it. */
void rooms_remove(struct room *r);
/* The room's session is gone: another may be opened. */
void rooms_leave_session(struct room *r);
/* The memory of its jail and of the results that the server keeps. */
uint64_t room_weight(const struct room *r);
/* Programs that can run now do. The lock is held. */
void rooms_grant_turns(struct rooms *rs);
/* A thread for the room, which it will be held by. */
int room_start_worker(struct room *r, struct remit_error *err) must_check;
int room_queue(struct room *r, const struct task *given, uint64_t *number,
	       struct remit_error *err) must_check;

/* Of the worker: a call to be answered; NULL without memory. The id is copied
   out, since an answer may come at once. */
int room_wait_call(struct room *r, struct remit_tool_call *call,
		   char id[ROOM_ID_SIZE]) must_check;
/* Of the worker: ask, and wait for the answer. */
enum remit_answer room_wait_answer(struct room *r, const struct task *t,
				   const struct remit_question *q);
/* The cell is over: calls that nobody answered are answered for them. */
void room_wait_end(struct room *r);

#endif
