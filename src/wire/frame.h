/*
 * frame: what crosses a border. Every frame is a row in one table that says
 * who may send it, how long it may be, and whether it may come twice.
 *
 * On the wire: u32 payload length (little-endian), u8 type, u8 protocol, 2 zero
 * bytes, then the payload. To and from a jail the protocol is 0: there the
 * first frame, the order, has it.
 */
#ifndef REMIT_FRAME_H
#define REMIT_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define FRAME_HEADER 8

/*
 * Raised by one in each release that changes a frame: its number, its payload
 * or its order. A client and a keeper of different protocols do not understand
 * each other, whatever their releases are called; 0 is the protocol of releases
 * that did not send it.
 *
 * A keeper refuses a client of another protocol with a "result" of protocol 0,
 * and answers "status" with the client's protocol. For that the numbers of
 * these two frames, and "remit_version" in their payloads, stay the same for
 * ever.
 */
#define FRAME_PROTOCOL 1
/* Where in the header it is. */
#define FRAME_PROTOCOL_AT 5

/* Long payloads travel in pieces of at most this. */
#define FRAME_PIECE (64 * 1024)

enum frame_type {
	FRAME_NONE,
	/* client to keeper, in this order */
	FRAME_POLICY, /* a policy document */
	FRAME_JOB,    /* name and argv, records; keeper to jail too */
	FRAME_CODE,   /* a piece of the program; keeper to jail too */
	FRAME_STDIN,  /* a piece of standard input; after start too */
	FRAME_STDIN_END,
	FRAME_START,	 /* the job is complete, but for standard input */
	FRAME_INTERRUPT, /* SIGINT now, SIGKILL soon */
	/* keeper to client */
	FRAME_STDOUT,
	FRAME_STDERR,
	FRAME_RESULT, /* JSON: the keeper's members of a result
			 (result.h); the last frame */
	/* keeper to jail */
	FRAME_LOCK_PARAMS, /* struct lock_params (jail/lock_params.h) */
	FRAME_TASK,	   /* records: what all jobs of a plan have in common */
	FRAME_GO,
	/* jail to keeper */
	FRAME_REPORT,  /* struct step_report: a lock-down step, or ready */
	FRAME_CHECKED, /* claim: empty, or records why the code is rejected */
	FRAME_ENDED,   /* claim: records, how the cell ended */
	FRAME_WARM,    /* a zygote's child is ready for a job, or not: a text
			  says which import failed */
	/* pid 1 to keeper */
	FRAME_EXITED, /* struct exit_report */
	/* client to keeper, instead of a job: empty; and back: JSON */
	FRAME_STATUS,
	/* keeper to client, before each result: a JSON list, the same for all
	   of a plan, and empty without one */
	FRAME_ENFORCEMENT,
	/* jail to keeper, before the report: empty, with the descriptor that
	 * tells what is refused */
	FRAME_LISTENER,
	/* client to keeper, and to the jail before the job: path and size,
	   records; then as many bytes, in pieces */
	FRAME_FILE,
	FRAME_FILE_DATA,
	/* keeper to client, before the result: the same. A file whose bytes do
	   not all come is none */
	FRAME_ARTIFACT,
	FRAME_ARTIFACT_DATA,
	/* jail to keeper, and on to the client: a value or a display, records
	   (record.h); then the bytes of its parts one behind the other,
	   in pieces. One whose bytes do not all come is none */
	FRAME_DISPLAY,
	FRAME_DISPLAY_DATA,
	/* client to keeper, after the policy: not one job, but cells again and
	   again; records */
	FRAME_OPEN,
	/* keeper to client: its jail is ready for a cell; records */
	FRAME_OPENED,
	/* client to keeper, between cells: a fresh jail */
	FRAME_RESET,
	/* client to keeper, between cells, and on to the jail: the last cell,
	   which has no code */
	FRAME_CLOSE,
	/* client to keeper before the job, and to the jail before its files:
	   the tools that the code may call, records (keeper/session/bridge.h)
	 */
	FRAME_TOOLS,
	/* jail to keeper to client: id, name and bytes, records; then as many
	   bytes of arguments, in pieces */
	FRAME_CALL,
	FRAME_CALL_DATA,
	/* client to keeper to jail: id, outcome and bytes, records; then as
	   many bytes of the result, in pieces */
	FRAME_REPLY,
	FRAME_REPLY_DATA,
	/* jail to keeper, and on to the client: a cell that somebody types
	   waits for standard input */
	FRAME_PROMPT,
	/* keeper to client, before the jail is there: a line about packages */
	FRAME_PROGRESS,
	/* client to keeper, instead of a job: "run" or "session"; and back:
	   records, text for a model */
	FRAME_INSTRUCTIONS,
	/* keeper to client, while the code waits: id, kind and subject,
	   records; and back: id and answer */
	FRAME_QUESTION,
	FRAME_ANSWER,
	/* client to keeper, between cells: a branch, with the descriptor of its
	   own client; records. And on to the jail: struct join_command */
	FRAME_FORK,
	/* jail to keeper: struct step_report, of the fork */
	FRAME_FORKED,
	/* client to keeper, between cells: commit now */
	FRAME_COMMIT,
	/* client to keeper, between cells, and on to the jail: what is to be
	   done with a file, records; then, if it is written, its bytes as
	   "file_data" */
	FRAME_FILE_TASK,
	/* jail to keeper to client: bytes in pieces, then how it went, records
	   (client/files/file_task.h) */
	FRAME_FILE_BYTES,
	FRAME_FILE_ANSWER,
	/* keeper to client, before the result, if the job asked for it: all
	   that came was read, and another job may come after the result */
	FRAME_STAYS,
	FRAME_TYPES,
};

enum frame_party {
	PARTY_CLIENT = 1,
	PARTY_KEEPER = 2,
	PARTY_JAIL = 4,
	PARTY_INIT = 8,
};

struct frame_rule {
	const char *name;
	unsigned from; /* PARTY_ bits that may send it */
	uint32_t max;  /* payload bytes */
	bool once;     /* a second one breaks the protocol */
	bool cell;     /* but for each cell of a session there may be one */
};

extern const struct frame_rule frame_rules[FRAME_TYPES];

struct frame {
	enum frame_type type; /* FRAME_NONE: nothing complete yet */
	const char *payload;  /* valid until more is read */
	uint32_t len;
};

void frame_header(unsigned char out[FRAME_HEADER], enum frame_type type,
		  uint32_t len);

/* Types seen so far, without those that the next cell may bring again. */
uint64_t frame_next_cell(uint64_t seen);

/*
 * Look at the first `have` bytes of a stream for one frame. With *used == 0
 * more bytes are needed. `seen` has a bit for each type met so far.
 */
int frame_parse(const char *bytes, size_t have, unsigned from, uint64_t *seen,
		struct frame *out, size_t *used,
		struct remit_error *err) must_check;

#endif
