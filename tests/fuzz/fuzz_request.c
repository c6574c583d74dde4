/* Anything a client sends is a request within the limits of its key, or gives
   an error that says why not. The first byte chooses the parser. */
#include "serve/native/request.h"

#include <string.h>

#include "fuzz_key.h"
#include "http/body.h"
#include "http/route.h"
#include "policy/within.h"
#include "serve/native/command_request.h"

/* The run's policy grants no more than the key's. */
static void
check_policy(const struct request *r, const struct key *key)
{
	own(policy) struct policy p = { 0 };
	struct remit_error err;

	must(policy_init(&p) == 0);
	must(policy_parse(&p, r->policy_text, strlen(r->policy_text), "again",
			  &err) == 0);
	must(policy_within(&p, &key->most, &key->free, &err) == 0);
}

static void
try_request(enum request_kind kind, const char *text, size_t len)
{
	json_auto_t *doc = json_loadb(
		text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	const struct key *key = a_key();
	struct remit_error err = { 0 };
	struct request *r;

	if (!doc)
		return;
	if (request_read(&r, kind, doc, key, &err) < 0) {
		must(err.message[0] && (err.code == REMIT_E_INPUT ||
					err.code == REMIT_E_REFUSED));
		return;
	}
	if (kind == REQUEST_CELL)
		must(r->job.code && !r->policy_text);
	else
		check_policy(r, key);
	request_free(r);
}

/* A program to start, its input, or the size of its terminal: whatever it is,
   it is complete and within bounds, or refused with a reason. */
static void
try_command(const char *text, size_t len)
{
	json_auto_t *doc = json_loadb(
		text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	own(command_request) struct command_request r = { 0 };
	own(command_input) struct command_input in = { 0 };
	struct remit_error err = { 0 };
	unsigned columns, rows;

	if (!doc)
		return;
	if (command_request_read(&r, doc, &err) == 0)
		must(r.argv.count && r.stream != STREAM_NONE &&
		     !r.params.columns == !r.params.rows &&
		     r.params.columns <= UINT16_MAX);
	else
		must(err.message[0] && err.code == REMIT_E_INPUT);
	if (command_input_read(&in, doc, &err) == 0)
		must(in.bytes && in.len <= len);
	if (command_size_read(&columns, &rows, doc, &err) == 0)
		must(columns && rows && columns <= UINT16_MAX &&
		     rows <= UINT16_MAX);
}

/* In one piece or byte by byte, the body and the remaining bytes are the same.
 */
static void
try_body(const char *text, size_t len)
{
	own(body) struct body whole, slow;
	enum body_answer a, b = BODY_MORE;
	size_t used, one, at = 0;

	body_begin(&whole, true, 0, 64);
	body_begin(&slow, true, 0, 64);
	a = body_feed(&whole, text, len, &used);
	must(used <= len);
	while (at < len && b == BODY_MORE) {
		b = body_feed(&slow, text + at, 1, &one);
		at += one;
		must(one || b != BODY_MORE);
	}
	if (a != BODY_LARGE && b != BODY_LARGE) {
		must(a == b && used == at);
		must(whole.data.len == slow.data.len);
	}
}

static void
try_path(const char *text, size_t len)
{
	struct route_param params[ROUTE_PARAMS_MAX];
	char *path = strndup(text, len), *name;
	size_t count;

	must(path != NULL);
	if (route_matches("/v1/{a}/{b}/{c...}", path, params, &count))
		must(count == 3);
	name = route_decode(text, len, true);
	must(!name || strlen(name) <= len);
	free(name);
	free(path);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;

	if (!size)
		return 0;
	switch (data[0]) {
	case 'b':
		try_body(text, size - 1);
		break;
	case 'c':
		try_command(text, size - 1);
		break;
	case 'p':
		try_path(text, size - 1);
		break;
	default:
		try_request((enum request_kind)(data[0] % 3), text, size - 1);
	}
	return 0;
}
