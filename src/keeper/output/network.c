#include "keeper/output/network.h"

#include <stdio.h>
#include <string.h>

#include "base/net/address.h"

struct ledger *
network_copy(const struct ledger *shared)
{
	struct ledger *copy = shared ? malloc(sizeof(*copy)) : NULL;

	if (copy)
		ledger_copy(copy, shared);
	return copy;
}

static void
subtract(uint64_t *now, uint64_t before)
{
	*now = *now > before ? *now - before : 0;
}

/* Rows are only appended, so equal indexes are the same row. */
void
network_since(struct ledger *now, const struct ledger *before)
{
	if (!now || !before)
		return;
	subtract(&now->connections, before->connections);
	subtract(&now->refusals, before->refusals);
	subtract(&now->sent_bytes, before->sent_bytes);
	subtract(&now->received_bytes, before->received_bytes);
	subtract(&now->unreachable, before->unreachable);
	subtract(&now->left_out, before->left_out);
	subtract(&now->hosts_left_out, before->hosts_left_out);
	for (size_t i = 0; i < now->row_count && i < before->row_count; i++) {
		const struct ledger_row *b = &before->rows[i];
		struct ledger_row *n = &now->rows[i];

		subtract(&n->count, b->count);
		subtract(&n->sent_bytes, b->sent_bytes);
		subtract(&n->received_bytes, b->received_bytes);
	}
}

/* The description of a refusal, and the suffix of the host rule that would
   allow it (NULL: none). */
static const struct {
	const char *reason;
	const char *suffix;
} refusal_texts[LEDGER_WHYS] = {
	[LEDGER_NOT_NAMED] = { "", "" },
	[LEDGER_NOT_PUBLIC] = { ", a private address", ":private" },
	[LEDGER_NEVER] = { ", an address of this machine or a reserved one",
			   NULL },
	[LEDGER_OTHER_NAME] = { ", with data that does not name this host",
				NULL },
	[LEDGER_OTHER_METHOD] = { ", with a method that its entry does not "
				  "allow",
				  NULL },
	[LEDGER_OTHER_REQUEST] = { ", with a malformed request, or more than "
				   "one on the connection",
				   NULL },
	[LEDGER_IN_CLEAR] = { ", a public address, because its credential "
			      "would be sent unencrypted",
			      NULL },
	[LEDGER_NOT_PROVEN] = { ", which did not prove its identity with a TLS "
				"certificate",
				NULL },
	[LEDGER_TOO_MANY] = { ", more often than its entry allows", NULL },
	[LEDGER_TOO_MUCH] = { ", with more bytes than its entry allows", NULL },
};

/* Returns the suffix after host and port; NULL: no rule would help. */
static const char *
suffix_for(const struct ledger_row *r)
{
	struct address a;

	const char *suffix = refusal_texts[r->why].suffix;

	if (!suffix || address_read(r->host, &a) < 0)
		return suffix;
	/* A special address that only has a meaning inside the jail must not be
	   allowed outside. For any other address the rule needs no suffix. */
	return address_class(&a) == ADDRESS_NEVER ? NULL : "";
}

static void
add_denial(const struct ledger_row *r, struct denials *out)
{
	const char *suffix = suffix_for(r);
	char port[8] = "PORT", where[HOST_NAME_SIZE + 10];
	struct denial d = {
		.by_proxy = true,
		.field = suffix ? F_NETWORK_ALLOW : FIELD_TOTAL,
	};

	if (r->port)
		snprintf(port, sizeof(port), "%u", r->port);
	snprintf(where, sizeof(where),
		 strchr(r->host, ':') ? "[%s]:%s" : "%s:%s", r->host, port);
	snprintf(d.what, sizeof(d.what), "%s %s%s",
		 r->port ? "connect to" : "look up", r->port ? where : r->host,
		 refusal_texts[r->why].reason);
	if (suffix)
		snprintf(d.flag, sizeof(d.flag), "--allow-host %s%s", where,
			 suffix);
	denials_add_many(out, &d, r->count);
}

void
network_denials(const struct ledger *l, struct denials *out)
{
	for (size_t i = 0; l && i < l->row_count; i++)
		if (l->rows[i].why >= LEDGER_NOT_NAMED && l->rows[i].count)
			add_denial(&l->rows[i], out);
	out->left_out += l ? l->left_out : 0;
}

static int
add_number(struct buf *out, const char *key, uint64_t value)
{
	return buf_addf(out, "\"%s\":%llu,", key, (unsigned long long)value);
}

static int
add_host(struct buf *out, const struct ledger_row *r, const char *comma)
{
	/* The name needs no escaping: ledger_copy() has checked it. */
	if (buf_addf(out, "%s{\"host\":\"%s\",", comma, r->host) < 0 ||
	    add_number(out, "connections", r->count) < 0 ||
	    add_number(out, "sent_bytes", r->sent_bytes) < 0 ||
	    add_number(out, "received_bytes", r->received_bytes) < 0)
		return -1;
	return buf_addf(out, "\"port\":%u}", r->port);
}

int
network_write(struct buf *out, const struct ledger *l)
{
	const char *comma = "";

	if (!l)
		return buf_addf(out, "null");
	if (buf_addf(out, "{") < 0 ||
	    add_number(out, "connections", l->connections) < 0 ||
	    add_number(out, "refusals", l->refusals) < 0 ||
	    add_number(out, "unreachable", l->unreachable) < 0 ||
	    add_number(out, "sent_bytes", l->sent_bytes) < 0 ||
	    add_number(out, "received_bytes", l->received_bytes) < 0 ||
	    add_number(out, "hosts_left_out", l->hosts_left_out) < 0 ||
	    buf_addf(out, "\"hosts\":[") < 0)
		return -1;
	for (size_t i = 0; i < l->row_count; i++) {
		const struct ledger_row *r = &l->rows[i];

		if (r->why != LEDGER_LET_THROUGH ||
		    (!r->count && !r->sent_bytes && !r->received_bytes))
			continue;
		if (add_host(out, r, comma) < 0)
			return -1;
		comma = ",";
	}
	return buf_addf(out, "]}");
}
