/*
 * ledger: what went through a proxy and what was refused. It is in memory that
 * the proxy writes and the keeper reads. The keeper reads a copy and trusts no
 * length in it.
 */
#ifndef REMIT_LEDGER_H
#define REMIT_LEDGER_H

#include <stdint.h>

#include "base/error.h"
#include "base/net/host_name.h"

/* The maximum number of rows. Further hosts are counted only in the sums.
   Refusals get at most half of the rows, so that they cannot displace what was
   let through. */
#define LEDGER_ROWS	    64
#define LEDGER_REFUSED_ROWS 32

enum ledger_why {
	LEDGER_LET_THROUGH,
	LEDGER_UNREACHABLE, /* the name or the host cannot be reached */
	/* Everything from here on is a refusal. */
	LEDGER_NOT_NAMED,
	LEDGER_NOT_PUBLIC, /* the name leads to a private address */
	LEDGER_NEVER,	   /* it leads to this machine, its link, or nowhere */
	LEDGER_OTHER_NAME, /* the bytes name another host, or none */
	/* Refused by the limits of its entry: */
	LEDGER_OTHER_METHOD,
	LEDGER_OTHER_REQUEST, /* a second request, or an ambiguous one */
	LEDGER_TOO_MANY,
	LEDGER_TOO_MUCH,
	LEDGER_IN_CLEAR,   /* a credential would be sent unencrypted */
	LEDGER_NOT_PROVEN, /* the host did not prove its identity */
	LEDGER_WHYS,
};

struct ledger_row {
	char host[HOST_NAME_SIZE];
	uint16_t port; /* 0: only its name was looked up */
	uint16_t why;
	uint64_t count;
	uint64_t sent_bytes, received_bytes; /* from the code's point of view */
};

struct ledger {
	uint64_t connections; /* let through */
	uint64_t refusals;
	uint64_t sent_bytes, received_bytes;
	uint64_t unreachable;
	uint64_t left_out;	 /* refusals without a row */
	uint64_t hosts_left_out; /* connections without a row */
	uint64_t refused_rows;
	uint64_t row_count;
	struct ledger_row rows[LEDGER_ROWS];
};

/* Create a ledger; *fd is a descriptor for sharing it. Its size is sealed,
   since reading a page that has been cut off would kill the keeper. Returns
   NULL with *err. */
struct ledger *ledger_new(int *fd, struct remit_error *err);
/* Map the ledger in the other process. Returns NULL with errno. */
struct ledger *ledger_map(int fd);
void ledger_free(struct ledger *l);

/* Count an event in the row with the same host, port and reason. Returns the
   row, or NULL if there is no space. */
struct ledger_row *ledger_note(struct ledger *l, const char *host,
			       uint16_t port, enum ledger_why why);
/* Count bytes of a connection that was let through. The row may be NULL. */
void ledger_sent(struct ledger *l, struct ledger_row *row, uint64_t bytes);
void ledger_received(struct ledger *l, struct ledger_row *row, uint64_t bytes);

/* Called in the keeper: copy the rows that are well formed. */
void ledger_copy(struct ledger *out, const struct ledger *shared);

#endif
