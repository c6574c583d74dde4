/*
 * package_rule: an entry of packages or package_direct, read.
 *
 *	NAME [\[EXTRA,...\]] [OPERATOR VERSION, ...]
 *
 * That is PEP 508 without markers and addresses: one name, of an index. What
 * looks like an option, a URL or a path must never reach pip by this way: it
 * would choose where code comes from. URLs and files have a field of their own.
 */
#ifndef REMIT_PACKAGE_RULE_H
#define REMIT_PACKAGE_RULE_H

#include "base/net/host_name.h"
#include "policy/policy.h"

/* With their NULs. */
#define PACKAGE_NAME_SIZE 129
#define PACKAGE_TEXT_SIZE 1024

/* The word of package_index for the one that pip has by itself. */
#define PACKAGE_INDEX_DEFAULT "default"

struct package_rule {
	char name[PACKAGE_NAME_SIZE]; /* as an index knows it (PEP 503) */
	char text[PACKAGE_TEXT_SIZE]; /* all of it, in one form */
};

int package_rule_read(const char *text, struct package_rule *out,
		      struct remit_error *err) must_check;

/* http or https, a host, a path; no user, no password. */
struct package_url {
	bool tls;
	bool is_address;
	char host[HOST_NAME_SIZE];
	uint16_t port;
};

int package_url_read(const char *field, const char *text,
		     struct package_url *out,
		     struct remit_error *err) must_check;

/* The entry of network_allow that lets this be reached; of an index that the
   policy names itself also at a private address. */
#define PACKAGE_HOST_SIZE (HOST_NAME_SIZE + 24)
void package_url_host(const struct package_url *u, bool may_be_private,
		      char out[PACKAGE_HOST_SIZE]);

/* An entry of package_direct is a URL; else it is the path of a file. */
bool package_is_url(const char *text);
int package_direct_check(const char *text, struct remit_error *err) must_check;

/* Something is to be installed before the run. */
static inline bool
package_rule_any(const struct policy *p)
{
	return p->packages.count || p->package_direct.count;
}

#endif
