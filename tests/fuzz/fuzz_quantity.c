/* No text becomes zero, "unlimited" or a value that changes when it is shown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "policy/quantity.h"

typedef int parse_fn(const char *, uint64_t *, struct remit_error *);

static void
try_parse(parse_fn *parse, const char *text, const char *unit)
{
	struct remit_error err = { 0 };
	uint64_t value = 0;
	uint64_t again = 0;
	char shown[QUANTITY_SIZE];
	char plain[64];

	if (parse(text, &value, &err) < 0) {
		if (err.code != REMIT_E_INPUT || !err.message[0] || value)
			abort();
		return;
	}
	if (value == 0 || value == UINT64_MAX)
		abort();
	quantity_show_bytes(value, shown, sizeof(shown));
	quantity_show_time(value, shown, sizeof(shown));
	snprintf(plain, sizeof(plain), "%llu%s", (unsigned long long)value,
		 unit);
	if (parse(plain, &again, &err) < 0 || again != value)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own_mem char *text = strndup((const char *)data, size);

	if (!text)
		return 0;
	try_parse(quantity_bytes, text, "");
	try_parse(quantity_time, text, "ms");
	try_parse(quantity_count, text, "");
	return 0;
}
