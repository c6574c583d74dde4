/*
 * frame: the messages between client, keeper and jail. Each type of frame is a
 * row in one table, which gives its senders, its maximum length, and whether it
 * may be sent twice.
 *
 * On the wire: u32 payload length (little-endian), u8 type, u8 protocol, 2 zero
 * bytes, then the payload. Between keeper and jail the protocol byte is 0,
 * because the jail's first frame, "lock_params", carries the version.
 */
#ifndef REMIT_FRAME_H
#define REMIT_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define FRAME_HEADER 8

/*
 * The protocol version. Each release that changes the number, the payload or
 * the sequence of a frame raises it by one. A client and a keeper with
 * different protocols cannot work together, whatever their release numbers are.
 * Releases that did not send a protocol count as protocol 0.
 *
 * A keeper refuses a client of another protocol with a "result" of protocol 0,
 * and answers "status" with the client's protocol. Therefore the numbers of
 * these two frames, and "remit_version" in their payloads, must never change.
 */
#define FRAME_PROTOCOL 1
/* The offset of the protocol byte in the header. */
#define FRAME_PROTOCOL_AT 5

/* The maximum length of one frame of a long payload; longer payloads are
   split. */
#define FRAME_PIECE (64 * 1024)

enum frame_type {
	FRAME_NONE,
	/* client to keeper, in this sequence */
	FRAME_POLICY, /* the policy, as JSON */
	FRAME_JOB,    /* records: name and argv; also keeper to jail */
	FRAME_CODE,   /* a piece of the program; also keeper to jail */
	FRAME_STDIN,  /* a piece of standard input; allowed after start */
	FRAME_STDIN_END,
	FRAME_START,	 /* the job is complete, except for standard input */
	FRAME_INTERRUPT, /* send SIGINT now and SIGKILL soon */
	/* keeper to client */
	FRAME_STDOUT,
	FRAME_STDERR,
	FRAME_RESULT, /* JSON: the keeper's members of a result
			 (result.h). The last frame. */
	/* keeper to jail */
	FRAME_LOCK_PARAMS, /* struct lock_params (jail/lock_params.h) */
	FRAME_TASK,	   /* records: what all jobs of a plan have in common */
	FRAME_GO,
	/* jail to keeper */
	/* struct step_report: a failed lock-down step, or ready */
	FRAME_REPORT,
	FRAME_CHECKED, /* claim: empty, or records that say why the code is
			  rejected */
	FRAME_ENDED,   /* claim: records that say how the cell ended */
	FRAME_WARM,    /* a zygote's child is ready for a job; a text names an
			  import that failed instead */
	/* pid 1 to keeper */
	FRAME_EXITED, /* struct exit_report */
	/* client to keeper, instead of a job: empty. Keeper to client: JSON. */
	FRAME_STATUS,
	/* keeper to client, before each result: a JSON list, the same for all
	   runs of a plan, empty without a plan */
	FRAME_ENFORCEMENT,
	/* jail to keeper, before the report: empty, with the descriptor that
	   delivers refused system calls (seccomp_unotify(2)) */
	FRAME_LISTENER,
	/* client to keeper, and keeper to jail before the job: records with
	   path and size, followed by the bytes in pieces */
	FRAME_FILE,
	FRAME_FILE_DATA,
	/* keeper to client, before the result, in the same form. The client
	   ignores a file whose bytes are incomplete. */
	FRAME_ARTIFACT,
	FRAME_ARTIFACT_DATA,
	/* jail to keeper to client: a value or a display, as records
	   (record.h), followed by the bytes of its parts in pieces. The client
	   ignores one whose bytes are incomplete. */
	FRAME_DISPLAY,
	FRAME_DISPLAY_DATA,
	/* client to keeper, after the policy: open a session of many cells
	   instead of sending one job; records */
	FRAME_OPEN,
	/* keeper to client: the session's jail is ready for a cell; records */
	FRAME_OPENED,
	/* client to keeper, between cells: replace the jail by a fresh one */
	FRAME_RESET,
	/* client to keeper to jail, between cells: end the session. This is its
	   last cell, which has no code. */
	FRAME_CLOSE,
	/* client to keeper before the job, and keeper to jail before its files:
	   the tools that the code may call, as records
	   (keeper/session/bridge.h) */
	FRAME_TOOLS,
	/* jail to keeper to client: records with id, name and size, followed by
	   the arguments in pieces */
	FRAME_CALL,
	FRAME_CALL_DATA,
	/* client to keeper to jail: records with id, outcome and size, followed
	   by the reply in pieces */
	FRAME_REPLY,
	FRAME_REPLY_DATA,
	/* jail to keeper to client: an interactive cell waits for standard
	   input */
	FRAME_PROMPT,
	/* keeper to client, while packages are installed: one line of text */
	FRAME_PROGRESS,
	/* client to keeper, instead of a job: "run" or "session". Keeper to
	   client: records with the text for a model. */
	FRAME_INSTRUCTIONS,
	/* keeper to client, while the code waits: records with id, kind and
	   subject. Client to keeper: records with id and answer. */
	FRAME_QUESTION,
	FRAME_ANSWER,
	/* client to keeper, between cells: make a branch; records, with the
	   descriptor of the branch's client. Keeper to jail: struct
	   join_command. */
	FRAME_FORK,
	/* jail to keeper: struct step_report of the fork */
	FRAME_FORKED,
	/* client to keeper, between cells: commit the changes now */
	FRAME_COMMIT,
	/* client to keeper to jail, between cells: a task for one file, as
	   records. If the file is written, its bytes follow as "file_data". */
	FRAME_FILE_TASK,
	/* jail to keeper to client: the bytes read, in pieces, then the outcome
	   as records (client/files/file_task.h) */
	FRAME_FILE_BYTES,
	FRAME_FILE_ANSWER,
	/* keeper to client, before the result, if the job asked for it:
	   everything that the client sent was read, and it may send another job
	   after the result */
	FRAME_STAYS,
	/* client to keeper, and keeper to jail, between cells: start a helper
	   for commands (wire/command.h). With the descriptor over which the
	   frames below are sent: of the client, or for the helper. */
	FRAME_COMMANDS,
	/* client to keeper to helper: start a command; records */
	FRAME_COMMAND,
	/* u32 id and bytes of standard input; without bytes: its end */
	FRAME_COMMAND_INPUT,
	FRAME_COMMAND_SIGNAL, /* u32 id, u32 signal: for its process group */
	FRAME_COMMAND_SIZE,   /* u32 id, u16 columns, u16 rows of a terminal */
	/* helper to keeper to client: u32 id, u32 pid in the jail (a claim) */
	FRAME_COMMAND_STARTED,
	FRAME_COMMAND_OUTPUT, /* u32 id, u8 stream, bytes */
	FRAME_COMMAND_ENDED,  /* struct command_ended and a text */
	/* client to keeper, between cells: the hosts that the code may connect
	   to from now on, as a JSON policy with only these fields */
	FRAME_NETWORK,
	/* client to keeper, between cells: with the descriptor over which the
	   frames below are sent (wire/watch.h) */
	FRAME_WATCHER,
	FRAME_WATCH,	   /* client to watcher: struct watch_request */
	FRAME_WATCH_EVENT, /* watcher to client: struct watch_event */
	/* client to keeper, between cells: connections to ports of the jail
	   will be requested. With the descriptor over which the frame below is
	   sent. */
	FRAME_PORTS,
	/* client to keeper: u32 port. Keeper to client: with the descriptor of
	   a TCP socket that is being connected to it; or without one, a text
	   has the reason. */
	FRAME_PORT,
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
	unsigned from; /* PARTY_ bits of its senders */
	uint32_t max;  /* maximum length of the payload */
	bool once;     /* a second one breaks the protocol */
	bool cell;     /* each cell of a session may have one */
};

extern const struct frame_rule frame_rules[FRAME_TYPES];

struct frame {
	/* FRAME_NONE: the next frame is not complete yet */
	enum frame_type type;
	const char *payload; /* valid until more is read from the link */
	uint32_t len;
};

void frame_header(unsigned char out[FRAME_HEADER], enum frame_type type,
		  uint32_t len);

/* Returns `seen` without the types that the next cell may send again. */
uint64_t frame_next_cell(uint64_t seen);

/*
 * Parses one frame from the first `have` bytes of a stream. Sets *used to 0 if
 * more bytes are needed. `seen` has a bit for each type received so far.
 * Returns -1 if the frame breaks a rule of the table.
 */
int frame_parse(const char *bytes, size_t have, unsigned from, uint64_t *seen,
		struct frame *out, size_t *used,
		struct remit_error *err) must_check;

#endif
