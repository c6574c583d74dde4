/*
 * session_part: what the parts of a session know of each other: its life
 * (session.c), its audit (session_audit.c), its clocks (session_clock.c), its
 * door (session_door.c), its jail (session_jail.c), its tools (session_tools.c)
 * and what leaves the jail (session_commit.c, session_export.c). For these
 * files only.
 */
#ifndef REMIT_SESSION_PART_H
#define REMIT_SESSION_PART_H

#include "keeper.h"
#include "pool.h"
#include "session.h"

/* How much may wait for a door that does not read. */
#define DOOR_BACKLOG ((size_t)1024 * 1024)

/* Life. */

/* Give the inmate its job; when a tick of the clock is over, if need be. */
void session_start(struct session *s);
/* Kill the jail; the result follows when it is dead. */
void session_die(struct session *s);
/* The jail has no more to say: files are exported, or the answer is sent. */
void session_finish(struct session *s);
/* After the changes: files are exported, or the answer is sent. */
void session_give_files(struct session *s);
/* Make the result and send it. */
void session_answer(struct session *s);

/* Clocks. */

void session_set_timer(struct session *s);
/*
 * The code waits for the host, or does no more: an answer of a tool, of a
 * person. The wall clock stands meanwhile, for no longer than tool_wait in all;
 * the processor clock does not. Counted: each hold is released once.
 */
void session_hold(struct session *s);
void session_release(struct session *s);
/* At the start of a cell: nothing is held, and all of tool_wait is left. */
void session_hold_reset(struct session *s);
/* Look at the processor time, and when to look again. */
void session_check_cpu(struct session *s);
void session_on_timer(void *owner);

/* The door. */

void session_flush_door(struct session *s);
void session_flush_input(struct session *s);
void session_on_door(void *owner, uint32_t events);
void session_on_in(void *owner, uint32_t events);

/* The audit: a line before the answer, or when there is nobody to answer. */

/* The code is complete. */
void session_fingerprint(struct session *s);
void session_audit(struct session *s, const struct buf *result);

/* Changes that are written to the host, once the jail is dead. */

/* False if there is no folder of mode rw. */
bool session_commit(struct session *s);
/* From now on it has so much time. */
void session_commit_wait(struct session *s);
void session_commit_free(struct session *s);
/* Its time is over. */
void session_commit_stop(struct session *s);

/* Files that leave, once the jail is dead. */

/* Nothing may live in the jail when it is answered. */
bool session_is_looked_into(const struct session *s);
/* Take hold of the dead jail's workspace. */
void session_take_workspace(struct session *s);
/* False if there is nothing to export. */
bool session_export(struct session *s);
void session_export_more(struct session *s);

/* Tools: frames of the jail and of the door. */

int session_tell_tools(struct session *s, struct remit_error *err) must_check;
int session_take_call(struct session *s, const struct frame *f,
		      struct remit_error *err) must_check;
int session_take_reply(struct session *s, const struct frame *f,
		       struct remit_error *err) must_check;
/* The code can be answered no more. */
void session_end_tools(struct session *s);
/* The door does not read: no more calls are taken until it does. */
bool session_is_stuffed(const struct session *s);

/* The jail. */

int session_send_job(struct session *s, struct remit_error *err) must_check;
void session_flush_channel(struct session *s);

#endif
