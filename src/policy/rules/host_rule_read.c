/*
 * host_rule_read: parses the text of an entry of network_allow.
 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "policy/quantity.h"
#include "policy/rules/host_rule.h"

#define FIELD "network_allow"
#define FORM                                                                 \
	"Write HOST:PORT, *.HOST:PORT, ADDRESS:PORT or [ADDRESS]:PORT, "     \
	"optionally followed by a colon and a comma-separated list of tls, " \
	"plain, tcp, private, public, methods=GET+HEAD, bytes=10M and "      \
	"connections=5."

const char *const host_methods[HOST_METHODS] = {
	"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
};

unsigned
host_method(const char *bytes, size_t len)
{
	for (unsigned i = 0; i < HOST_METHODS; i++)
		if (strlen(host_methods[i]) == len &&
		    !memcmp(host_methods[i], bytes, len))
			return 1u << i;
	return 0;
}

/* ---- the host ---- */

/* Addresses that no peer can have, and those that the jail's resolver uses. */
static const struct {
	struct address net;
	unsigned bits;
	const char *why;
} unusable[] = {
	{ { false, { 0 } }, 8, "no address of a host" },
	{ { false, { 198, 18 } },
	  15,
	  "an address that the resolver of the jail uses (198.18.0.0/15)" },
	{ { false, { 224 } }, 3, "no address of a host" },
	{ { true, { 0 } }, 128, "no address of a host" },
	{ { true, { [10] = 0xff, 0xff } },
	  96,
	  "an IPv4 address: write it in the form of IPv4" },
	{ { true, { 0xfe, 0x80 } },
	  10,
	  "an address of a link, without the name of the link" },
	{ { true, { 0xff } }, 8, "no address of a host" },
};

static int
check_address(const char *text, const struct address *a,
	      struct remit_error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(unusable); i++)
		if (address_is_in(a, &unusable[i].net, unusable[i].bits))
			return fail_refused(err, FIELD, FORM, "%s is %s", text,
					    unusable[i].why);
	return 0;
}

static int
read_host_name(const char *text, struct host_rule *out, struct remit_error *err)
{
	const char *name = text;

	out->is_below = !strncmp(text, "*.", 2);
	if (out->is_below)
		name += 2;
	if (host_name_read(name, strlen(name), out->name) < 0)
		return fail_refused(
			err, FIELD, FORM,
			"\"%s\" is neither a host name nor an IPv4 address",
			text);
	if (out->is_below && !strchr(out->name, '.'))
		return fail_refused(err, FIELD, FORM,
				    "\"%s\" would match every host under a "
				    "top-level domain",
				    text);
	return 0;
}

static int
read_rule_host(const char *text, bool bracketed, struct host_rule *out,
	       struct remit_error *err)
{
	struct address a;

	if (address_read(text, &a) < 0 || a.is_v6 != bracketed) {
		if (!bracketed)
			return read_host_name(text, out, err);
		return fail_refused(err, FIELD, FORM,
				    "\"[%s]\" is not an IPv6 address", text);
	}
	out->address = a;
	return check_address(text, &a, err);
}

/* ---- the words ---- */

/* A word: NAME or NAME=VALUE. */
struct word {
	char name[16];
	char value[64]; /* "" without one */
	enum host_kind kind;
};

static int
set_kind(const struct word *w, struct host_rule *out, struct remit_error *err)
{
	(void)err;
	out->kind = w->kind;
	return 0;
}

static int
set_private(const struct word *w, struct host_rule *out,
	    struct remit_error *err)
{
	(void)w;
	(void)err;
	out->may_be_private = true;
	return 0;
}

static int
set_public(const struct word *w, struct host_rule *out, struct remit_error *err)
{
	(void)w;
	(void)err;
	out->must_be_public = true;
	return 0;
}

static int
set_methods(const struct word *w, struct host_rule *out,
	    struct remit_error *err)
{
	const char *at = w->value;

	for (;;) {
		size_t n = strcspn(at, "+");
		unsigned bit = host_method(at, n);

		if (!bit || out->methods & bit)
			return fail_refused(
				err, FIELD,
				"Use some of GET, HEAD, POST, PUT, PATCH, "
				"DELETE and OPTIONS, with + between them.",
				"\"%.*s\" is not a supported method, or is "
				"listed twice",
				(int)n, at);
		out->methods |= bit;
		if (!at[n])
			return 0;
		at += n + 1;
	}
}

static int
fail_number(const struct word *w, struct remit_error *err)
{
	struct remit_error why = *err;

	return fail_refused(err, FIELD, FORM, "%s: %s", w->name, why.message);
}

static int
set_bytes(const struct word *w, struct host_rule *out, struct remit_error *err)
{
	return quantity_bytes(w->value, &out->most_bytes, err) < 0
		       ? fail_number(w, err)
		       : 0;
}

static int
set_connections(const struct word *w, struct host_rule *out,
		struct remit_error *err)
{
	return quantity_count(w->value, &out->most_connections, err) < 0
		       ? fail_number(w, err)
		       : 0;
}

