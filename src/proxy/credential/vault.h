/*
 * vault: the values of a policy's credentials, found by the keeper in its own
 * environment and files, or among what a client has given, when it orders a
 * proxy, and known to that alone.
 */
#ifndef REMIT_VAULT_H
#define REMIT_VAULT_H

#include "http/request.h"
#include "policy/policy.h"
#include "policy/rules/credential.h"
#include "proxy/credential/secrets.h"

struct vault {
	struct vault_row {
		char host[HOST_NAME_SIZE];
		uint16_t port; /* 0: any; network_allow has only one */
		struct http_header header;
	} rows[CREDENTIALS_MAX];
	size_t count;
};

/* Refused if one is not there, or can be no header. No message has a value.
   `given` may be NULL. */
int vault_fill(struct vault *out, const struct policy *p,
	       const struct secrets *given, struct remit_error *err) must_check;
/* The row for an entry and the host that is meant; NULL if there is none. */
const struct vault_row *vault_find(const struct vault *v,
				   const struct host_rule *r, const char *host);

#endif
