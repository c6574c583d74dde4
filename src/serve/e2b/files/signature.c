#include "serve/e2b/files/signature.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/digest.h"
#include "base/number.h"
#include "base/text.h"

static int
hex(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Base64 without padding, as the clients write it. */
static char *
write_signature(const char *signed_text)
{
	char sum[SHA256_TEXT], bytes[32], *text;

	sha256_text(signed_text, strlen(signed_text), sum);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(hex(sum[2 * i]) << 4 | hex(sum[2 * i + 1]));
	text = base64_encode(bytes, sizeof(bytes));
	if (text)
		text[strcspn(text, "=")] = '\0';
	return text;
}

static bool
is_past(const char *expiry)
{
	uint64_t at;

	return expiry &&
	       (number_parse(&at, expiry) < 0 || at < (uint64_t)time(NULL));
}

bool
e2b_signature_is_right(const struct exchange *x, const char *token)
{
	const char *said = exchange_query(x, "signature");
	const char *path = exchange_query(x, "path");
	const char *user = exchange_query(x, "username");
	const char *expiry = exchange_query(x, "signature_expiration");
	bool writes = !strcmp(x->method, "POST");
	own_mem char *text = NULL, *right = NULL;
	unsigned differs = 0;

	if (!said || strncmp(said, "v1_", 3) != 0 ||
	    strcmp(x->path, "/files") != 0 || is_past(expiry))
		return false;
	/* Colons separate the parts of the signed text, and a path may have
	   some: with one in the user, too, the same text could be read as
	   another path, and as "write" where "read" was signed. */
	if (user && strchr(user, ':'))
		return false;
	if (asprintf(&text, "%s:%s:%s:%s%s%s", path ? path : "",
		     writes ? "write" : "read", user ? user : "", token,
		     expiry ? ":" : "", expiry ? expiry : "") < 0)
		return false;
	right = write_signature(text);
	if (!right || strlen(right) != strlen(said + 3))
		return false;
	for (size_t i = 0; right[i]; i++)
		differs |= (unsigned char)(right[i] ^ said[3 + i]);
	return !differs;
}
