/*
 * vault: the values of a policy's credentials. When the keeper starts a proxy,
 * it finds them in its environment, in files, or among what the client has
 * given. Only that proxy gets them.
 */
#ifndef REMIT_VAULT_H
#define REMIT_VAULT_H

#include "http/request.h"
#include "policy/policy.h"
#include "policy/rules/credential.h"

/*
 * The secrets that a client gives for the credentials of its session, by name.
 * They arrive in a memory file, so that no frame's buffer ever contains them,
 * and are kept in memory that children of the keeper do not inherit.
 */
struct secrets {
	char *text; /* NAME=VALUE, each ended by NUL; NULL: none given */
	size_t used;
};

/* Read the secrets from the beginning of a memfd, once: NAME=VALUE and a NUL,
   each. Returns -1 if they are malformed or too large. */
int secrets_read(struct secrets *s, int fd, struct remit_error *err) must_check;
/* Returns NULL if none has this name. */
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

/* Fill the vault. Returns -1 with a refusal if a credential is missing or
   cannot be a header. No message contains a value. `given` may be NULL. */
int vault_fill(struct vault *out, const struct policy *p,
	       const struct secrets *given, struct remit_error *err) must_check;
/* The row for an entry and the intended host, or NULL. */
const struct vault_row *vault_find(const struct vault *v,
				   const struct host_rule *r, const char *host);

#endif
