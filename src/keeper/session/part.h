/*
 * session_part: what the files of this folder know of each other, and no other
 * file may use:
 *
 *   session.c       creation and release, the state
 *   reactions.c     the table of reactions to events
 *   clock.c         deadlines and processor time
 *   client.c        frames of the client
 *   beside/         commands, watched directories and ports: what a client uses
 *                   while cells run
 *   jail.c          output and frames of the jail
 *   tools.c         calls to tools, questions of the proxy
 *   network.c       a new list of hosts for an open session
 *   packages.c      packages that the code asks for
 *   commit.c        changes written to the host
 *   ending.c        facts, exported files, audit, answer
 *   session_cell.c  the sequence of cells
 *   fork.c          branches
 *   file.c          files between cells
 */
#ifndef REMIT_SESSION_PART_H
#define REMIT_SESSION_PART_H

#include "base/digest.h"
#include "keeper/keeper.h"
#include "keeper/pool/pool.h"
#include "keeper/session/beside/commands.h"
#include "keeper/session/beside/ports.h"
#include "keeper/session/beside/watching.h"
#include "keeper/session/session.h"

/* Between SIGINT and SIGKILL. */
#define SESSION_GRACE_US (2 * 1000000ull)
/* How much output may be queued for a client that does not read. */
#define CLIENT_BACKLOG ((size_t)1024 * 1024)

/* Life cycle. */

/*
 * The only function that changes the state. A transition that is not in the
 * table is a defect: a test build aborts, and a release keeps the state, fails
 * the session as internal and returns -1.
 */
int session_enter(struct session *s, enum session_state next);
/* Handles the events of a session. Called from the loop. */
void session_run_events(void *owner);
/* Ends the session without another answer. */
void session_remove(struct session *s);

/* Finds or makes the plan for its policy, if it has none yet: for a run, or for
   many cells. */
int session_ensure_plan(struct session *s, bool many,
			struct remit_error *err) must_check;
/* Sends the job to the worker, after a tick of the clock if that is
   necessary. */
void session_start(struct session *s);
/* Kills the jail; the result follows when it is dead. */
void session_kill_jail(struct session *s);
/* The jail will send nothing more: commits, exports files, or answers. */
void session_finish(struct session *s);
/* Ends the cell; the jail lives on. */
void session_end_cell(struct session *s);
/* Releases the worker, which is killed and removed without the session. */
void session_detach_worker(struct session *s);
/* Starts counting output from zero. */
void session_reset_captures(struct session *s);
/* Called after a commit: exports files or, if there are none, answers. */
void session_export_or_answer(struct session *s);
/* Answers that the cell cannot run, without touching its jail. */
void session_refuse_cell(struct session *s, const struct remit_error *why);
/* Builds the result and sends it. */
void session_answer(struct session *s);

/* Forwards the output that is in the pipe, so that it precedes the next
   frame. */
void session_read_output(struct session *s, struct capture *c);
/* Cells. */

/* Returns true while no cell is in progress. */
bool session_is_between_cells(const struct session *s);
/* Returns true once the client has received "opened": it then expects a result
   for each cell. */
bool session_is_opened(const struct session *s);
/* Opens a session for many cells. */
int session_open(struct session *s, const struct frame *f,
		 struct remit_error *err) must_check;
/* Reports to the client that the session has a jail. */
void session_send_opened(struct session *s);
/* Runs the next cell, which has arrived and was admitted. */
void session_begin_cell(struct session *s);
/* Resets the cell; the jail waits for the next one. */
void session_go_idle(struct session *s);
/* Handles an error between two cells, or of the client itself. */
void session_fail_between_cells(struct session *s);
/* Releases the worker between two cells; the next request is refused with this
   reason. */
void session_lose_jail(struct session *s, const struct remit_error *why);
/* Records that the jail ends with this cell. */
void session_note_loss(struct session *s);
int session_reset(struct session *s, const struct frame *f,
		  struct remit_error *err) must_check;
int session_close(struct session *s, const struct frame *f,
		  struct remit_error *err) must_check;
/* Enqueues a session that has everything it needs to run. */
void session_enqueue(struct session *s);
/* Opens a writer for the code's standard input, for one cell. */
int session_open_stdin(struct session *s, struct remit_error *err) must_check;

/* Branches. */

int session_fork(struct session *s, const struct frame *f,
		 struct remit_error *err) must_check;
/* The branch exists or has failed: the original session continues. */
void session_end_fork(struct session *b);
/* Handles what the code reports of the fork. */
int session_recv_forked(struct session *s, const struct frame *f,
			struct remit_error *err) must_check;

/* Files, between cells: frames of the client and of the jail. */

int session_recv_file_task(struct session *s, const struct frame *f,
			   struct remit_error *err) must_check;
int session_recv_file_data(struct session *s, const struct frame *f,
			   struct remit_error *err) must_check;
int session_recv_file_answer(struct session *s, const struct frame *f,
			     struct remit_error *err) must_check;
/* Answers the request for a file whose jail is gone. `is_busy`: a deadline of
   the keeper ended the jail, so this request fails as busy, while all later
   ones are refused. */
