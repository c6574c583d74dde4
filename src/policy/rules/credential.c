#include "policy/rules/credential.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/net/address.h"
#include "base/number.h"
#include "policy/fields/field.h"
#include "policy/json_value.h"

#define FIELD "credentials"
#define FORM                                                                \
	"Write HOST:HEADER=env:NAME or HOST:HEADER=file:/PATH, for a HOST " \
	"that network_allow lists, or HOST:PORT:HEADER=... for one of its " \
	"ports."

static const char *const prefixes[] = {
	[CREDENTIAL_IN_VARIABLE] = "env:",
	[CREDENTIAL_IN_FILE] = "file:",
	[CREDENTIAL_GIVEN] = "given:",
};

/* Headers that determine where a request ends or who receives it. */
static const char *const not_ours[] = {
	"connection", "content-length",	   "expect",
	"host",	      "keep-alive",	   "te",
	"trailer",    "transfer-encoding", "upgrade",
};

static bool
is_token(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static bool
is_header(const char *name)
{
	size_t n = 0;

	while (is_token(name[n]))
		n++;
	if (!n || name[n] || !strncasecmp(name, "proxy-", 6))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(not_ours); i++)
		if (!strcasecmp(name, not_ours[i]))
			return false;
	return true;
}

bool
credential_is_value(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f)
			return false;
	/* Blanks at either end are not part of a header's value. */
	return len && len < CREDENTIAL_VALUE && bytes[0] != ' ' &&
	       bytes[len - 1] != ' ';
}

/* ---- the text ---- */

/* Copies the text up to `end`, which must not be empty and must fit. Moves
 *text to the byte after `end`. */
static int
credential_cut(const char **text, const char *end, char *out, size_t size)
{
	size_t n = (size_t)(end - *text);

	if (!n || n >= size)
		return -1;
	memcpy(out, *text, n);
	out[n] = '\0';
	*text = end + 1;
	return 0;
}

/* Parses a host to its normal form. */
static int
credential_read_host(const char *text, bool bracketed,
		     char host[HOST_NAME_SIZE])
{
	struct address a;

	if (address_read(text, &a) == 0 && a.is_v6 == bracketed) {
		address_show(&a, host);
		return 0;
	}
	return bracketed ? -1 : host_name_read(text, strlen(text), host);
}

static int
credential_cut_host(const char **text, struct credential *out)
{
	char host[HOST_NAME_SIZE + 2];
	bool bracketed = **text == '[';
	const char *end;

	*text += bracketed;
	end = strchr(*text, bracketed ? ']' : ':');
	if (!end || credential_cut(text, end, host, sizeof(host)) < 0)
		return -1;
	if (bracketed && *(*text)++ != ':')
		return -1;
	return credential_read_host(host, bracketed, out->host);
}

/* A header has no colon, so digits before a colon are a port. */
static int
credential_cut_port(const char **text, struct credential *out)
{
	const char *end = *text + strspn(*text, "0123456789");
	char digits[6];
	uint64_t port;

	if (*end != ':')
		return 0;
	if (credential_cut(text, end, digits, sizeof(digits)) < 0 ||
	    number_parse(&port, digits) < 0 || !port || port > UINT16_MAX)
		return -1;
	out->port = (uint16_t)port;
	return 0;
}

static int
credential_read_from(const char *text, struct credential *out,
		     struct remit_error *err)
{
	size_t i = 0, n;

	while (i < ARRAY_LEN(prefixes) &&
	       strncmp(text, prefixes[i], strlen(prefixes[i])) != 0)
		i++;
	if (i == ARRAY_LEN(prefixes))
		return -1;
	text += strlen(prefixes[i]);
	n = strlen(text);
	if (n >= sizeof(out->from))
		return -1;
	memcpy(out->from, text, n + 1);
	out->place = (enum credential_place)i;
	return out->place == CREDENTIAL_IN_FILE
		       ? (text[0] == '/' ? 0 : -1)
		       : field_check_env_name(text, n, FIELD, err);
}

int
credential_read(const char *text, struct credential *out,
		struct remit_error *err)
{
	struct credential c = { 0 };
	const char *at = text, *equals;

