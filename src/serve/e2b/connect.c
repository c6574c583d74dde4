#include "serve/e2b/connect.h"

#include <string.h>

#include "base/text.h"
#include "serve/e2b/request.h"

#define FLAG_END 0x02

static json_t *
error_json(const char *code, const char *message)
{
	return json_pack("{s:s, s:o}", "code", code, "message",
			 text_to_json(message, strlen(message)));
}

void
connect_fail(struct exchange *x, const char *code, const char *message)
{
	static const struct {
		const char *code;
		int status;
	} replies[] = {
		{ "invalid_argument", 400 },   { "failed_precondition", 400 },
		{ "unauthenticated", 401 },    { "permission_denied", 403 },
		{ "not_found", 404 },	       { "already_exists", 409 },
		{ "resource_exhausted", 429 }, { "unimplemented", 501 },
		{ "unavailable", 503 },	       { "deadline_exceeded", 504 },
	};
	int status = 500;

	for (size_t i = 0; i < ARRAY_LEN(replies); i++)
		if (!strcmp(replies[i].code, code))
			status = replies[i].status;
	reply_json(x, status, error_json(code, message));
}

const char *
connect_code(const struct remit_error *err)
{
	static const struct {
		int sys_errno;
		const char *code;
	} codes[] = {
		{ ENOENT, "not_found" },
		{ EEXIST, "already_exists" },
		{ EACCES, "permission_denied" },
		{ EPERM, "permission_denied" },
		{ EROFS, "permission_denied" },
		{ ENOSPC, "resource_exhausted" },
		{ EDQUOT, "resource_exhausted" },
	};

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (err->sys_errno == codes[i].sys_errno)
			return codes[i].code;
	if (err->code == REMIT_E_INPUT)
		return "invalid_argument";
	if (err->code == REMIT_E_BUSY)
		return "resource_exhausted";
	/* The jail has ended; restarting a context makes a new one. */
	if (err->code == REMIT_E_REFUSED)
		return "failed_precondition";
	return err->code == REMIT_E_GONE ? "unavailable" : "internal";
}

/* ---- streams ---- */

static int
send_envelope(struct exchange *x, unsigned flags, json_t *message)
{
	own_mem char *text =
		message ? json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII)
			: NULL;
	size_t len = text ? strlen(text) : 0;
	own_mem char *whole = malloc(E2B_ENVELOPE + len + 1);

	json_decref(message);
	if (!text || !whole)
		return 0; /* no memory: not sent */
	whole[0] = (char)flags;
	for (int i = 0; i < 4; i++)
		whole[1 + i] = (char)(len >> (24 - 8 * i));
	memcpy(whole + E2B_ENVELOPE, text, len + 1);
	return reply_piece(x, whole, E2B_ENVELOPE + len);
}

int
connect_send(struct exchange *x, json_t *message)
{
	return send_envelope(x, 0, message);
}

void
connect_end(struct exchange *x, const char *code, const char *message)
{
	json_t *last =
		code ? json_pack("{s:o}", "error", error_json(code, message))
		     : json_object();

	if (send_envelope(x, FLAG_END, last) == 0)
		reply_end(x);
}
