#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const code_names[] = {
	[REMIT_OK] = "ok",
	[REMIT_E_INPUT] = "input",
	[REMIT_E_REFUSED] = "refused",
	[REMIT_E_BUSY] = "busy",
	[REMIT_E_GONE] = "gone",
	[REMIT_E_KERNEL] = "kernel",
	[REMIT_E_MEMORY] = "memory",
	[REMIT_E_PROTOCOL] = "protocol",
	[REMIT_E_INTERNAL] = "internal",
	[REMIT_E_ELSEWHERE] = "refused",
	[REMIT_E_INSTALL] = "install_failed",
};

const char *
remit_code_name(enum remit_code code)
{
	if ((size_t)code >= ARRAY_LEN(code_names))
		return "unknown";
	return code_names[code];
}

static void __attribute__((format(printf, 3, 0)))
error_fill(struct remit_error *err, enum remit_code code, const char *fmt,
	   va_list ap)
{
	memset(err, 0, sizeof(*err));
	err->code = code;
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
}

int
fail(struct remit_error *err, enum remit_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_fill(err, code, fmt, ap);
	va_end(ap);
	return -1;
}

int
fail_sys(struct remit_error *err, enum remit_code code, const char *fmt, ...)
{
	int saved = errno;
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	error_fill(err, code, fmt, ap);
	va_end(ap);
	len = strlen(err->message);
	snprintf(err->message + len, sizeof(err->message) - len, ": %s",
		 strerror(saved));
	err->sys_errno = saved;
	return -1;
}

int
fail_memory(struct remit_error *err, const char *what)
{
	return fail_sys(err, REMIT_E_MEMORY, "%s", what);
}

int
fail_refused(struct remit_error *err, const char *field, const char *remedy,
	     const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_fill(err, REMIT_E_REFUSED, fmt, ap);
	va_end(ap);
	snprintf(err->where, sizeof(err->where), "%s", field);
	snprintf(err->remedy, sizeof(err->remedy), "%s", remedy);
	return -1;
}

int
fail_within(struct remit_error *err, const char *fmt, ...)
{
	char text[sizeof(err->message)];
	char outer[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(outer, sizeof(outer), fmt, ap);
	va_end(ap);
	memcpy(text, err->message, sizeof(text));
	snprintf(err->message, sizeof(err->message), "%s: %.700s", outer, text);
	return -1;
}

int
error_print(const struct remit_error *err)
{
	const char *field = err->code == REMIT_E_REFUSED ? err->where : "";

	fprintf(stderr, "remit: %s%s%s%s\n", *field ? "refused: " : "", field,
		*field ? ": " : "", err->message);
	if (err->remedy[0])
		fprintf(stderr, "       %s\n", err->remedy);
	return err->code == REMIT_E_INPUT ? EXIT_MISUSE : EXIT_REFUSED;
}

/* ---- foreign text in messages ---- */

#define QUOTE_TEXT_BYTES 60

const char *
quote_bare(char *out, size_t size, const char *text)
{
	size_t n = strnlen(text, size);

	/* Bytes 10xxxxxx continue a UTF-8 character: cut before its first
	   byte. */
	if (n == size) {
		n--;
		while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		out[i] = c < 0x20 || c == 0x7f ? '?' : text[i];
	}
	out[n] = '\0';
	return out;
}

const char *
quote(char out[QUOTE_SIZE], const char *text)
{
	char bare[QUOTE_TEXT_BYTES + 1];
	const char *dots =
		strnlen(text, QUOTE_TEXT_BYTES + 1) > QUOTE_TEXT_BYTES ? "..."
								       : "";

	quote_bare(bare, sizeof(bare), text);
	snprintf(out, QUOTE_SIZE, "\"%s%s\"", bare, dots);
	return out;
}
