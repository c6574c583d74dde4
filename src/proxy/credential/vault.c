#include "proxy/credential/vault.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/rules/credential.h"

/* The maximum size of all credentials of a policy, with their names. */
#define SECRETS_BYTES ((size_t)CREDENTIALS_MAX * (CREDENTIAL_VALUE + 64))

_Static_assert(CREDENTIAL_VALUE == HTTP_HEADER_VALUE &&
		       CREDENTIAL_HEADER == HTTP_HEADER_NAME,
	       "a header has space for a credential");

/* ---- what a client gives ---- */

/* Returns NULL with *err on failure. */
static char *
map_secrets(struct remit_error *err)
{
	void *text = mmap(NULL, SECRETS_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (text == MAP_FAILED) {
		fail_memory(err, "secrets");
		return NULL;
	}
	/* Pid 1 of every jail begins as a copy of the keeper: keep this out of
	   it. */
	if (madvise(text, SECRETS_BYTES, MADV_DONTFORK) == 0)
		return text;
	fail_sys(err, REMIT_E_KERNEL, "madvise");
	munmap(text, SECRETS_BYTES);
	return NULL;
}

static bool
is_list(const char *text, size_t len)
{
	for (size_t at = 0; at < len; at += strlen(text + at) + 1) {
		const char *equals = strchr(text + at, '=');

		if (!equals || equals == text + at)
			return false;
	}
	return true;
}

int
secrets_read(struct secrets *s, int fd, struct remit_error *err)
{
	ssize_t n;

	/* Only memory files have seals, and reading one never blocks. */
	if (s->text || fd < 0 || fcntl(fd, F_GET_SEALS) < 0)
		return fail(err, REMIT_E_PROTOCOL,
			    "secrets must be sent as a memfd");
	s->text = map_secrets(err);
	if (!s->text)
		return -1;
	n = read(fd, s->text, SECRETS_BYTES);
	if (n == (ssize_t)SECRETS_BYTES)
		return fail(err, REMIT_E_INPUT,
			    "too many secrets, or too long: at most %d, each "
			    "shorter than %d bytes",
			    CREDENTIALS_MAX, CREDENTIAL_VALUE);
	/* Without a final NUL, strlen would read past the end. */
	if (n < 0 || (n && s->text[n - 1]) || !is_list(s->text, (size_t)n))
		return fail(err, REMIT_E_PROTOCOL, "malformed secrets");
	s->used = (size_t)n;
	return 0;
}

const char *
secrets_find(const struct secrets *s, const char *name)
{
	size_t len = strlen(name);

	for (size_t at = 0; at < s->used; at += strlen(s->text + at) + 1)
		if (!strncmp(s->text + at, name, len) &&
		    s->text[at + len] == '=')
			return s->text + at + len + 1;
	return NULL;
}

void
secrets_free(struct secrets *s)
{
	if (!s->text)
		return;
	explicit_bzero(s->text, SECRETS_BYTES);
	munmap(s->text, SECRETS_BYTES);
	*s = (struct secrets){ 0 };
}

/* ---- what a proxy gets ---- */

static int
fail_missing(const struct credential *c, const char *why,
	     struct remit_error *err)
{
	static const char *const nouns[] = {
		[CREDENTIAL_IN_VARIABLE] = "the variable",
		[CREDENTIAL_IN_FILE] = "the file",
		[CREDENTIAL_GIVEN] = "the secret",
	};

	return fail_refused(err, "credentials",
			    c->place == CREDENTIAL_GIVEN
				    ? "Give it when the session is opened, as "
				      "the header's whole value."
				    : "Set it where remit is started, to the "
				      "header's whole value.",
			    "the credential for %s: %s %s %s", c->host,
			    nouns[c->place], c->from, why);
}

/* Read all of a small regular file. Returns -1 if that fails. */
static ssize_t
read_secret_file(const char *path, char *out, size_t size)
{
	own_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return read(fd, out, size);
}

/* The line end is not part of the value. */
static size_t
without_line_end(const char *text, size_t len)
{
	if (len && text[len - 1] == '\n')
		len--;
	return len && text[len - 1] == '\r' ? len - 1 : len;
}

/* Returns the length of the value, or -1 if there is none. */
static ssize_t
copy_value(const struct credential *c, const struct secrets *given,
	   char value[CREDENTIAL_VALUE])
{
	const char *from = NULL;
	size_t n;

	if (c->place == CREDENTIAL_IN_FILE)
		return read_secret_file(c->from, value, CREDENTIAL_VALUE);
	if (c->place == CREDENTIAL_IN_VARIABLE)
		from = getenv(c->from);
	else if (given)
		from = secrets_find(given, c->from);
	if (!from)
		return -1;
	n = strnlen(from, CREDENTIAL_VALUE);
	memcpy(value, from, n);
	return (ssize_t)n;
}

static int
find_value(const struct credential *c, const struct secrets *given,
	   char value[CREDENTIAL_VALUE], struct remit_error *err)
{
	static const char *const lacks[] = {
		[CREDENTIAL_IN_VARIABLE] = "is not set",
		[CREDENTIAL_IN_FILE] = "cannot be read",
		[CREDENTIAL_GIVEN] = "was not given",
	};
	ssize_t n = copy_value(c, given, value);
	size_t len;

	if (n < 0)
		return fail_missing(c, lacks[c->place], err);
	len = without_line_end(value, (size_t)n);
	if (n == CREDENTIAL_VALUE || !credential_is_value(value, len))
		return fail_missing(
			c,
			"is empty, longer than 4095 bytes, or contains "
			"characters that a header may not have",
			err);
	value[len] = '\0';
	return 0;
}

int
vault_fill(struct vault *out, const struct policy *p,
	   const struct secrets *given, struct remit_error *err)
{
	struct credentials all;

	*out = (struct vault){ 0 };
	if (credentials_read(&p->credentials, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < all.count; i++) {
		struct vault_row *r = &out->rows[i];

		if (find_value(&all.rows[i], given, r->header.value, err) < 0)
			return -1;
		memcpy(r->host, all.rows[i].host, sizeof(r->host));
		r->port = all.rows[i].port;
		memcpy(r->header.name, all.rows[i].header,
		       sizeof(r->header.name));
		out->count++;
	}
	return 0;
}

const struct vault_row *
vault_find(const struct vault *v, const struct host_rule *r, const char *host)
{
	/* An entry that matches names below a domain, or that is not HTTP and
	   so has no request head, gets no credential. */
	if (r->is_below || r->kind == HOST_TCP)
		return NULL;
	for (size_t i = 0; i < v->count; i++)
		if (!strcmp(v->rows[i].host, host) &&
		    (!v->rows[i].port || v->rows[i].port == r->port))
			return &v->rows[i];
	return NULL;
}