static const struct {
	const char *name;
	unsigned group; /* an entry may have one word of each group */
	bool has_value;
	int (*set)(const struct word *w, struct host_rule *out,
		   struct remit_error *err);
	enum host_kind kind;
} words[] = {
	{ "tcp", 1, false, set_kind, HOST_TCP },
	{ "tls", 1, false, set_kind, HOST_TLS },
	{ "plain", 1, false, set_kind, HOST_PLAIN },
	{ "private", 2, false, set_private, 0 },
	{ "public", 2, false, set_public, 0 },
	{ "methods", 4, true, set_methods, 0 },
	{ "bytes", 8, true, set_bytes, 0 },
	{ "connections", 16, true, set_connections, 0 },
};

static int
cut_word(const char *text, size_t len, struct word *out)
{
	const char *equals = memchr(text, '=', len);
	size_t n = equals ? (size_t)(equals - text) : len;
	size_t m = equals ? len - n - 1 : 0;

	*out = (struct word){ 0 };
	if (n >= sizeof(out->name) || m >= sizeof(out->value) || (equals && !m))
		return -1;
	memcpy(out->name, text, n);
	if (equals)
		memcpy(out->value, equals + 1, m);
	return 0;
}

static int
read_word(const char *text, size_t len, unsigned *seen, struct host_rule *out,
	  struct remit_error *err)
{
	struct word w;
	size_t i = 0;

	if (cut_word(text, len, &w) < 0)
		i = ARRAY_LEN(words);
	while (i < ARRAY_LEN(words) && strcmp(words[i].name, w.name) != 0)
		i++;
	if (i == ARRAY_LEN(words) || words[i].has_value != (w.value[0] != 0))
		return fail_refused(err, FIELD, FORM,
				    "unknown word \"%.*s\" in the entry",
				    (int)len, text);
	if (*seen & words[i].group)
		return fail_refused(err, FIELD, FORM,
				    "\"%.*s\" contradicts an earlier word",
				    (int)len, text);
	*seen |= words[i].group;
	w.kind = words[i].kind;
	return words[i].set(&w, out, err);
}

static int
read_words(const char *text, struct host_rule *out, struct remit_error *err)
{
	unsigned seen = 0;

	for (;;) {
		size_t n = strcspn(text, ",");

		if (read_word(text, n, &seen, out, err) < 0)
			return -1;
		if (!text[n])
			return 0;
		text += n + 1;
	}
}

/* ---- all of it ---- */

/* A TLS hello contains a name, never an address, and whether an address is
   private is visible from the address itself. */
static int
check_words(const char *text, const struct host_rule *r,
	    struct remit_error *err)
{
	if (!r->name[0] && (r->kind == HOST_TLS || r->may_be_private))
		return fail_refused(
			err, FIELD,
			"Leave the word out, or use the name of the host.",
			"%.300s: tls and private can be used only with a host "
			"name",
			text);
	if (!r->name[0] && r->must_be_public &&
	    address_class(&r->address) != ADDRESS_PUBLIC)
		return fail_refused(
			err, FIELD,
			"Use a public address, or leave the word public out.",
			"%.300s: this address is not public", text);
	if (r->methods && r->kind == HOST_TCP)
		return fail_refused(
			err, FIELD,
			"Leave methods out, or add the word plain or tls if "
			"the host serves HTTP at this port.",
			"%.300s: methods can be limited only for HTTP", text);
	return 0;
}

enum host_kind
host_rule_usual_kind(uint16_t port)
{
	return port == 443 ? HOST_TLS : port == 80 ? HOST_PLAIN : HOST_TCP;
}

struct parts {
	char host[HOST_NAME_SIZE + 2];
	bool bracketed;
	uint16_t port;
	const char *words; /* NULL without any */
};

static int
read_rule_port(const char *text, uint16_t *port)
{
	size_t n = strcspn(text, ":");
	uint64_t number = 0;
	char digits[6];

	if (n >= sizeof(digits))
		return -1;
	memcpy(digits, text, n);
	digits[n] = '\0';
	if (number_parse(&number, digits) < 0 || !number || number > UINT16_MAX)
		return -1;
	*port = (uint16_t)number;
	return 0;
}

static int
split_entry(const char *text, struct parts *out, struct remit_error *err)
{
	const char *host = text, *end, *port;

	out->bracketed = *text == '[';
	host += out->bracketed;
	end = host + strcspn(host, out->bracketed ? "]" : ":");
	port = end + (out->bracketed && *end);
	if (*port != ':' || (size_t)(end - host) >= sizeof(out->host))
		return fail_refused(err, FIELD, FORM, "\"%.300s\" has no port",
				    text);
	memcpy(out->host, host, (size_t)(end - host));
	out->host[end - host] = '\0';
	port++;
	if (read_rule_port(port, &out->port) < 0)
		return fail_refused(
			err, FIELD, FORM,
			"\"%.300s\": the port must be a number from 1 to 65535",
			text);
	port += strcspn(port, ":");
	out->words = *port ? port + 1 : NULL;
	return 0;
}

int
host_rule_read(const char *text, struct host_rule *out, struct remit_error *err)
{
	struct host_rule r = { 0 };
	struct parts p = { 0 };

	if (split_entry(text, &p, err) < 0 ||
	    read_rule_host(p.host, p.bracketed, &r, err) < 0)
		return -1;
	r.port = p.port;
	r.kind = r.name[0] ? host_rule_usual_kind(r.port) : HOST_TCP;
	if ((p.words && read_words(p.words, &r, err) < 0) ||
	    check_words(text, &r, err) < 0)
		return -1;
	*out = r;
	return 0;
}
