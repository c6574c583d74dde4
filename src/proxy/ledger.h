/*
 * ledger: what went through a proxy and what did not. It lies in memory that
 * the proxy writes and the keeper reads: the keeper takes a copy and believes
 * no length in it.
 */
#ifndef REMIT_LEDGER_H
#define REMIT_LEDGER_H

#include <stdint.h>

#include "base/error.h"
#include "base/net/host_name.h"

/* Of more hosts only the sums are known. What was refused has no more than
   half of the rows, or it would hide what was let through. */
#define LEDGER_ROWS	    64
#define LEDGER_REFUSED_ROWS 32

enum ledger_why {
	LEDGER_LET_THROUGH,
	LEDGER_UNREACHABLE, /* the name leads nowhere, or nobody is there */
	/* Refused from here on. */
	LEDGER_NOT_NAMED,
	LEDGER_NOT_PUBLIC, /* the name leads to a private address */
	LEDGER_NEVER,	   /* it leads to this machine, its link, or nobody */
	LEDGER_OTHER_NAME, /* the bytes name somebody else, or nobody */
	/* Of its entry: */
	LEDGER_OTHER_METHOD,
	LEDGER_OTHER_REQUEST, /* a second one, or one that is not clear */
	LEDGER_TOO_MANY,
	LEDGER_TOO_MUCH,
	LEDGER_IN_CLEAR,   /* a credential would be read on the way */
	LEDGER_NOT_PROVEN, /* the host did not prove that it is this one */
	LEDGER_WHYS,
};

struct ledger_row {
	char host[HOST_NAME_SIZE];
	uint16_t port; /* 0: it was only asked for by name */
	uint16_t why;
	uint64_t count;
	uint64_t sent_bytes, received_bytes; /* by the code */
};

struct ledger {
	uint64_t connections; /* let through */
	uint64_t refusals;
	uint64_t sent_bytes, received_bytes;
	uint64_t unreachable;
	uint64_t left_out;	 /* refusals without a row */
	uint64_t hosts_left_out; /* connections without one */
	uint64_t refused_rows;
	uint64_t row_count;
	struct ledger_row rows[LEDGER_ROWS];
};

/* A new one, and a descriptor by which it is shared; its size is sealed, since
   a page that is gone would kill who reads it. NULL with *err. */
struct ledger *ledger_new(int *fd, struct remit_error *err);
/* The same memory in the other process; NULL with errno. */
struct ledger *ledger_map(int fd);
void ledger_free(struct ledger *l);

/* Count it with its like; the row, or NULL if there is no room. */
struct ledger_row *ledger_note(struct ledger *l, const char *host,
			       uint16_t port, enum ledger_why why);
/* Bytes of a connection that was let through; the row may be NULL. */
void ledger_sent(struct ledger *l, struct ledger_row *row, uint64_t bytes);
void ledger_received(struct ledger *l, struct ledger_row *row, uint64_t bytes);

/* For the keeper: as much of it as is well formed. */
void ledger_copy(struct ledger *out, const struct ledger *shared);

#endif
