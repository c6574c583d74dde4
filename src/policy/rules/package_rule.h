/*
 * package_rule: parses entries of the fields packages and package_direct.
 *
 *	NAME [\[EXTRA,...\]] [OPERATOR VERSION, ...]
 *
 * This is PEP 508 without markers and URLs: the name of one package of an
 * index. A text that looks like an option, a URL or a path must never reach pip
 * through this field, since it would choose where code comes from. URLs and
 * files belong into package_direct.
 */
#ifndef REMIT_PACKAGE_RULE_H
#define REMIT_PACKAGE_RULE_H

#include "base/net/host_name.h"
#include "policy/policy.h"

/* Sizes including the NUL. */
#define PACKAGE_NAME_SIZE 129
#define PACKAGE_TEXT_SIZE 1024

/* The value of package_index for the default index of pip. */
#define PACKAGE_INDEX_DEFAULT "default"

struct package_rule {
	char name[PACKAGE_NAME_SIZE]; /* as an index knows it (PEP 503) */
	char text[PACKAGE_TEXT_SIZE]; /* the whole entry in its normal form */
};

int package_rule_read(const char *text, struct package_rule *out,
		      struct remit_error *err) must_check;

/* An http or https URL, without user and password. */
struct package_url {
	bool tls;
	bool is_address;
	char host[HOST_NAME_SIZE];
	uint16_t port;
};

int package_url_read(const char *field, const char *text,
		     struct package_url *out,
		     struct remit_error *err) must_check;

/* Writes the entry of network_allow that allows connections to the URL's host;
   with may_be_private also if its name has a private address. */
#define PACKAGE_HOST_SIZE (HOST_NAME_SIZE + 24)
void package_url_host(const struct package_url *u, bool may_be_private,
		      char out[PACKAGE_HOST_SIZE]);

/* Whether an entry of package_direct is a URL; else it is the path of a
   file. */
bool package_is_url(const char *text);
int package_direct_check(const char *text, struct remit_error *err) must_check;

/* Whether any package must be installed before the run. */
static inline bool
package_rule_any(const struct policy *p)
{
	return p->packages.count || p->package_direct.count;
}

#endif
