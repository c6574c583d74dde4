/* schema: which schemas are accepted, and which values fit them. */
#include "client/tools/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#include <cmocka.h>

static void
schema_is_refused(const char *schema, const char *words)
{
	own(schema) struct schema s = { 0 };
	struct remit_error err;

	if (schema_read(&s, schema, &err) == 0)
		fail_msg("%s was accepted", schema);
	if (!strstr(err.message, words))
		fail_msg("%s: wanted \"%s\", got \"%s\"", schema, words,
			 err.message);
	assert_int_equal(err.code, REMIT_E_INPUT);
}

/* Check a value. `words` is the expected error; NULL: the value fits. */
static void
mismatch_of(const char *schema, const char *value, const char *words)
{
	own(schema) struct schema s = { 0 };
	struct remit_error err = { 0 };
	json_auto_t *v = json_loads(value, JSON_DECODE_ANY, NULL);
	int outcome;

	assert_non_null(v);
	if (schema_read(&s, schema, &err) < 0)
		fail_msg("%s: %s", schema, err.message);
	outcome = schema_check(&s, v, &err);
	if (!words && outcome < 0)
		fail_msg("%s: %s", value, err.message);
	if (words && (outcome == 0 || strcmp(err.message, words) != 0))
		fail_msg("%s: wanted \"%s\", got \"%s\"", value, words,
			 err.message);
}

