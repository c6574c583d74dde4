/* A command line, whose words end with NUL: accepted flags read back equal. */
#include <stdlib.h>
#include <string.h>

#include "defaults.h"
#include "fuzz.h"
#include "policy/fields/flags.h"

#define MAX_ARGS 64

static const struct options command = {
	.name = "fuzz",
	.tables = { { .make = flags_options } },
};

/* The words follow argv[0]. */
static int
split_words(char *text, size_t size, char **argv)
{
	int argc = 1;

	for (size_t at = 0; at < size && argc <= MAX_ARGS;
	     at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	return argc;
}

static void
check_round_trip(const struct policy *p)
{
	own(policy) struct policy again;
	struct remit_error err;
	json_auto_t *first = policy_to_json(p);
	json_auto_t *second = NULL;
	own_mem char *text = json_dumps(first, JSON_COMPACT);

	must(policy_init(&again) == 0 && text);
	must(policy_parse(&again, text, strlen(text), "again", &err) == 0);
	second = policy_to_json(&again);
	must(json_equal(first, second));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own_mem char *text = malloc(size + 1);
	own(flags) struct flags fl = { 0 };
	own(policy) struct policy p;
	struct remit_error err;
	char *argv[MAX_ARGS + 2] = { "fuzz" };
	int argc;

	must(text && policy_init(&p) == 0);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	argc = split_words(text, size, argv);
	options_want_help(&command, argc, argv);
	if (options_parse(&command, &fl, argc, argv, NULL, NULL, &err) < 0)
		must(*err.message);
	if (flags_apply(&fl, &p, &err) == 0)
		check_round_trip(&p);
	else
		must(has_only_defaults(&p));
	return 0;
}
