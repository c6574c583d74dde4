/*
 * session_part: what the parts of a session know of each other: its life
 * (session.c), its clocks (session_clock.c), its door (session_door.c) and its
 * jail (session_jail.c). For these files only.
 */
#ifndef REMIT_SESSION_PART_H
#define REMIT_SESSION_PART_H

#include "keeper.h"
#include "session.h"

/* An interpreter that has not locked itself down by then never will. */
#define START_PATIENCE_US (30 * 1000000ull)

/* Life. */

/* Kill the jail; the result follows when it is dead. */
void session_die(struct session *s);
/* Something of ours went wrong: the error is the result. */
void session_give_up(struct session *s, const struct remit_error *err);
/* Everything in the jail is dead: make the result and send it. */
void session_finish(struct session *s);
/* Stop watching the jail and the clocks. */
void session_unwatch(struct session *s);

/* Clocks. */

uint64_t session_now_us(void);
void session_set_timer(struct session *s);
/* Look at the processor time, and when to look again. */
void session_check_cpu(struct session *s);
void session_on_timer(void *owner, uint32_t events);

/* The door. */

void session_flush_door(struct session *s);
void session_flush_input(struct session *s);
void session_on_door(void *owner, uint32_t events);
void session_on_in(void *owner, uint32_t events);

/* The jail. */

int session_send_task(struct session *s, struct remit_error *err) must_check;
void session_flush_channel(struct session *s);
void session_on_channel(void *owner, uint32_t events);
void session_on_lifeline(void *owner, uint32_t events);
void session_on_init(void *owner, uint32_t events);
void session_on_out(void *owner, uint32_t events);
void session_on_err(void *owner, uint32_t events);

#endif
