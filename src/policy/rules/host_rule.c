#include "policy/rules/host_rule.h"

#include <stdio.h>
#include <string.h>

#define FIELD "network_allow"

static bool
is_twice(const struct host_rules *all, size_t last)
{
	const struct host_rule *b = &all->rows[last];

	for (size_t i = 0; i < last; i++) {
		const struct host_rule *a = &all->rows[i];

		if (a->port == b->port && a->is_below == b->is_below &&
		    address_equal(&a->address, &b->address) &&
		    !strcmp(a->name, b->name))
			return true;
	}
	return false;
}

int
host_rules_read(const struct list *texts, struct host_rules *out,
		struct remit_error *err)
{
	if (texts->count > HOST_RULES_MAX)
		return fail_refused(err, FIELD, "List fewer hosts.",
				    "too many entries: %zu (limit %d)",
				    texts->count, HOST_RULES_MAX);
	out->count = 0;
	for (size_t i = 0; i < texts->count; i++, out->count++) {
		if (host_rule_read(texts->items[i], &out->rows[i], err) < 0)
			return -1;
		if (is_twice(out, i))
			return fail_refused(err, FIELD,
					    "Write one entry with all words.",
					    "\"%.300s\": this host and port "
					    "are listed twice",
					    texts->items[i]);
	}
	return 0;
}

static bool
rule_matches_name(const struct host_rule *r, const char *name)
{
	if (!r->name[0])
		return false;
	return r->is_below ? host_name_is_below(name, r->name)
			   : !strcmp(name, r->name);
}

const struct host_rule *
host_rules_name(const struct host_rules *all, const char *name)
{
	for (size_t i = 0; i < all->count; i++)
		if (rule_matches_name(&all->rows[i], name))
			return &all->rows[i];
	return NULL;
}

/* An entry for the name itself is the most exact, then the one for the longest
   name above it. */
static size_t
exactness(const struct host_rule *r)
{
	return r->is_below ? strlen(r->name) : SIZE_MAX;
}

const struct host_rule *
host_rules_name_port(const struct host_rules *all, const char *name,
		     uint16_t port)
{
	const struct host_rule *best = NULL;

	for (size_t i = 0; i < all->count; i++) {
		const struct host_rule *r = &all->rows[i];

		if (r->port == port && rule_matches_name(r, name) &&
		    (!best || exactness(r) > exactness(best)))
			best = r;
	}
	return best;
}

const struct host_rule *
host_rules_address_port(const struct host_rules *all,
			const struct address *address, uint16_t port)
{
	for (size_t i = 0; i < all->count; i++)
		if (!all->rows[i].name[0] && all->rows[i].port == port &&
		    address_equal(&all->rows[i].address, address))
			return &all->rows[i];
	return NULL;
}

/* ---- entries of untrusted clients ---- */

/* Whether an entry has words after its port. */
static bool
has_words(const char *text)
{
	const char *bracket = strchr(text, ']');
	const char *port = strchr(bracket ? bracket : text, ':');

	return port && strchr(port + 1, ':');
}

static int
mark_public(char **text, const struct host_rule *r, struct remit_error *err)
{
	bool is_named = r->name[0] != '\0';
	char *marked;

	if (is_named ? r->may_be_private
		     : address_class(&r->address) != ADDRESS_PUBLIC)
		return fail_refused(
			err, FIELD,
			"Use public hosts, or have the server's administrator "
			"add this entry, word for word, to the policy of the "
			"server or the key.",
			"\"%.300s\" is not limited to public addresses, and "
			"this key may not reach any others",
			*text);
	if (is_named || r->must_be_public)
		return 0;
	if (asprintf(&marked, "%s%cpublic", *text,
		     has_words(*text) ? ',' : ':') < 0)
		return fail_memory(err, FIELD);
	free(*text);
	*text = marked;
	return 0;
}

int
host_rules_keep_public(struct list *texts, const struct list *granted,
		       struct remit_error *err)
{
	for (size_t i = 0; i < texts->count; i++) {
		struct remit_error unreadable;
		struct host_rule r;

		if (list_has(granted, texts->items[i]) ||
		    host_rule_read(texts->items[i], &r, &unreadable) < 0)
			continue;
		if (mark_public(&texts->items[i], &r, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * Ports of common services on the internet. Not 25 (mail between servers), by
 * which spam is sent, and not 3000, 5000 and 8000, at which programs often
 * serve on their own loopback.
 */
const uint16_t public_ports[PUBLIC_PORTS] = {
	22,   80,   443,  8080, 8443, 9418,	   /* shell, web, git */
	110,  143,  465,  587,	993,  995,	   /* mail clients */
	853,  1883, 8883, 4222, 5671, 5672,  9092, /* names, queues */
	1433, 3306, 5432, 6379, 9200, 27017,	   /* databases */
};