void session_abandon_file(struct session *s, bool is_busy);
/* The deadline of a file request is over. */
void session_file_timed_out(struct session *s);
/* All bytes of the client have arrived. */
void session_file_complete(struct session *s);

/* Clocks: handlers of the timer, in a cell and between cells. */

void session_tick_in_cell(struct session *s);
void session_tick_between_cells(struct session *s);

/* Starts the time that the session may be idle. */
void session_start_idle_timer(struct session *s);

/* Handles an exceeded limit: a cell gets SIGINT now, and its jail SIGKILL after
   the grace period; a run gets SIGKILL. */
void session_exceed_limit(struct session *s);
/* Makes the cell end after the grace period at the latest. */
void session_start_grace(struct session *s);
/* Returns the processor time of the jail so far. */
uint64_t session_cpu_us(struct session *s);

void session_set_timer(struct session *s);
/* The code waits for the host, or no longer does: see cell.h. */
void session_pause_clock(struct session *s);
void session_resume_clock(struct session *s);
/* Checks the processor time, and sets when to check it again. */
void session_check_cpu(struct session *s);
/* Returns the limit in the plan; 0: none. */
uint64_t session_cpu_limit_ms(const struct session *s);

/* The client. */

/* Handles its frames up to the first one that is a request. */
void session_read_frames(struct session *s);
/* Handles that request. */
void session_do_request(struct session *s);
void session_flush_client(struct session *s);
/* Returns true if everything it sent was read, and it wants to send another
   job. */
bool session_client_stays(const struct session *s);
/* Watches its descriptor for reading and writing as needed. */
void session_watch_client(struct session *s);
void session_on_client(void *owner, uint32_t events);
void session_on_stdin(void *owner, uint32_t events);

/* The audit: a line before the answer, or when there is no client to answer. */

/* Called when the code is complete. */
void session_hash_code(struct session *s);
void session_audit(struct session *s, const struct buf *result);
/* Hashes the policy in force. Returns -1 if memory is exhausted. */
int session_policy_sha256(const struct session *s,
			  char out[SHA256_TEXT]) must_check;

/* Changes that are written to the host, once the jail is dead, or between two
   cells. */

/* Starts the commit. Returns false if there is nothing to commit. */
bool session_commit(struct session *s);
/* Commits on request of the client, between two cells. */
int session_commit_now(struct session *s, const struct frame *f,
		       struct remit_error *err) must_check;
/* Starts the deadline of the commit. */
void session_start_commit_timer(struct session *s);
/* Handles a missed deadline. */
void session_stop_commit(struct session *s);
/* The committer has reported, or is dead. */
void session_committed(struct session *s);

/* Files exported once the jail is dead. */

/* Returns true if everything in the jail must be dead before the answer. */
bool session_needs_dead_jail(const struct session *s);
/* Keeps the workspace of the dead jail. */
void session_keep_workspace(struct session *s);
/* Starts the export. Returns false if there is nothing to export. */
bool session_export(struct session *s);
void session_export_more(struct session *s);

/* Values and displays. */

int session_recv_display(struct session *s, const struct frame *f,
			 struct remit_error *err) must_check;
int session_recv_display_data(struct session *s, const struct frame *f,
			      struct remit_error *err) must_check;

/* Tools: frames of the jail and of the client. */

int session_send_tools(struct session *s, struct remit_error *err) must_check;
int session_recv_call(struct session *s, const struct frame *f,
		      struct remit_error *err) must_check;
int session_recv_reply(struct session *s, const struct frame *f,
		       struct remit_error *err) must_check;
/* No more replies will be sent to the code. */
void session_end_tools(struct session *s);
/* Resets them between cells. */
void session_reset_tools(struct session *s);

/* Packages. */

/* Handles the request that the bridge has received. */
int session_request_packages(struct session *s,
			     struct remit_error *err) must_check;
/* Forgets the request that the code waits for. */
void session_drop_packages(struct session *s);

/* The jail. */

int session_send_job(struct session *s, struct remit_error *err) must_check;
void session_flush_channel(struct session *s);
/* Handles the frames of the code that are already in the buffer. */
void session_read_channel(struct session *s);
/* Handlers of three events: the code has reported its end, its process has
   ended, everything in the jail is dead. */
void session_handle_reported_end(struct session *s);
void session_end_code(struct session *s);
void session_end_jail(struct session *s);

/* Reads the questions of its proxy, if the policy has network_ask. */
int session_watch_questions(struct session *s,
			    struct remit_error *err) must_check;
/* Changes the hosts that its code may connect to. */
int session_set_network(struct session *s, const struct frame *f,
			struct remit_error *err) must_check;
/* Sends a new worker's proxy the list that its client has set. */
int session_apply_network(struct session *s,
			  struct remit_error *err) must_check;
void network_list_free(struct network_list *n);
int session_recv_answer(struct session *s, const struct frame *f,
			struct remit_error *err) must_check;
/* Answers the open question with a refusal. */
void session_drop_question(struct session *s);

#endif
