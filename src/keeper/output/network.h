/*
 * network: what a run did with the hosts it was given, for its result. The
 * proxy has written it down; the keeper reads a copy.
 */
#ifndef REMIT_NETWORK_H
#define REMIT_NETWORK_H

#include "base/buf.h"
#include "keeper/output/denial.h"
#include "proxy/ledger.h"

/* A copy that can be believed in form; NULL without a ledger or memory. */
struct ledger *network_copy(const struct ledger *shared);

/* What has happened since a copy that was taken before; NULL: all of it. */
void network_since(struct ledger *now, const struct ledger *before);

void network_denials(const struct ledger *l, struct denials *out);

/* {connections, refusals, sent_bytes, received_bytes, hosts}; null for NULL. */
int network_write(struct buf *out, const struct ledger *l) must_check;

#endif