static void
schema_with_unchecked_keyword_is_refused(void **state)
{
	static const struct {
		const char *schema, *words;
	} rows[] = {
		{ "", "not valid JSON" },
		{ "[]", "a schema must be an object" },
		{ "{\"a\": 1, \"a\": 2}", "duplicate" },
		{ "{\"pattern\": \"a\"}", "the keyword \"pattern\"" },
		{ "{\"properties\": {\"a\": {\"format\": \"date\"}}}",
		  "properties.a: Remit does not check the keyword \"format\"" },
		{ "{\"oneOf\": []}", "the keyword \"oneOf\"" },
		{ "{\"not\": {}}", "the keyword \"not\"" },
		{ "{\"$id\": \"x\"}", "the keyword \"$id\"" },
		{ "{\"type\": \"text\"}",
		  "\"type\" must be the name of a type" },
		{ "{\"type\": []}", "\"type\"" },
		{ "{\"type\": [\"object\", 1]}", "\"type\"" },
		{ "{\"type\": \"string\"}", "must allow \"object\"" },
		{ "{\"type\": [\"string\", \"null\"]}",
		  "must allow \"object\"" },
		{ "{\"properties\": []}", "must be an object of schemas" },
		{ "{\"properties\": {\"a\": 1}}", "properties.a: a schema" },
		{ "{\"required\": \"a\"}", "a list of names" },
		{ "{\"required\": [1]}", "a list of names" },
		{ "{\"enum\": []}", "a list of values" },
		{ "{\"minimum\": \"1\"}", "must be a number" },
		{ "{\"exclusiveMinimum\": true}", "must be a number" },
		{ "{\"minLength\": -1}", "an integer of at least 0" },
		{ "{\"maxItems\": 1.5}", "an integer of at least 0" },
		{ "{\"items\": [{}]}", "items: a schema must be an object" },
		{ "{\"anyOf\": []}", "a list of schemas" },
		{ "{\"anyOf\": [{\"if\": {}}]}",
		  "anyOf[0]: Remit does not check the keyword" },
		{ "{\"$ref\": \"other.json\"}",
		  "is not the place of a schema" },
		{ "{\"$ref\": \"#/$defs/a\"}", "is not the place of a schema" },
		{ "{\"$ref\": \"#/required\", \"required\": []}",
		  "is not the place of a schema" },
		{ "{\"$ref\": \"#/default\", \"default\": {}}",
		  "is not the place of a schema" },
		{ "{\"$ref\": \"#\"}", "refers to itself" },
		{ "{\"anyOf\": [{}, {\"$ref\": \"#\"}]}", "refers to itself" },
		{ "{\"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"$ref\": "
		  "\"#/$defs/b\"}, \"b\": {\"$ref\": \"#/$defs/a\"}}}",
		  "refers to itself" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		schema_is_refused(rows[i].schema, rows[i].words);
}

static void
schema_depth_and_size_are_limited(void **state)
{
	own(buf) struct buf deep = BUF_INIT(1024 * 1024);
	own_mem char *large = calloc(1, SCHEMA_MAX_BYTES + 8);

	(void)state;
	for (int i = 0; i < 70; i++)
		assert_int_equal(buf_addf(&deep, "{\"items\": "), 0);
	assert_int_equal(buf_addf(&deep, "{}"), 0);
	for (int i = 0; i < 70; i++)
		assert_int_equal(buf_addf(&deep, "}"), 0);
	schema_is_refused(buf_text(&deep), "64 levels");
	assert_non_null(large);
	memset(large, ' ', SCHEMA_MAX_BYTES + 2);
	schema_is_refused(large, "more than");
}

#define TREE                                                                \
	"{\"properties\": {\"left\": {\"$ref\": \"#\"}, \"right\": {\"$ref" \
	"\": \"#/$defs/node\"}}, \"additionalProperties\": false, "         \
	"\"$defs\": {\"node\": {\"anyOf\": [{\"type\": \"null\"}, "         \
	"{\"$ref\": \"#\"}]}}}"

static void
schema_error_names_place_and_reason(void **state)
{
	static const struct {
		const char *schema, *value, *words;
	} rows[] = {
		{ "{}", "{\"a\": [1]}", NULL },
		{ "{\"title\": \"t\", \"default\": 1, \"examples\": [], "
		  "\"$schema\": \"x\", \"description\": \"d\"}",
		  "{}", NULL },
		{ "{\"type\": \"object\"}", "[]",
		  "arguments: must be of type object, not array" },
		{ "{\"properties\": {\"a\": {\"type\": \"integer\"}}}",
		  "{\"a\": 1.0}", NULL },
		{ "{\"properties\": {\"a\": {\"type\": \"integer\"}}}",
		  "{\"a\": 1.5}",
		  "arguments.a: must be of type integer, not number" },
		{ "{\"properties\": {\"a\": {\"type\": \"number\"}}}",
		  "{\"a\": true}",
		  "arguments.a: must be of type number, not boolean" },
		{ "{\"properties\": {\"a\": {\"type\": [\"string\", "
		  "\"null\"]}}}",
		  "{\"a\": 1}",
		  "arguments.a: must be of type string or null, not integer" },
		{ "{\"required\": [\"a\", \"b\"]}", "{\"a\": null}",
		  "arguments: \"b\" is missing" },
		{ "{\"properties\": {\"a\": {}}, \"additionalProperties\": "
		  "false}",
		  "{\"a\": 1, \"c\": 2}", "arguments: unknown name \"c\"" },
		{ "{\"additionalProperties\": {\"type\": \"string\"}}",
		  "{\"a\": \"b\", \"c\": 2}",
		  "arguments.c: must be of type string, not integer" },
		{ "{\"properties\": {\"a\": {\"enum\": [1, \"x\"]}}}",
		  "{\"a\": 1.0}", NULL },
		{ "{\"properties\": {\"a\": {\"enum\": [1, \"x\"]}}}",
		  "{\"a\": true}", "arguments.a: must be one of [1,\"x\"]" },
		{ "{\"properties\": {\"a\": {\"const\": {\"b\": [0]}}}}",
		  "{\"a\": {\"b\": [false]}}",
		  "arguments.a: is not the required value" },
		{ "{\"properties\": {\"a\": {\"items\": {\"minimum\": 0}}}}",
		  "{\"a\": [1, 2, -1]}", "arguments.a[2]: must be at least 0" },
		{ "{\"properties\": {\"a\": {\"maximum\": "
		  "9007199254740993}}}",
		  "{\"a\": 9007199254740994}",
		  "arguments.a: must be at most 9007199254740993" },
		{ "{\"properties\": {\"a\": {\"exclusiveMaximum\": 1.5}}}",
		  "{\"a\": 1.5}", "arguments.a: must be less than 1.5" },
		{ "{\"properties\": {\"a\": {\"exclusiveMinimum\": 1}}}",
		  "{\"a\": 1}", "arguments.a: must be more than 1" },
		{ "{\"properties\": {\"a\": {\"maxLength\": 2}}}",
		  "{\"a\": \"\\u00e4\\ud83d\\ude00\"}", NULL },
		{ "{\"properties\": {\"a\": {\"maxLength\": 2}}}",
		  "{\"a\": \"abc\"}",
		  "arguments.a: must have at most 2 characters, not 3" },
		{ "{\"properties\": {\"a\": {\"minItems\": 1}}}", "{\"a\": []}",
		  "arguments.a: must have at least 1 items, not 0" },
		{ "{\"maxProperties\": 1}", "{\"a\": 1, \"b\": 1}",
		  "arguments: must have at most 1 names, not 2" },
		{ "{\"properties\": {\"a\": false}}", "{\"a\": 1}",
		  "arguments.a: no value is allowed here" },
		{ "{\"properties\": {\"a\": {\"anyOf\": [{\"type\": "
		  "\"string\"}, {\"minimum\": 3}]}}}",
		  "{\"a\": 1}",
		  "arguments.a: fits none of the 2 alternatives" },
		{ TREE, "{\"left\": {\"right\": null}, \"right\": {}}", NULL },
		{ TREE, "{\"left\": {\"right\": {\"x\": 1}}}",
		  "arguments.left.right: fits none of the 2 alternatives" },
		{ "{\"properties\": {\"a\": {\"$ref\": \"#/$defs/x~1y~0\"}}, "
		  "\"$defs\": {\"x/y~\": {\"type\": \"null\"}}}",
		  "{\"a\": 1}",
		  "arguments.a: must be of type null, not integer" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		mismatch_of(rows[i].schema, rows[i].value, rows[i].words);
}

/* Each level doubles the work of the next, and at the end nothing fits. */
static void
value_too_costly_to_check_does_not_fit(void **state)
{
	static const char schema[] =
		"{\"properties\": {\"a\": {\"anyOf\": [{\"$ref\": \"#\"}, "
		"{\"$ref\": \"#\"}]}}, \"additionalProperties\": false}";
	own(buf) struct buf value = BUF_INIT(64 * 1024);
	own(schema) struct schema s = { 0 };
	struct remit_error err;
	json_auto_t *v = NULL;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(buf_addf(&value, "{\"a\": "), 0);
	assert_int_equal(buf_addf(&value, "{\"b\": 1}"), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(buf_addf(&value, "}"), 0);
	v = json_loads(buf_text(&value), 0, NULL);
	assert_non_null(v);
	assert_int_equal(schema_read(&s, schema, &err), 0);
	assert_int_equal(schema_check(&s, v, &err), -1);
	assert_non_null(strstr(err.message, "too deep or too long"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schema_with_unchecked_keyword_is_refused),
		cmocka_unit_test(schema_depth_and_size_are_limited),
		cmocka_unit_test(schema_error_names_place_and_reason),
		cmocka_unit_test(value_too_costly_to_check_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
