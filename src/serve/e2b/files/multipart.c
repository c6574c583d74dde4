#include "serve/e2b/files/multipart.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The characters that RFC 2046, 5.1.1 allows in a boundary. */
static bool
is_of_boundary(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("'()+_,-./:=?", c));
}

bool
multipart_boundary(const char *type, size_t len, char out[80])
{
	static const char kind[] = "multipart/form-data", name[] = "boundary=";
	const char *end = type + len, *at;
	size_t n = 0;

	if (len < sizeof(kind) - 1 ||
	    strncasecmp(type, kind, sizeof(kind) - 1) != 0)
		return false;
	for (at = type; (size_t)(end - at) >= sizeof(name); at++)
		if (!strncasecmp(at, name, sizeof(name) - 1))
			break;
	if ((size_t)(end - at) < sizeof(name))
		return false;
	at += sizeof(name) - 1;
	if (*at == '"')
		at++;
	while (at < end && is_of_boundary(*at) && n < 71)
		out[n++] = *at++;
	out[n] = '\0';
	return n > 0 && n <= 70 && (at == end || (*at && strchr("\"; ", *at)));
}

void
multipart_free(struct multipart *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->files[i].filename);
	m->count = 0;
}

/* Returns the value of filename="..." in a line as a new string, "" if there is
   none, or NULL if memory is exhausted. A backslash escapes only quotes (RFC
   7578, 4.2). */
static char *
read_filename(const char *line, size_t len)
{
	static const char name[] = "filename=\"";
	const char *end = line + len, *at;
	size_t n = 0;
	char *out;

	at = memmem(line, len, name, sizeof(name) - 1);
	if (!at)
		return strdup("");
	at += sizeof(name) - 1;
	out = calloc(1, (size_t)(end - at) + 1);
	while (out && at < end && *at != '"') {
		if (*at == '\\' && at + 1 < end && at[1] == '"')
			at++;
		out[n++] = *at++;
	}
	return out;
}

/* Parses the head of a part. Returns the position after its empty line, or NULL
   if it is incomplete. */
static const char *
read_part_head(struct multipart_file *f, const char *at, const char *end)
{
	static const char name[] = "content-disposition:";

	f->filename = NULL;
	for (;;) {
		const char *eol = memmem(at, (size_t)(end - at), "\r\n", 2);

		if (!eol)
			return NULL;
		if (eol == at)
			return at + 2;
		if (!f->filename && (size_t)(eol - at) > sizeof(name) &&
		    !strncasecmp(at, name, sizeof(name) - 1))
			f->filename = read_filename(at, (size_t)(eol - at));
		at = eol + 2;
	}
}

int
multipart_read(struct multipart *m, const char *body, size_t len,
	       const char *boundary)
{
	const char *at = body, *end = body + len;
	char mark[80];
	size_t n = (size_t)snprintf(mark, sizeof(mark), "\r\n--%s", boundary);

	m->count = 0;
	/* The first boundary has no line end before it. */
	if (len < n - 2 || memcmp(at, mark + 2, n - 2) != 0)
		return -1;
	at += n - 2;
	while ((size_t)(end - at) >= 2 && !memcmp(at, "\r\n", 2)) {
		struct multipart_file *f = &m->files[m->count];
		const char *stop;

		if (m->count == MULTIPART_FILES_MAX)
			return -1;
		at = read_part_head(f, at + 2, end);
		m->count += f->filename != NULL;
		stop = at && f->filename
			       ? memmem(at, (size_t)(end - at), mark, n)
			       : NULL;
		if (!stop)
			return -1;
		f->bytes = at;
		f->len = (size_t)(stop - at);
		at = stop + n;
	}
	return (size_t)(end - at) >= 2 && !memcmp(at, "--", 2) ? 0 : -1;
}
