#include "policy/rules/package_rule.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"

#define FIELD "packages"
#define FORM                                                         \
	"Write the name of a package of the index, optionally with " \
	"versions: pandas, \"pandas==2.2.*\", \"pandas[excel]>=2,<3\"."
#define BY_NAME "Use --package-direct (package_direct) for it."

/* ---- characters: ASCII in every locale ---- */

static bool
is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9');
}

static bool
is_one_of(char c, const char *all)
{
	return c && strchr(all, c);
}

static const char *
skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* ---- packages ---- */

static int
refuse_package(const char *text, const char *why, const char *remedy,
	       struct remit_error *err)
{
	char shown[QUOTE_SIZE];

	return fail_refused(err, FIELD, remedy, "%s %s", quote(shown, text),
			    why);
}

/* Whether the text ends in `end`, ignoring blanks after it. */
static bool
ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	while (n && is_one_of(text[n - 1], " \t"))
		n--;
	return n > m && !memcmp(text + n - m, end, m);
}

static bool
is_archive(const char *text)
{
	static const char *const ends[] = { ".whl",    ".zip",	   ".tar",
					    ".tar.gz", ".tar.bz2", ".tar.xz",
					    ".tgz" };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (ends_with(text, ends[i]))
			return true;
	return false;
}

/* Refuses common mistakes of people and models, each with its own reason. */
static int
check_look(const char *text, struct remit_error *err)
{
	const char *at = skip_blanks(text);

	if (!*at)
		return refuse_package(text, "is empty", FORM, err);
	if (*at == '-')
		return refuse_package(text, "looks like an option of pip", FORM,
				      err);
	if (strstr(at, "://") || strchr(at, '@'))
		return refuse_package(text, "looks like a URL", BY_NAME, err);
	if (strchr(at, '/') || strchr(at, '\\') || *at == '.' || *at == '~' ||
	    is_archive(at))
		return refuse_package(text, "looks like a path", BY_NAME, err);
	if (strchr(at, ';'))
		return refuse_package(
			text, "has a condition (a marker)",
			"Leave it out: the list is for one interpreter.", err);
	return 0;
}

struct writer {
	char *out;
	size_t len, size;
	bool full;
};

static void
writer_put(struct writer *w, char c)
{
	if (w->len + 1 >= w->size) {
		w->full = true;
		return;
	}
	w->out[w->len++] = c;
	w->out[w->len] = '\0';
}

/* Reads letters and digits, with "-_." between them. Normalises as in
   PEP 503: lower case, and one dash for any sequence of "-_.". */
static const char *
read_package_name(const char *at, struct writer *w)
{
	bool dash = false;

	if (!is_alnum(*at))
		return NULL;
	for (; is_alnum(*at) || is_one_of(*at, "-_."); at++) {
		if (!is_alnum(*at)) {
			dash = true;
			continue;
		}
		if (dash)
			writer_put(w, '-');
		dash = false;
		writer_put(w, *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a')
						       : *at);
	}
	return dash ? NULL : at;
}

static const char *
read_extras(const char *at, struct writer *w)
{
	writer_put(w, '[');
	for (at++;; at++) {
		at = read_package_name(skip_blanks(at), w);
		if (!at)
			return NULL;
		at = skip_blanks(at);
		if (*at == ']')
			break;
		if (*at != ',')
			return NULL;
		writer_put(w, ',');
	}
	writer_put(w, ']');
	return at + 1;
}

/* Longer ones first: "<" begins "<=". */
static const char *
read_operator(const char *at, struct writer *w)
{
	static const char *const operators[] = { "===", "==", "!=", "<=",
						 ">=",	"~=", "<",  ">" };

	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		size_t n = strlen(operators[i]);

		if (strncmp(at, operators[i], n))
			continue;
		for (size_t k = 0; k < n; k++)
			writer_put(w, at[k]);
		return at + n;
	}
	return NULL;
}

static const char *
read_version(const char *at, struct writer *w)
{
	const char *first = at;

	while (is_alnum(*at) || is_one_of(*at, "._*+!-"))
		writer_put(w, *at++);
	return at > first && (is_alnum(*first) || *first == '*') ? at : NULL;
}

static const char *
read_versions(const char *at, struct writer *w)
{
	for (;;) {
		at = read_operator(at, w);
		at = at ? read_version(skip_blanks(at), w) : NULL;
		if (!at)
			return NULL;
		at = skip_blanks(at);
		if (*at != ',')
			return at;
		writer_put(w, ',');
		at = skip_blanks(at + 1);
	}
}