	if (credential_cut_host(&at, &c) < 0 ||
	    credential_cut_port(&at, &c) < 0)
		return fail_refused(err, FIELD, FORM,
				    "\"%.300s\" does not begin with a host and "
				    "a colon, or has an invalid port",
				    text);
	equals = strchr(at, '=');
	if (!equals ||
	    credential_cut(&at, equals, c.header, sizeof(c.header)) < 0 ||
	    !is_header(c.header))
		return fail_refused(err, FIELD, FORM,
				    "\"%.300s\" does not name a header that "
				    "can be added to a request",
				    text);
	if (credential_read_from(at, &c, err) < 0)
		return fail_refused(err, FIELD, FORM,
				    "\"%.300s\" does not end in a source: "
				    "env:NAME or file:/PATH",
				    text);
	*out = c;
	return 0;
}

static bool
are_for_one(const struct credential *a, const struct credential *b)
{
	return !strcmp(a->host, b->host) &&
	       (a->port == b->port || !a->port || !b->port);
}

int
credentials_read(const struct list *texts, struct credentials *out,
		 struct remit_error *err)
{
	if (texts->count > CREDENTIALS_MAX)
		return fail_refused(err, FIELD, "List fewer.",
				    "too many entries: %zu (limit %d)",
				    texts->count, CREDENTIALS_MAX);
	out->count = 0;
	for (size_t i = 0; i < texts->count; i++, out->count++) {
		if (credential_read(texts->items[i], &out->rows[i], err) < 0)
			return -1;
		for (size_t k = 0; k < i; k++)
			if (are_for_one(&out->rows[k], &out->rows[i]))
				return fail_refused(err, FIELD,
						    "Write only one for each "
						    "host and port.",
						    "%s has two credentials",
						    out->rows[i].host);
	}
	return 0;
}

bool
credential_is_for(const struct credential *c, const struct host_rule *r)
{
	char address[ADDRESS_TEXT];

	if (c->port && c->port != r->port)
		return false;
	if (r->name[0])
		return !r->is_below && !strcmp(c->host, r->name);
	address_show(&r->address, address);
	return !strcmp(c->host, address);
}

/* ---- as an object ---- */

/* Writes ":443", or "" without a port. */
static int
credential_port_text(const json_t *value, const char *place, char out[8],
		     struct remit_error *err)
{
	json_int_t port = json_integer_value(value);

	out[0] = '\0';
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_integer(value) || port < 1 || port > UINT16_MAX)
		return fail(err, REMIT_E_INPUT,
			    "%s.port: must be a number from 1 to 65535", place);
	snprintf(out, 8, ":%d", (int)port);
	return 0;
}

int
credential_text(const json_t *object, const char *place, struct buf *out,
		struct remit_error *err)
{
	static const char *const known[] = { "host", "header", "from", "port",
					     NULL };
	const char *parts[3];
	char member[FIELD_PLACE_SIZE], port[8];
	struct address a;
	bool six;

	if (json_value_members(object, known,
			       "a credential has host, port, header and from",
			       place, err) < 0 ||
	    credential_port_text(json_object_get(object, "port"), place, port,
				 err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const json_t *value = json_object_get(object, known[i]);

		snprintf(member, sizeof(member), "%s.%s", place, known[i]);
		if (!value)
			return fail(err, REMIT_E_INPUT, "%s: is missing",
				    member);
		if (json_value_string(value, &parts[i], member, err) < 0)
			return -1;
	}
	six = address_read(parts[0], &a) == 0 && a.is_v6;
	/* No member may contain the separators of the text form. */
	if ((!six && strpbrk(parts[0], ":[]=")) || strpbrk(parts[1], ":="))
		return fail(err, REMIT_E_INPUT,
			    "%s: host and header must not contain a colon or =",
			    place);
	return buf_addf(out, six ? "[%s]%s:%s=%s" : "%s%s:%s=%s", parts[0],
			port, parts[1], parts[2]) < 0
		       ? fail_memory(err, place)
		       : 0;
}
