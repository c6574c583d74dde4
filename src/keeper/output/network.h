/*
 * network: what a run did with its network hosts, for its result. The proxy
 * writes it into a ledger; the keeper reads a copy.
 */
#ifndef REMIT_NETWORK_H
#define REMIT_NETWORK_H

#include "base/buf.h"
#include "keeper/output/denial.h"
#include "proxy/ledger.h"

/* Returns a copy whose form was checked; NULL without a ledger, or if memory is
   short. */
struct ledger *network_copy(const struct ledger *shared);

/* Subtracts an earlier copy, so that `now` has only what happened since. NULL:
   everything stays. */
void network_since(struct ledger *now, const struct ledger *before);

void network_denials(const struct ledger *l, struct denials *out);

/* Writes {connections, refusals, sent_bytes, received_bytes, hosts}; writes
   null if there is no ledger. */
int network_write(struct buf *out, const struct ledger *l) must_check;

#endif
