/*
 * serve_command: a command of a hosted session (a program that runs beside its
 * cells, within the limits of a cell) and the requests that receive its events.
 * It continues when all clients have disconnected, and clients may join it
 * later. All APIs that have commands share this; each has its form of events.
 */
#ifndef REMIT_SERVE_COMMAND_H
#define REMIT_SERVE_COMMAND_H

#include <jansson.h>

#include "hosted/hosted.h"
#include "serve/exchange.h"

/* How many requests may receive the events of one command. */
#define COMMAND_SUBSCRIBERS_MAX 8

/* How an API sends events to a request. Called by the thread that all commands
   of the session share, and within command_join(). */
struct command_form {
	/* The pid is a claim of the jail. */
	void (*start)(struct exchange *x, uint32_t id, uint32_t pid);
	void (*output)(struct exchange *x, enum command_stream stream,
		       const char *base64);
	/* Ends the reply. `is_dropped`: the session was ended by its client, or
	   has expired. */
	void (*end)(struct exchange *x, const struct command_end *end,
		    bool is_dropped);
};

/* The current state of a running command. */
struct command_view {
	uint32_t id;  /* for hosted_command_input() and its like */
	uint32_t pid; /* a claim of the jail */
	bool has_terminal;
	bool reads;	     /* its input is open */
	const json_t *about; /* what its API remembers; not in copies */
};

/* Selects a command of a session. */
struct command_match {
	bool (*fits)(const struct command_view *v, const void *wanted);
	const void *wanted;
};

/*
 * Starts a command. The request must have begun to reply, and receives its
 * events, first the start. What the parameters point to is lent during the
 * call; takes ownership of `about`, which may be NULL. Returns -1 with an error
 * if the command was not started; then no event is sent.
 */
int command_start(struct exchange *x, struct hosted *hosted,
		  const struct command_params *params,
		  const struct command_form *form, json_t *about,
		  struct remit_error *err) must_check;
/* Sends the events of a running command to this request too, first the start.
   Returns -1 if there is no such command (REMIT_E_INPUT), or if too many
   requests receive its events (REMIT_E_BUSY). `begin` begins the reply, and is
   called if the request can join; NULL: it has begun. */
int command_join(struct exchange *x, const struct hosted *hosted,
		 struct command_match match, const struct command_form *form,
		 void (*begin)(struct exchange *x),
		 struct remit_error *err) must_check;

/* Returns false if there is no such command, or it has not started yet. */
bool command_find(struct exchange *x, const struct hosted *hosted,
		  struct command_match match, struct command_view *out);
/* Lists the running commands of a session, the latest first; each row is
   row_of(v). */
json_t *command_list(struct exchange *x, const struct hosted *hosted,
		     json_t *(*row_of)(const struct command_view *v));
/* Notes that a command's input is closed. Returns whether it was open. */
bool command_close_input(struct exchange *x, const struct hosted *hosted,
			 uint32_t id);

#endif
