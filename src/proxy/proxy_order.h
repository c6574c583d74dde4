/*
 * proxy_order: what the keeper tells a proxy that it starts, in one message of
 * fixed size over its line. Both are the same program, so nothing is parsed.
 */
#ifndef REMIT_PROXY_ORDER_H
#define REMIT_PROXY_ORDER_H

#include "host_rule.h"
#include "vault.h"

#define PROXY_MAGIC 0x52505831u

/* Descriptors of a proxy that was just started. */
enum {
	PROXY_LINE,
	PROXY_WAYS_OUT,
	PROXY_LEDGER,
	PROXY_FDS,
};

struct proxy_order {
	uint32_t magic;
	int32_t keeper; /* its process */
	uint32_t uid;	/* to be, if by_root */
	bool by_root;
	bool unfiltered; /* only in test builds */
	bool is_asked;	 /* clients may ask for a proxy */
	bool any;	 /* public hosts that no rule names, too */
	struct host_rules rules;
	struct vault vault;
};

#endif