static const char *
read_requirement(const char *at, struct package_rule *out, struct writer *w)
{
	at = read_package_name(skip_blanks(at), w);
	if (!at || w->full || w->len >= sizeof(out->name))
		return NULL;
	memcpy(out->name, out->text, w->len + 1);
	at = skip_blanks(at);
	if (*at == '[') {
		at = read_extras(at, w);
		if (!at)
			return NULL;
		at = skip_blanks(at);
	}
	return *at ? read_versions(at, w) : at;
}

int
package_rule_read(const char *text, struct package_rule *out,
		  struct remit_error *err)
{
	struct package_rule r = { 0 };
	struct writer w = { .out = r.text, .size = sizeof(r.text) };
	const char *end;

	if (check_look(text, err) < 0)
		return -1;
	end = read_requirement(text, &r, &w);
	if (!end || *end || w.full)
		return refuse_package(
			text,
			"is not the name of a package with optional versions",
			FORM, err);
	*out = r;
	return 0;
}

/* ---- URLs ---- */

bool
package_is_url(const char *text)
{
	return strstr(text, "://") != NULL;
}

static int
refuse_url(const char *field, const char *text, const char *why,
	   struct remit_error *err)
{
	char shown[QUOTE_SIZE];

	return fail_refused(err, field,
			    "Write https://HOST/PATH, or http://HOST/PATH for "
			    "this machine.",
			    "%s %s", quote(shown, text), why);
}

/* Whether the text is safe on a command line and in pip's configuration. */
static bool
is_printable(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~' || *text == '\\' ||
		    *text == '"' || *text == '\'')
			return false;
	return true;
}

static int
read_url_port(const char *digits, size_t len, uint16_t *port)
{
	char text[6];
	uint64_t number;

	if (!len || len >= sizeof(text))
		return -1;
	memcpy(text, digits, len);
	text[len] = '\0';
	if (number_parse(&number, text) < 0 || !number || number > UINT16_MAX)
		return -1;
	*port = (uint16_t)number;
	return 0;
}

static int
read_url_host(const char *host, size_t len, struct package_url *out)
{
	struct in_addr address;
	char text[INET_ADDRSTRLEN];

	if (len < sizeof(text)) {
		memcpy(text, host, len);
		text[len] = '\0';
		if (inet_pton(AF_INET, text, &address) == 1) {
			out->is_address = true;
			memcpy(out->host, text, len + 1);
			return 0;
		}
	}
	return host_name_read(host, len, out->host);
}

int
package_url_read(const char *field, const char *text, struct package_url *out,
		 struct remit_error *err)
{
	struct package_url u = { .tls = !strncmp(text, "https://", 8) };
	const char *host = text + (u.tls ? 8 : 7);
	size_t all, len;

	if (!u.tls && strncmp(text, "http://", 7) != 0)
		return refuse_url(field, text, "is neither https nor http",
				  err);
	if (!is_printable(text))
		return refuse_url(field, text,
				  "has characters that a URL must not contain",
				  err);
	all = strcspn(host, "/?#");
	/* The jail would see the password, and so would all build code in
	   it. */
	if (memchr(host, '@', all))
		return fail_refused(err, field, "Leave user and password out.",
				    "the URL of a package must not contain a "
				    "password: installed code could read it");
	len = strcspn(host, ":/?#");
	u.port = u.tls ? 443 : 80;
	if (len < all &&
	    read_url_port(host + len + 1, all - len - 1, &u.port) < 0)
		return refuse_url(field, text, "has an invalid port", err);
	if (read_url_host(host, len, &u) < 0)
		return refuse_url(field, text, "has an invalid host", err);
	*out = u;
	return 0;
}

void
package_url_host(const struct package_url *u, bool may_be_private,
		 char out[PACKAGE_HOST_SIZE])
{
	snprintf(out, PACKAGE_HOST_SIZE, "%s:%u%s%s", u->host, u->port,
		 u->is_address ? ""
		 : u->tls      ? ":tls"
			       : ":plain",
		 may_be_private && !u->is_address ? ",private" : "");
}

int
package_direct_check(const char *text, struct remit_error *err)
{
	static const char field[] = "package_direct";
	struct package_url u;
	char shown[QUOTE_SIZE];

	if (package_is_url(text))
		return package_url_read(field, text, &u, err);
	if (text[0] == '/' && !strstr(text, "/../") && is_archive(text) &&
	    is_printable(text))
		return 0;
	return fail_refused(
		err, field,
		"Write the absolute path of a file (\"$PWD/x.whl\"), or a URL.",
		"%s is neither a URL nor the path of a package",
		quote(shown, text));
}
