/*
 * credential: parses an entry of the field credentials: a header that the proxy
 * adds to requests to a host at one port, and that code never sees.
 *
 *	HOST[:PORT]:HEADER=env:NAME
 *	HOST[:PORT]:HEADER=file:/PATH
 *	HOST[:PORT]:HEADER=given:NAME
 *
 * HOST is a name or an address (IPv6 in brackets) that network_allow lists with
 * plain HTTP or TLS. Without PORT, network_allow must list HOST at a single
 * port, since another port is another server. The value is that of a variable
 * of the keeper, or the contents of a file of the keeper without the newline at
 * the end, or a secret that the client sends with the policy under that name.
 * It is never part of a policy.
 */
#ifndef REMIT_CREDENTIAL_H
#define REMIT_CREDENTIAL_H

#include <jansson.h>

#include "base/buf.h"
#include "policy/rules/host_rule.h"

/* The maximum in one policy. Each host and port has at most one. */
#define CREDENTIALS_MAX 8

#define CREDENTIAL_HEADER 64
#define CREDENTIAL_VALUE  4096
#define CREDENTIAL_FROM	  4096

/* The value of the variable that code sees: libraries need one that is not
   empty. */
#define CREDENTIAL_PLACEHOLDER "kept-by-remit"

/* Where the value comes from. */
enum credential_place {
	CREDENTIAL_IN_VARIABLE,
	CREDENTIAL_IN_FILE,
	CREDENTIAL_GIVEN, /* sent by the client of a session */
};

struct credential {
	char host[HOST_NAME_SIZE]; /* in the normal form, as relays compare it
				    */
	uint16_t port;		   /* 0: the only port of HOST */
	char header[CREDENTIAL_HEADER];
	enum credential_place place;
	char from[CREDENTIAL_FROM]; /* the name of the variable or secret, or a
				       path */
};

struct credentials {
	struct credential rows[CREDENTIALS_MAX];
	size_t count;
};

int credential_read(const char *text, struct credential *out,
		    struct remit_error *err) must_check;
int credentials_read(const struct list *texts, struct credentials *out,
		     struct remit_error *err) must_check;

/* Whether the credential is for the host and port of this entry. */
bool credential_is_for(const struct credential *c, const struct host_rule *r);

/* Whether the bytes can be the value of a header. */
bool credential_is_value(const char *bytes, size_t len);

/* Converts {"host": ..., "port": 443, "header": ..., "from": "env:NAME"} to
   text; port is optional. */
int credential_text(const json_t *object, const char *place, struct buf *out,
		    struct remit_error *err) must_check;

#endif
