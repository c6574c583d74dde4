/*
 * proxy_params: what the keeper tells a proxy that it starts, in one message of
 * fixed size over its line. Both are the same program, so nothing is parsed.
 */
#ifndef REMIT_PROXY_PARAMS_H
#define REMIT_PROXY_PARAMS_H

#include "policy/rules/host_rule.h"
#include "proxy/credential/vault.h"

#define PROXY_MAGIC 0x52505831u

/* Descriptors of a proxy that was just started. */
enum {
	PROXY_LINE,
	PROXY_EGRESS,
	PROXY_LEDGER,
	PROXY_FDS,
};

/* Of one run; all further hosts are refused. Nobody is to be asked until he
   says yes to everything. */
#define PENDING_PROMPTS_MAX 32

/*
 * Later, if the policy has network_ask: what the proxy asks of the keeper, and
 * what it is told. The keeper believes no byte of it.
 */
struct proxy_prompt {
	uint32_t id;
	uint16_t port;
	char host[HOST_NAME_SIZE];
};

struct proxy_prompt_answer {
	uint32_t id;
	uint32_t allowed; /* 0: no, 1: this once, 2: for the whole run */
};

struct proxy_params {
	uint32_t magic;
	int32_t keeper; /* its process */
	uint32_t uid;	/* to be, if by_root */
	bool by_root;
	bool unfiltered;     /* only in test builds */
	bool explicit_proxy; /* clients may ask for a proxy */
	bool prompts;	     /* hosts that no rule names are questions */
	bool allows_public;  /* public hosts that no rule names, too */
	struct host_rules rules;
	struct vault vault;
};

#endif
