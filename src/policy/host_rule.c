#include "host_rule.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

#define FIELD "network_allow"
#define FORM                                                            \
	"Write HOST:PORT, *.HOST:PORT or ADDRESS:PORT, and behind it, " \
	"if need be, :tls, :plain, :tcp or :private."

/* What no peer can have, and the addresses that the jail's names get. */
static const struct {
	uint32_t first;
	unsigned bits;
	const char *why;
} unusable[] = {
	{ 0x00000000, 8, "no address of a host" },
	{ 0xc6120000, 15, "what the names of a jail lead to (198.18.0.0/15)" },
	{ 0xe0000000, 3, "no address of a host" },
};

static int
check_address(const char *text, uint32_t address, struct remit_error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(unusable); i++)
		if ((ntohl(address) ^ unusable[i].first) >>
			    (32 - unusable[i].bits) ==
		    0)
			return fail_refused(err, FIELD, FORM, "%s is %s", text,
					    unusable[i].why);
	return 0;
}

static int
read_name(const char *text, struct host_rule *out, struct remit_error *err)
{
	const char *name = text;

	out->is_below = !strncmp(text, "*.", 2);
	if (out->is_below)
		name += 2;
	if (host_name_read(name, strlen(name), out->name) < 0)
		return fail_refused(err, FIELD, FORM,
				    "\"%s\" is no name of a host, and no IPv4 "
				    "address",
				    text);
	if (out->is_below && !strchr(out->name, '.'))
		return fail_refused(err, FIELD, FORM,
				    "\"%s\" would be everybody's names", text);
	return 0;
}

static int
read_host(const char *text, struct host_rule *out, struct remit_error *err)
{
	struct in_addr address;

	if (inet_pton(AF_INET, text, &address) != 1)
		return read_name(text, out, err);
	out->address = address.s_addr;
	return check_address(text, out->address, err);
}

static int
read_word(const char *word, size_t len, struct host_rule *out)
{
	static const struct {
		const char *name;
		enum host_kind kind;
	} kinds[] = {
		{ "tcp", HOST_TCP },
		{ "tls", HOST_TLS },
		{ "plain", HOST_PLAIN },
	};

	if (len == 7 && !strncmp(word, "private", len)) {
		out->may_be_private = true;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strlen(kinds[i].name) == len &&
		    !strncmp(word, kinds[i].name, len)) {
			out->kind = kinds[i].kind;
			return 0;
		}
	return -1;
}

static int
read_words(const char *words, struct host_rule *out, struct remit_error *err)
{
	const char *at = words;

	for (;;) {
		size_t n = strcspn(at, ",");

		if (read_word(at, n, out) < 0)
			return fail_refused(err, FIELD, FORM,
					    "\"%.*s\" is no word for an entry",
					    (int)n, at);
		if (!at[n])
			return 0;
		at += n + 1;
	}
}

/* There is no name in it that could be looked for in the bytes. */
static int
check_kind(const char *text, const struct host_rule *r, struct remit_error *err)
{
	if (r->name[0] || (r->kind == HOST_TCP && !r->may_be_private))
		return 0;
	return fail_refused(err, FIELD,
			    "Leave the word out: an address is named as it is.",
			    "%s: tls, plain and private are for names", text);
}

static enum host_kind
usual_kind(const struct host_rule *r)
{
	if (!r->name[0])
		return HOST_TCP;
	return r->port == 443  ? HOST_TLS
	       : r->port == 80 ? HOST_PLAIN
			       : HOST_TCP;
}

int
host_rule_read(const char *text, struct host_rule *out, struct remit_error *err)
{
	char host[HOST_NAME_SIZE + 2], digits[6];
	size_t n = strcspn(text, ":"), m;
	const char *port = text + n + 1;
	uint64_t number = 0;
	struct host_rule r = { 0 };

	if (n >= sizeof(host) || !text[n])
		return fail_refused(err, FIELD, FORM, "\"%.300s\" has no port",
				    text);
	memcpy(host, text, n);
	host[n] = '\0';
	m = strcspn(port, ":");
	if (m < sizeof(digits)) {
		memcpy(digits, port, m);
		digits[m] = '\0';
	}
	if (m >= sizeof(digits) || number_parse(&number, digits) < 0 ||
	    !number || number > UINT16_MAX)
		return fail_refused(
			err, FIELD, FORM,
			"\"%.300s\": the port is a number from 1 to 65535",
			text);
	r.port = (uint16_t)number;
	if (read_host(host, &r, err) < 0)
		return -1;
	r.kind = usual_kind(&r);
	if (port[m] && read_words(port + m + 1, &r, err) < 0)
		return -1;
	if (check_kind(text, &r, err) < 0)
		return -1;
	*out = r;
	return 0;
}

static bool
is_twice(const struct host_rules *all, size_t last)
{
	const struct host_rule *b = &all->rows[last];

	for (size_t i = 0; i < last; i++) {
		const struct host_rule *a = &all->rows[i];

		if (a->port == b->port && a->is_below == b->is_below &&
		    a->address == b->address && !strcmp(a->name, b->name))
			return true;
	}
	return false;
}

int
host_rules_read(const struct list *texts, struct host_rules *out,
		struct remit_error *err)
{
	if (texts->count > HOST_RULES_MAX)
		return fail_refused(err, FIELD, "Name fewer hosts.",
				    "%zu entries, and %d are the most",
				    texts->count, HOST_RULES_MAX);
	out->count = 0;
	for (size_t i = 0; i < texts->count; i++, out->count++) {
		if (host_rule_read(texts->items[i], &out->rows[i], err) < 0)
			return -1;
		if (is_twice(out, i))
			return fail_refused(
				err, FIELD, "Write one entry with all words.",
				"\"%.300s\": this host and port are named "
				"twice",
				texts->items[i]);
	}
	return 0;
}

static bool
is_for(const struct host_rule *r, const char *name)
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
		if (is_for(&all->rows[i], name))
			return &all->rows[i];
	return NULL;
}

/* The name itself, then the longest that it is below. */
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

		if (r->port == port && is_for(r, name) &&
		    (!best || exactness(r) > exactness(best)))
			best = r;
	}
	return best;
}

const struct host_rule *
host_rules_address_port(const struct host_rules *all, uint32_t address,
			uint16_t port)
{
	for (size_t i = 0; i < all->count; i++)
		if (!all->rows[i].name[0] && all->rows[i].port == port &&
		    all->rows[i].address == address)
			return &all->rows[i];
	return NULL;
}
