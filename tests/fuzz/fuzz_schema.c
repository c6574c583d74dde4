/*
 * A schema, a NUL and a value: any of them is answered soon, and a value that
 * does not fit gets a reason.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/tools/schema.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = memchr(data, '\0', size);
	own(schema) struct schema s = { 0 };
	struct remit_error err = { 0 };
	json_auto_t *value = NULL;

	if (!cut)
		return 0;
	if (schema_read(&s, (const char *)data, &err) < 0) {
		must(err.code == REMIT_E_INPUT && err.message[0]);
		return 0;
	}
	value = json_loadb((const char *)cut + 1,
			   size - (size_t)(cut - data) - 1,
			   JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (!value)
		return 0;
	if (schema_check(&s, value, &err) < 0)
		must(!strncmp(err.message, "arguments", 9));
	return 0;
}
