/*
 * proxy_params: the parameters that the keeper sends to a proxy, in one message
 * of fixed size over its line. Both are the same program, so nothing is parsed.
 */
#ifndef REMIT_PROXY_PARAMS_H
#define REMIT_PROXY_PARAMS_H

#include "policy/rules/host_rule.h"
#include "proxy/credential/vault.h"

#define PROXY_MAGIC 0x52505831u

/* The descriptors of a new proxy. */
enum {
	PROXY_LINE,
	PROXY_EGRESS,
	PROXY_LEDGER,
	PROXY_FDS,
};

/* Prompts in one run; further hosts are refused. A person who is prompted too
   often answers yes to everything. */
#define PENDING_PROMPTS_MAX 32

/*
 * The later messages, if the policy has network_ask: a prompt from the proxy,
 * and the answer to it. The keeper trusts no byte of a prompt.
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

/* Another later message: the hosts that the code may connect to from now on.
   The proxy distinguishes the messages by their sizes. */
struct proxy_rules {
	bool allows_public;
	struct host_rules rules;
};

struct proxy_params {
	uint32_t magic;
	int32_t keeper; /* its pid */
	uint32_t uid;	/* the proxy's user, if by_root */
	bool by_root;
	bool unfiltered;     /* only in test builds */
	bool explicit_proxy; /* accept explicit proxy requests */
	bool prompts;	     /* prompt for hosts that no rule names */
	bool allows_public;  /* also public hosts that no rule names */
	struct host_rules rules;
	struct vault vault;
};

#endif
