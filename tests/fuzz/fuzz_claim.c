/*
 * The claims of a hostile process: an error always has its eight keys and is
 * JSON that reads back equal, only "checked" can reject, and an end has a known
 * kind or breaks the protocol.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "keeper/output/claim.h"
#include "wire/record.h"

static void
check_error(const json_t *error)
{
	own_mem char *text = json_dumps(error, 0);
	json_auto_t *again = NULL;
	json_t *line = json_object_get(error, "line");

	must(text != NULL);
	again = json_loads(text, 0, NULL);
	must(json_equal(error, again));
	must(json_object_size(error) == 8);
	must(json_is_array(json_object_get(error, "frames")));
	must(json_is_string(json_object_get(error, "name")));
	must(json_is_string(json_object_get(error, "value")));
	must(json_is_string(json_object_get(error, "traceback")));
	must(json_is_null(line) || (json_integer_value(line) >= 0 &&
				    json_integer_value(line) <= INT32_MAX));
}

/* A walk over the records ends exactly at the end, and each text within. */
static void
check_walk(const char *bytes, size_t len)
{
	struct record r;
	size_t at = 0, sum = 0;

	while (record_next(bytes, len, &at, &r))
		sum += strlen(r.key) + strlen(r.value) + 2;
	must(at == len && sum == len);
}

/* Whether a record has this key, and this value unless it is NULL. */
static bool
has_record(const char *bytes, size_t len, const char *key, const char *value)
{
	struct record r;
	size_t at = 0;

	while (record_next(bytes, len, &at, &r))
		if (!strcmp(r.key, key) && (!value || !strcmp(r.value, value)))
			return true;
	return false;
}

static void
check_ended(struct claim *c, const char *bytes, size_t len)
{
	struct remit_error err = { 0 };
	bool known = has_record(bytes, len, "kind", "ok") ||
		     has_record(bytes, len, "kind", "error") ||
		     has_record(bytes, len, "kind", "exit");

	must((claim_parse_ended(c, bytes, len, &err) == 0) == known);
	must(known || err.code == REMIT_E_PROTOCOL);
	must(c->kind == CLAIM_OK || c->kind == CLAIM_ERROR ||
	     c->kind == CLAIM_EXIT || (!known && c->kind == CLAIM_NONE));
	must((c->error != NULL) == (c->kind == CLAIM_ERROR));
	if (c->error)
		check_error(c->error);
	must(!c->has_exit_code ||
	     (known && has_record(bytes, len, "exit", NULL)));
	must(c->exit_code >= 0 && c->exit_code <= 255);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(claim) struct claim checked = { 0 };
	own(claim) struct claim ended = { 0 };
	own_mem char *exact = malloc(size ? size : 1);
	struct remit_error err;

	must(exact != NULL);
	if (size)
		memcpy(exact, data, size);
	if (record_check(exact, size, &err) < 0) {
		must(err.code == REMIT_E_PROTOCOL);
		must(claim_parse_checked(&checked, exact, size, &err) < 0);
		must(claim_parse_ended(&ended, exact, size, &err) < 0);
		must(checked.kind == CLAIM_NONE && ended.kind == CLAIM_NONE);
		return 0;
	}
	check_walk(exact, size);
	must(claim_parse_checked(&checked, exact, size, &err) == 0);
	must((checked.kind == CLAIM_REJECTED) == (size > 0));
	must((checked.kind == CLAIM_NONE) == (size == 0));
	if (size)
		check_error(checked.error);
	check_ended(&ended, exact, size);
	return 0;
}
