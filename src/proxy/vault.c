#include "vault.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(CREDENTIAL_VALUE == HTTP_HEADER_VALUE &&
		       CREDENTIAL_HEADER == HTTP_HEADER_NAME,
	       "a header has room for it");

static int
missing(const struct credential *c, const char *why, struct remit_error *err)
{
	return fail_refused(
		err, "credentials",
		"Set it where remit is started, to the header's whole value.",
		"the credential for %s: %s %s %s", c->host,
		c->is_file ? "the file" : "the variable", c->from, why);
}

/* All of a small file; -1 if it is none. */
static ssize_t
read_file(const char *path, char *out, size_t size)
{
	own_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return read(fd, out, size);
}

/* The line's end is not the value's. */
static size_t
without_line_end(const char *text, size_t len)
{
	if (len && text[len - 1] == '\n')
		len--;
	return len && text[len - 1] == '\r' ? len - 1 : len;
}

static int
find_value(const struct credential *c, char value[CREDENTIAL_VALUE],
	   struct remit_error *err)
{
	const char *variable = c->is_file ? NULL : getenv(c->from);
	ssize_t n = -1;
	size_t len;

	if (c->is_file)
		n = read_file(c->from, value, CREDENTIAL_VALUE);
	else if (variable)
		n = (ssize_t)strnlen(variable, CREDENTIAL_VALUE);
	if (n < 0)
		return missing(c, c->is_file ? "cannot be read" : "is not set",
			       err);
	if (variable)
		memcpy(value, variable, (size_t)n);
	len = without_line_end(value, (size_t)n);
	if (n == CREDENTIAL_VALUE || !credential_is_value(value, len))
		return missing(c,
			       "is empty, longer than 4095 bytes, or has what "
			       "no header may have",
			       err);
	value[len] = '\0';
	return 0;
}

int
vault_fill(struct vault *out, const struct policy *p, struct remit_error *err)
{
	struct credentials all;

	*out = (struct vault){ 0 };
	if (credentials_read(&p->credentials, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < all.count; i++) {
		struct vault_row *r = &out->rows[i];

		if (find_value(&all.rows[i], r->header.value, err) < 0)
			return -1;
		memcpy(r->host, all.rows[i].host, sizeof(r->host));
		memcpy(r->header.name, all.rows[i].header,
		       sizeof(r->header.name));
		out->count++;
	}
	return 0;
}

const struct vault_row *
vault_find(const struct vault *v, const struct host_rule *r, const char *host)
{
	/* Not for what is only below a name, and where there is no head. */
	if (r->is_below || r->kind == HOST_TCP)
		return NULL;
	for (size_t i = 0; i < v->count; i++)
		if (!strcmp(v->rows[i].host, host))
			return &v->rows[i];
	return NULL;
}
