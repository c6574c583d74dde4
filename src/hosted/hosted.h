/*
 * hosted: a session that a server keeps for a client under an id, with the
 * thread that runs its cells.
 *
 * The calls of libremit wait; a server must not. So each hosted session has a
 * worker, and what is asked of a hosted session is queued for it: every call
 * below returns at once, and events are called by the worker. What an event is
 * given is valid during the call only. A run is a hosted session for one
 * program, which ends with it.
 *
 * All functions may be called from any thread, also from events. A hosted
 * session that was given out is counted: hosted_unref() it. It is given out
 * before its first event.
 */
#ifndef REMIT_HOSTED_H
#define REMIT_HOSTED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "hosted/artifact_store.h"
#include "hosted/tenants.h"

/* Of hosted sessions, calls and questions: nobody can guess one. */
#define HOSTED_ID_SIZE 21

/* What waits for the worker of one hosted session; more is busy. */
#define HOSTED_QUEUE_MAX 16
/* Nobody answers a question: no. */
#define HOSTED_QUESTION_MS (300 * 1000)

struct hosted_table;
struct hosted;

/* What was run for whom, and how that ended. */
struct hosted_record {
	const char *owner;
	const struct remit_job *job;	/* with its policy */
	const struct remit_result *res; /* NULL: there is none */
	const struct remit_error *err;	/* then why */
};

/* Who writes down what is run, called by workers; or all is NULL. */
struct hosted_audit {
	/* Whether that can be done. -1: nothing is run. */
	int (*check)(void *user, struct remit_error *err);
	/* Before anybody is told the result. -1: the error is told instead. */
	int (*add)(void *user, const struct hosted_record *rec,
		   struct remit_error *err);
	void *user;
};

/* What one owner may have at once. */
struct hosted_share {
	uint64_t hosted_count; /* sessions and runs */
	uint64_t memory_bytes; /* of all of them, by their policies */
};

struct hosted_table_options {
	struct remit
		*remit; /* the caller's, for longer than the hosted sessions */
	struct tenants_limits limits;
	/* No program can take more, whatever its policy says; 0: not known. */
	uint64_t machine_bytes;
	/* There is one owner: its result is sent even if it is larger than all
	   results may be together. */
	bool is_lone;
	struct artifact_store *artifacts; /* or NULL: no file leaves a jail */
	struct hosted_audit audit;
	/* How much an owner may have; or NULL: as much as there is. Called with
	   the lock of the table held, so it must not wait. */
	struct hosted_share (*share)(void *user, const char *owner);
	void *share_user;
	/* Processor time is divided evenly between owners. */
	bool divides_processors;
};

/* What happens in a cell. Each but the last may be NULL. */
struct hosted_events {
	/* Before all others, if it is begun at all. */
	void (*begin)(void *user, struct hosted *r);
	void (*output)(void *user, enum remit_stream stream, const char *bytes,
		       size_t len);
	void (*display)(void *user, const struct remit_display *d);
	/* About packages that are being installed. */
	void (*progress)(void *user, const char *line, size_t len);
	/* To be answered by hosted_table_answer_call(). NULL: calls fail. */
	void (*call)(void *user, const char *id, const char *tool,
		     const char *arguments_json, size_t len);
	/* To be answered by hosted_table_answer_question(). NULL: the answer is
	 * no. */
	void (*question)(void *user, const char *id,
			 const struct remit_question *q);
	/* What hosted_file() was asked for. */
	void (*file)(void *user, const struct remit_file_answer *answer);
	/* The last of them, once, whatever happens. Not both are set; neither
	   is if all went well and there is no result, as for a reset. */
	void (*result)(void *user, struct remit_result *res,
		       const struct remit_error *err);
};

/* What is lent to a hosted session until release(owner) is called, once, by any
   thread. A function that fails has borrowed nothing. */
struct hosted_loan {
	void (*release)(void *owner);
	void *owner;
};

struct hosted_options {
	const char *owner;	 /* copied; "" is one too */
	const char *policy_json; /* lent; NULL: the default policy */
	/* Lent; their call and user are the hosted session's. */
	struct remit_tool *tools;
	size_t tool_count;
	const struct remit_secret *secrets; /* lent; of a session */
	size_t secret_count;
	bool exports;	       /* files may leave: see artifact_store.h */
	bool forkable;	       /* of a session */
	uint64_t life_ms;      /* of a session: it is dropped then; 0: never */
	uint64_t memory_bytes; /* by its policy, for the owner's share */
	uint64_t result_bytes; /* that the server keeps of one result */
	struct hosted_loan loan;
};

/* A program; what the job points to is lent. Policy, tools, callbacks and
   interrupt_fd of the job are the hosted session's. */
struct hosted_job {
	struct remit_job job;
	struct hosted_loan loan;
};

enum hosted_state { HOSTED_OPENING, HOSTED_IDLE, HOSTED_BUSY, HOSTED_ENDED };

/* A hosted session as it is now. */
struct hosted_view {
	char id[HOSTED_ID_SIZE];
	enum hosted_state state;
	bool forkable;
	uint64_t created_ms; /* since 1970 */
	uint64_t expires_ms; /* likewise; 0: never */
	uint64_t cells;	     /* begun */
	unsigned waiting;    /* in its queue */
};

