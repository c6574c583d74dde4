/*
 * session_part: what the parts of a session know of each other: its life
 * (session.c), the table of what is done about each event
 * (keeper/session/reactions.c), its clocks (keeper/session/clock.c), its client
 * (keeper/session/client.c), its jail and what that shows
 * (keeper/session/jail.c), whom it calls (keeper/session/tools.c), what leaves
 * it (keeper/session/commit.c), how it ends with files, audit and answer
 * (keeper/session/ending.c), its cells (session_cell.c), branches
 * (keeper/session/fork.c) and files (keeper/session/file.c). For these files
 * only.
 */
#ifndef REMIT_SESSION_PART_H
#define REMIT_SESSION_PART_H

#include "keeper/keeper.h"
#include "keeper/pool/pool.h"
#include "keeper/session/session.h"

/* Between an interrupt and the kill. */
#define SESSION_GRACE_US (2 * 1000000ull)
/* How much may wait for a client that does not read. */
#define CLIENT_BACKLOG ((size_t)1024 * 1024)

/* Life. */

/*
 * The only way to change its state. A transition that the table does not know
 * is a defect of ours: tests abort, and a release fails the session as
 * internal and leaves its state as it is (-1).
 */
int session_enter(struct session *s, enum session_state next);
/* Works its events off. From the loop. */
void session_run_events(void *owner);
/* It is done, and answers nothing any more. */
void session_remove(struct session *s);

/* The plan for its policy, if it has none yet: of a run, or of many cells. */
int session_ensure_plan(struct session *s, bool many,
			struct remit_error *err) must_check;
/* Give the worker its job; when a tick of the clock is over, if need be. */
void session_start(struct session *s);
/* Kill the jail; the result follows when it is dead. */
void session_kill_jail(struct session *s);
/* The jail has no more to say: files are exported, or the answer is sent. */
void session_finish(struct session *s);
/* The cell is over, and the jail lives on. */
void session_end_cell(struct session *s);
/* Its worker goes its own way, which leads out. */
void session_detach_worker(struct session *s);
/* Output is counted from here on. */
void session_reset_captures(struct session *s);
/* After the changes: files are exported, or the answer is sent. */
void session_export_or_answer(struct session *s);
/* The cell cannot be run, and this says why; its jail is not touched. */
void session_refuse_cell(struct session *s, const struct remit_error *why);
/* Make the result and send it. */
void session_answer(struct session *s);

/* Output that is there already, and goes before what comes now. */
void session_read_output(struct session *s, struct capture *c);
/* Cells. */

/* It is between two cells. */
bool session_is_between_cells(const struct session *s);
/* Its client was told that it is open, and expects an answer to each cell. */
bool session_is_opened(const struct session *s);
/* The client wants many. */
int session_open(struct session *s, const struct frame *f,
		 struct remit_error *err) must_check;
/* There is a jail: the client is told. */
void session_send_opened(struct session *s);
/* The next cell has come; it may run. */
void session_begin_cell(struct session *s);
/* What the last cell leaves behind is forgotten; the jail waits. */
void session_go_idle(struct session *s);
/* Something went wrong between two cells, or with the client itself. */
void session_fail_between_cells(struct session *s);
/* The jail is gone between two cells; the next request is told. */
void session_lose_jail(struct session *s, const struct remit_error *why);
/* The jail ends with this cell. */
void session_note_loss(struct session *s);
int session_reset(struct session *s, const struct frame *f,
		  struct remit_error *err) must_check;
int session_close(struct session *s, const struct frame *f,
		  struct remit_error *err) must_check;
/* It has all that it needs, and waits for its turn. */
void session_enqueue(struct session *s);
/* A writer of the code's standard input, for one cell. */
int session_open_stdin(struct session *s, struct remit_error *err) must_check;

/* Branches. */

int session_fork(struct session *s, const struct frame *f,
		 struct remit_error *err) must_check;
/* This branch is there, or will never be: its session goes on. */
void session_end_fork(struct session *b);
/* What the code says of it. */
int session_recv_forked(struct session *s, const struct frame *f,
			struct remit_error *err) must_check;

