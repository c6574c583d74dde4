/*
 * command: commands of a session, which run beside its cells: the facts and
 * claims that are sent about one.
 *
 * A helper process in the jail starts them. Everything it sends is a claim of
 * untrusted code. The keeper forwards what fits into the policy's limits, and
 * adds its own ends.
 */
#ifndef REMIT_WIRE_COMMAND_H
#define REMIT_WIRE_COMMAND_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"

/* How many commands may run beside the cells of one session. */
#define COMMANDS_MAX 32
/* The maximum length of the text in an end. */
#define COMMAND_TEXT_MAX 400

/* The streams of a command's output. */
enum command_stream {
	COMMAND_STDOUT = 1,
	COMMAND_STDERR,
	COMMAND_TERMINAL,
};

/* How a command ended. */
enum command_end_kind {
	/* claims of the helper */
	COMMAND_EXITED = 1, /* value: the exit code */
	COMMAND_SIGNALLED,  /* value: the signal */
	COMMAND_FAILED,	    /* it was not started; the text has the reason */
	/* facts of the keeper */
	COMMAND_REFUSED, /* it was not started; the text has the reason */
	COMMAND_TIMEOUT,
	COMMAND_CPU_LIMIT,
	COMMAND_OUTPUT_LIMIT,
	COMMAND_INPUT_LIMIT,
	COMMAND_GONE, /* its jail has ended */
	COMMAND_END_KINDS,
};

/* The payload of the frame "command_ended", followed by the text. */
struct command_ended {
	uint32_t id, kind;
	int32_t value;
};

struct command_end {
	uint32_t id;
	enum command_end_kind kind;
	int value;
	char text[COMMAND_TEXT_MAX + 1];
};

/* Parses the payload of "command_ended". Returns -1 if it is malformed, or if
   its kind is greater than `last_kind`. */
int command_end_read(struct command_end *out, const char *payload, size_t len,
		     enum command_end_kind last_kind) must_check;
/* Writes the payload. Returns its length. */
size_t command_end_write(
	const struct command_end *e,
	char out[sizeof(struct command_ended) + COMMAND_TEXT_MAX]);

/* A command to start. */
struct command_params {
	uint32_t id;
	const struct list *argv, *env;
	const char *cwd; /* NULL: the workspace */
	bool reads;	 /* it has a standard input */
	uint64_t timeout_ms;
	unsigned columns, rows; /* of its terminal; 0: it has none */
};

/* Writes the payload of the frame "command": records. */
int command_params_write(struct buf *out,
			 const struct command_params *p) must_check;

/* The status of its result: "ok", "exit", "timeout" and so on. */
const char *command_end_status(const struct command_end *e);
/* The members of a result for the audit. Returns NULL if memory is
   exhausted. */
json_t *command_result(const struct command_end *e, const char *id,
		       const char *tier, uint64_t wall_ms);

#endif