extern const char *const hosted_state_names[];

int hosted_table_open(struct hosted_table **out,
		      const struct hosted_table_options *opt,
		      struct remit_error *err) must_check;
/* Drop what is past its time. To be called about once a second. */
void hosted_table_sweep(struct hosted_table *table);
/* No room is opened any more; those that are there are dropped, and their
   workers waited for. False: some did not end in time (one that installs
   packages, for instance); then nothing may be freed, and the process must
   end. */
bool hosted_table_end(struct hosted_table *table,
		      uint64_t timeout_ms) must_check;
/* When all have ended and every hosted session that was given out was put. */
void hosted_table_free(struct hosted_table *table);
/* Hosted sessions of one owner, or of all (NULL). */
size_t hosted_table_count(struct hosted_table *table, const char *owner);
/* Whether an owner may have `count` more hosted sessions of so much memory each
   now. It promises nothing: each new room is checked again when it is added. */
int hosted_table_check_share(struct hosted_table *table, const char *owner,
			     uint64_t count, uint64_t memory_bytes,
			     struct remit_error *err) must_check;
/* The sessions of one owner, or of all (NULL), oldest first; free() them.
   -1: no memory. */
int hosted_table_list(struct hosted_table *table, const char *owner,
		      struct hosted_view **out, size_t *count) must_check;

/*
 * A session. The event says whether it could be opened; until then cells wait.
 * One that could not be opened has left the table when the event is called.
 */
int hosted_open(struct hosted_table *table, const struct hosted_options *opt,
		const struct hosted_events *ev, void *user, struct hosted **out,
		struct remit_error *err) must_check;
/* A program of its own, without a session. Its room has left the table when
   the result is given. */
int hosted_run(struct hosted_table *table, const struct hosted_options *opt,
	       const struct hosted_job *job, const struct hosted_events *ev,
	       void *user, struct hosted **out,
	       struct remit_error *err) must_check;
/* NULL: this owner has no such session. */
struct hosted *hosted_find(struct hosted_table *table, const char *owner,
			   const char *id);
/* The same for runs. */
struct hosted *hosted_find_run(struct hosted_table *table, const char *owner,
			       const char *id);
struct hosted *hosted_ref(struct hosted *r);
void hosted_unref(struct hosted *r);

const char *hosted_id(const struct hosted *r);
/* As it was opened with, or NULL; as long as the room is held. */
const char *hosted_policy(const struct hosted *r);
uint64_t hosted_memory(const struct hosted *r);
struct hosted_view hosted_get_view(struct hosted *r);

/* *number names the cell to hosted_cancel(); it may be NULL. */
int hosted_cell(struct hosted *r, const struct hosted_job *job,
		const struct hosted_events *ev, void *user, uint64_t *number,
		struct remit_error *err) must_check;
/* As remit_session_file(), queued like a cell; what the task points to is
   lent. */
int hosted_file(struct hosted *r, const struct remit_file_task *task,
		struct hosted_loan loan, const struct hosted_events *ev,
		void *user, struct remit_error *err) must_check;
/* As remit_session_reset(). */
int hosted_reset(struct hosted *r, const struct hosted_events *ev, void *user,
		 struct remit_error *err) must_check;
/* A branch, as a hosted session of its own with the life that its parent was
 * given. */
int hosted_fork(struct hosted *r, const struct hosted_events *ev, void *user,
		struct hosted **branch, struct remit_error *err) must_check;
/* End it properly, when the cells that wait are done: files leave, and the
   result is the session's last. */
int hosted_close(struct hosted *r, const struct hosted_events *ev, void *user,
		 struct remit_error *err) must_check;
/* End it at once, whatever it does. What waits fails with REMIT_E_GONE. A
   session that is being opened counts until that is done. */
void hosted_drop(struct hosted *r);

/* KeyboardInterrupt for the cell that runs, if one does. A run gets two
   seconds, then it is killed. */
void hosted_interrupt(struct hosted *r);
/* The same for one cell: if it waits, it is not run. */
void hosted_cancel(struct hosted *r, uint64_t number);
/* From now on; 0: never. */
void hosted_set_life(struct hosted *r, uint64_t life_ms);

/* Within the event `result` or `file`: what is sent of it is made, and so many
   bytes of memory are needed for it from now on. Elsewhere it does nothing. */
void hosted_result_made(uint64_t bytes);

/* -1: there is no such call or question of this owner's (any more). */
int hosted_table_answer_call(struct hosted_table *table, const char *owner,
			     const char *id, const char *json,
			     size_t len) must_check;
int hosted_table_fail_call(struct hosted_table *table, const char *owner,
			   const char *id, const char *message) must_check;
int hosted_table_answer_question(struct hosted_table *table, const char *owner,
				 const char *id,
				 enum remit_answer answer) must_check;

/* 20 letters and digits that nobody can guess (100 bits). */
int hosted_make_id(char out[HOSTED_ID_SIZE],
		   struct remit_error *err) must_check;

#endif