/* Files, between cells: frames of the client and of the jail. */

int session_recv_file_task(struct session *s, const struct frame *f,
			   struct remit_error *err) must_check;
int session_recv_file_data(struct session *s, const struct frame *f,
			   struct remit_error *err) must_check;
int session_recv_file_answer(struct session *s, const struct frame *f,
			     struct remit_error *err) must_check;
/* Answers the request for a file of a session that has ended. `is_busy`: a
   deadline of the keeper's ended it, so the request is not "refused" like all
   later ones. */
void session_abandon_file(struct session *s, bool is_busy);
/* The time for an answer is over. */
void session_file_timed_out(struct session *s);
/* The client's bytes are all here. */
void session_file_complete(struct session *s);

/* Clocks: what is done when its timer has rung, in a cell and between. */

void session_tick_in_cell(struct session *s);
void session_tick_between_cells(struct session *s);

/* How long it may be idle from now on. */
void session_start_idle_timer(struct session *s);

/* It is over a limit: a cell gets SIGINT now and SIGKILL when the grace is
   over, a run SIGKILL. */
void session_exceed_limit(struct session *s);
/* It ends when the grace is over, or before. */
void session_start_grace(struct session *s);
/* Processor time of the jail so far. */
uint64_t session_cpu_us(struct session *s);

void session_set_timer(struct session *s);
/* The code waits for the host, or does no more: see cell.h. */
void session_pause_clock(struct session *s);
void session_resume_clock(struct session *s);
/* Look at the processor time, and when to look again. */
void session_check_cpu(struct session *s);
/* The limit that its plan sets; 0: none. */
uint64_t session_cpu_limit_ms(const struct session *s);

/* The client. */

/* Keep what its frames bring, up to the first that asks for something. */
void session_read_frames(struct session *s);
/* Do what that frame asks for. */
void session_do_request(struct session *s);
void session_flush_client(struct session *s);
/* All that came of it was read, and it wants to ask again. */
bool session_client_stays(const struct session *s);
/* Read from it, and write to it, as there is room. */
void session_watch_client(struct session *s);
void session_on_client(void *owner, uint32_t events);
void session_on_stdin(void *owner, uint32_t events);

/* The audit: a line before the answer, or when there is nobody to answer. */

/* The code is complete. */
void session_hash_code(struct session *s);
void session_audit(struct session *s, const struct buf *result);

/* Changes that are written to the host, once the jail is dead, or between two
   cells. */

/* False if there is no directory of mode rw. */
bool session_commit(struct session *s);
/* The client asks for it, between two cells. */
int session_commit_now(struct session *s, const struct frame *f,
		       struct remit_error *err) must_check;
/* From now on it has so much time. */
void session_start_commit_timer(struct session *s);
/* Its time is over. */
void session_stop_commit(struct session *s);
/* The committer is done, or dead. */
void session_committed(struct session *s);

/* Files that leave, once the jail is dead. */

/* Nothing may live in the jail when it is answered. */
bool session_needs_dead_jail(const struct session *s);
/* Take hold of the dead jail's workspace. */
void session_keep_workspace(struct session *s);
/* False if there is nothing to export. */
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
/* The code can be answered no more. */
void session_end_tools(struct session *s);
/* Between cells. */
void session_reset_tools(struct session *s);

/* The jail. */

int session_send_job(struct session *s, struct remit_error *err) must_check;
void session_flush_channel(struct session *s);
/* The frames of the code that were received and not looked at yet. */
void session_read_channel(struct session *s);
/* What is done about its events: the code has reported its end, its process has
   ended, everything in the jail is dead. */
void session_handle_reported_end(struct session *s);
void session_end_code(struct session *s);
void session_end_jail(struct session *s);

/* Questions of its proxy, if its policy has network_ask. */
int session_watch_questions(struct session *s,
			    struct remit_error *err) must_check;
int session_recv_answer(struct session *s, const struct frame *f,
			struct remit_error *err) must_check;
/* Nobody will answer any more. */
void session_drop_question(struct session *s);

#endif
