/*
 * Reads lines of {"schema": ..., "value": ...} from standard input and prints
 * "fits", "not" or "refused" for each. tests/e2e/library/test_schema.py
 * compares the answers with another checker.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/tools/schema.h"

static const char *
check_line(const char *line)
{
	json_auto_t *doc = json_loads(line, JSON_ALLOW_NUL, NULL);
	own_mem char *text =
		json_dumps(json_object_get(doc, "schema"), JSON_ENCODE_ANY);
	own(schema) struct schema s = { 0 };
	struct remit_error err;

	if (!text || schema_read(&s, text, &err) < 0)
		return "refused";
	return schema_check(&s, json_object_get(doc, "value"), &err) < 0
		       ? "not"
		       : "fits";
}

int
main(void)
{
	own_mem char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0)
		puts(check_line(line));
	return 0;
}
