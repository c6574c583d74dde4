/* mcp_message: which messages are valid, and the error codes of others. */
#include "mcp/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#include <cmocka.h>

#include "base/text.h"

#define HEAD "{\"jsonrpc\":\"2.0\","

static void
invalid_message_gets_its_error_code(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *words;
	} rows[] = {
		{ "", MCP_E_PARSE, "not valid JSON" },
		{ "{", MCP_E_PARSE, "not valid JSON" },
		{ HEAD "\"id\":1,\"method\":\"a\"} x", MCP_E_PARSE,
		  "not valid JSON" },
		{ HEAD "\"id\":1,\"id\":2,\"method\":\"a\"}", MCP_E_PARSE,
		  "duplicate" },
		{ "\"text\"", MCP_E_REQUEST, "one object" },
		{ "[" HEAD "\"id\":1,\"method\":\"a\"}]", MCP_E_REQUEST,
		  "batches are not supported" },
		{ "{\"id\":1,\"method\":\"a\"}", MCP_E_REQUEST, "jsonrpc" },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"a\"}",
		  MCP_E_REQUEST, "jsonrpc" },
		{ HEAD "\"id\":null,\"method\":\"a\"}", MCP_E_REQUEST,
		  "an id" },
		{ HEAD "\"id\":1.5,\"method\":\"a\"}", MCP_E_REQUEST, "an id" },
		{ HEAD "\"id\":{},\"method\":\"a\"}", MCP_E_REQUEST, "an id" },
		{ HEAD "\"id\":1,\"method\":2}", MCP_E_REQUEST, "the method" },
		{ HEAD "\"id\":1,\"method\":\"a\",\"params\":[1]}",
		  MCP_E_PARAMS, "params" },
		{ HEAD "\"id\":1}", MCP_E_REQUEST, "neither" },
		{ HEAD "\"result\":{}}", MCP_E_REQUEST, "neither" },
		{ HEAD "\"id\":1,\"result\":{},\"error\":{}}", MCP_E_REQUEST,
		  "neither" },
		{ HEAD "\"id\":1,\"result\":3}", MCP_E_REQUEST, "neither" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct mcp_fault fault = { 0 };
		struct mcp_message m;

		if (mcp_message_read(&m, rows[i].text, strlen(rows[i].text),
				     &fault) == 0)
			fail_msg("%s was accepted", rows[i].text);
		if (fault.code != rows[i].code ||
		    !strstr(fault.text, rows[i].words))
			fail_msg("%s: %d %s", rows[i].text, fault.code,
				 fault.text);
		mcp_message_free(&m);
	}
}

static struct mcp_message
read_good(const char *text)
{
	struct mcp_fault fault = { 0 };
	struct mcp_message m;

	if (mcp_message_read(&m, text, strlen(text), &fault) < 0)
		fail_msg("%s: %s", text, fault.text);
	return m;
}

static void
message_kind_is_recognised(void **state)
{
	struct mcp_message m;

	(void)state;
	m = read_good(HEAD
		      "\"id\":\"x\",\"method\":\"a\",\"params\":{\"_meta\":"
		      "{\"k\":5}}}");
	assert_int_equal(m.kind, MCP_REQUEST);
	assert_string_equal(m.method, "a");
	assert_string_equal(json_string_value(m.id), "x");
	assert_int_equal(json_integer_value(mcp_message_meta(&m, "k")), 5);
	mcp_message_free(&m);
	m = read_good(HEAD "\"method\":\"b\"}");
	assert_int_equal(m.kind, MCP_NOTIFICATION);
	assert_null(m.id);
	assert_null(mcp_message_meta(&m, "k"));
	mcp_message_free(&m);
	m = read_good(HEAD "\"id\":7,\"error\":{\"code\":1}}");
	assert_int_equal(m.kind, MCP_RESPONSE);
	assert_null(m.result);
	mcp_message_free(&m);
}

/* The error answer needs the id even if the rest is invalid. */
static void
message_id_is_read_even_if_the_rest_is_invalid(void **state)
{
	static const char text[] = HEAD "\"id\":9,\"method\":1}";
	struct mcp_fault fault = { 0 };
	struct mcp_message m;
	own_mem char *line = NULL;

	(void)state;
	assert_int_equal(mcp_message_read(&m, text, strlen(text), &fault), -1);
	line = mcp_write_error(m.id, &fault);
	assert_string_equal(line,
			    "{\"jsonrpc\":\"2.0\",\"id\":9,\"error\":{"
			    "\"code\":-32600,\"message\":\"the method must "
			    "be a string\"}}");
	mcp_message_free(&m);
}

static void
message_depth_ignores_brackets_in_strings(void **state)
{
	own(buf) struct buf text = BUF_INIT(64 * 1024);
	struct mcp_fault fault = { 0 };
	struct mcp_message m;

	(void)state;
	assert_int_equal(buf_addf(&text, HEAD "\"id\":1,\"method\":\"a\","
					      "\"params\":{\"code\":\""),
			 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_addf(&text, "[{\\\""), 0);
	assert_int_equal(buf_addf(&text, "\"}}"), 0);
	m = read_good(buf_text(&text));
	mcp_message_free(&m);
	text.len = 0;
	for (int i = 0; i <= MCP_DEPTH_MAX; i++)
		assert_int_equal(buf_addf(&text, "["), 0);
	assert_int_equal(
		mcp_message_read(&m, buf_text(&text), text.len, &fault), -1);
	assert_non_null(strstr(fault.text, "levels"));
	mcp_message_free(&m);
}

static void
message_values_are_counted_before_parsing(void **state)
{
	own(buf) struct buf text = BUF_INIT(MCP_MESSAGE_MAX);
	struct mcp_fault fault = { 0 };
	struct mcp_message m;

	(void)state;
	assert_int_equal(buf_addf(&text, HEAD "\"id\":1,\"method\":\"a\","
					      "\"params\":{\"x\":[0"),
			 0);
	for (int i = 0; i < JSON_VALUES_MAX; i++)
		assert_int_equal(buf_add(&text, ",0", 2), 0);
	assert_int_equal(buf_addf(&text, "]}}"), 0);
	assert_int_equal(
		mcp_message_read(&m, buf_text(&text), text.len, &fault), -1);
	assert_non_null(strstr(fault.text, "100000 values"));
	mcp_message_free(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_message_gets_its_error_code),
		cmocka_unit_test(message_kind_is_recognised),
		cmocka_unit_test(
			message_id_is_read_even_if_the_rest_is_invalid),
		cmocka_unit_test(message_depth_ignores_brackets_in_strings),
		cmocka_unit_test(message_values_are_counted_before_parsing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
