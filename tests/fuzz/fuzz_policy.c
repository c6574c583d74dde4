/* An accepted document must be written as one that reads back equal. */
#include <stdlib.h>
#include <string.h>

#include "defaults.h"
#include "fuzz.h"
#include "policy/policy.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(policy) struct policy a, b;
	struct remit_error err = { 0 };
	json_auto_t *first = NULL;
	json_auto_t *second = NULL;
	own_mem char *text = NULL;

	must(policy_init(&a) == 0 && policy_init(&b) == 0);
	if (policy_parse(&a, (const char *)data, size, "fuzz", &err) < 0) {
		must(err.code == REMIT_E_INPUT);
		must(strnlen(err.message, sizeof(err.message)) > 0);
		must(has_only_defaults(&a));
		return 0;
	}
	first = policy_to_json(&a);
	text = json_dumps(first, JSON_COMPACT);
	must(text != NULL);
	must(policy_parse(&b, text, strlen(text), "again", &err) == 0);
	second = policy_to_json(&b);
	must(json_equal(first, second));
	return 0;
}
