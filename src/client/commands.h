/*
 * client_commands: programs that run beside the cells of a session. For
 * servers; it is not a part of libremit's interface.
 *
 * They have a connection of their own, so they never wait for a cell. One
 * thread receives with commands_next(). All other functions may be called from
 * any thread and do not block.
 */
#ifndef REMIT_CLIENT_COMMANDS_H
#define REMIT_CLIENT_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "remit.h"
#include "wire/command.h"

struct commands_link;

/*
 * Requests a helper for commands from an open session, between two cells. The
 * keeper closes the connection if there can be none. Call it once for each jail
 * of the session.
 */
int commands_open(struct remit_session *s, struct commands_link **out,
		  struct remit_error *err) must_check;
/* Accepts NULL. Commands that run are killed. */
void commands_link_free(struct commands_link *c);
/* Makes commands_next() return -1. */
void commands_shut_down(struct commands_link *c);

int commands_start(struct commands_link *c, const struct command_params *p,
		   struct remit_error *err) must_check;
/* Sends a piece of input; with len 0, its end. */
int commands_send_input(struct commands_link *c, uint32_t id, const void *bytes,
			size_t len, struct remit_error *err) must_check;
int commands_send_signal(struct commands_link *c, uint32_t id, int number,
			 struct remit_error *err) must_check;
int commands_resize(struct commands_link *c, uint32_t id, unsigned columns,
		    unsigned rows, struct remit_error *err) must_check;

/* Receives the events of commands. */
struct commands_events {
	/* `pid` is a claim. */
	void (*started)(void *user, uint32_t id, uint32_t pid);
	void (*output)(void *user, uint32_t id, enum command_stream stream,
		       const char *bytes, size_t len);
	void (*ended)(void *user, const struct command_end *end);
};

/* Waits for events and calls their functions. Returns -1 when no more will
   come. */
int commands_next(struct commands_link *c, const struct commands_events *ev,
		  void *user, struct remit_error *err) must_check;

#endif
