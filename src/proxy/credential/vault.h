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

/*
 * What a client gives for the credentials of its session, by name. It comes as
 * a file in memory, so that no buffer of a frame ever has it, and is kept in
 * memory that no child of the keeper gets.
 */
struct secrets {
	char *text; /* NAME=VALUE, each ended by NUL; NULL: none was given */
	size_t used;
};

/* From the beginning of a memfd, which is read once: NAME=VALUE and a NUL,
   each. -1 if it is none, or if there is too much. */
int secrets_read(struct secrets *s, int fd, struct remit_error *err) must_check;
/* NULL: none has this name. */
const char *secrets_find(const struct secrets *s, const char *name);
void secrets_free(struct secrets *s);

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
