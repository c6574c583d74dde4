/*
 * credential: an entry of credentials, read: a header that the proxy puts into
 * requests to a host at one port, and that code never sees.
 *
 *	HOST[:PORT]:HEADER=env:NAME
 *	HOST[:PORT]:HEADER=file:/PATH
 *	HOST[:PORT]:HEADER=given:NAME
 *
 * HOST is a name or an address that network_allow names as an entry for plain
 * HTTP or TLS (an IPv6 address in brackets). Without PORT it must name HOST at
 * a single port, since another port is another server. The value is the
 * variable's, or what the file says without the end of its line: the keeper's;
 * or what the client gives beside the policy under that name. It is never part
 * of a policy.
 */
#ifndef REMIT_CREDENTIAL_H
#define REMIT_CREDENTIAL_H

#include <jansson.h>

#include "base/buf.h"
#include "policy/rules/host_rule.h"

/* Of one policy, and one for each host and port. */
#define CREDENTIALS_MAX 8

#define CREDENTIAL_HEADER 64
#define CREDENTIAL_VALUE  4096
#define CREDENTIAL_FROM	  4096

/* What code finds in the variable, if it is one: libraries want a value. */
#define CREDENTIAL_PLACEHOLDER "kept-by-remit"

/* Where its value is. */
enum credential_place {
	CREDENTIAL_IN_VARIABLE,
	CREDENTIAL_IN_FILE,
	CREDENTIAL_GIVEN, /* by the client of a session */
};

struct credential {
	char host[HOST_NAME_SIZE]; /* as a relay has it */
	uint16_t port;		   /* 0: the only one that HOST has */
	char header[CREDENTIAL_HEADER];
	enum credential_place place;
	char from[CREDENTIAL_FROM]; /* its name there, or a path */
};

struct credentials {
	struct credential rows[CREDENTIALS_MAX];
	size_t count;
};

int credential_read(const char *text, struct credential *out,
		    struct remit_error *err) must_check;
int credentials_read(const struct list *texts, struct credentials *out,
		     struct remit_error *err) must_check;

/* Whether this entry is for its host and port. */
bool credential_is_for(const struct credential *c, const struct host_rule *r);

/* Whether it can be a header's value. */
bool credential_is_value(const char *bytes, size_t len);

/* {"host": ..., "port": 443, "header": ..., "from": "env:NAME"} as text; port
   may be missing. */
int credential_text(const json_t *object, const char *place, struct buf *out,
		    struct remit_error *err) must_check;

#endif
