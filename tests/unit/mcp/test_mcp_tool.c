/* mcp_tool: the tools as each revision of the protocol lists them. */
#include "mcp/tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "client/tools/schema.h"

#include <cmocka.h>

static json_t *
listed_tools(const char *version, uint64_t timeout_ms)
{
	own(policy) struct policy policy = { 0 };
	struct mcp_toolbox *box;
	struct remit_error err;
	json_t *list;

	assert_int_equal(policy_init(&policy), 0);
	policy.timeout_ms = timeout_ms;
	if (mcp_toolbox_open(&box, &policy, "What the plan says.", &err) < 0)
		fail_msg("%s", err.message);
	list = mcp_toolbox_list(box, mcp_version_find(version));
	mcp_toolbox_free(box);
	return list;
}

static const char *
tool_text(const json_t *tool, const char *key)
{
	return json_string_value(json_object_get(tool, key));
}

/* Schemas that Remit's own checker accepts are also correct. */
static void
tools_have_schemas_for_input_and_output(void **state)
{
	json_auto_t *list = listed_tools("2026-07-28", 30000);
	struct remit_error err;
	json_t *tool;
	size_t i;

	(void)state;
	assert_string_equal(tool_text(json_array_get(list, 0), "name"),
			    "run_python");
	json_array_foreach(list, i, tool)
	{
		static const char *const keys[] = { "inputSchema",
						    "outputSchema" };

		assert_non_null(tool_text(tool, "name"));
		assert_non_null(tool_text(tool, "title"));
		assert_non_null(tool_text(tool, "description"));
		for (size_t j = 0; j < ARRAY_LEN(keys); j++) {
			json_t *schema = json_object_get(tool, keys[j]);
			own_mem char *dumped = json_dumps(schema, 0);
			own(schema) struct schema s = { 0 };

			assert_non_null(dumped);
			if (schema_read(&s, dumped, &err) < 0)
				fail_msg("%s: %s", tool_text(tool, "name"),
					 err.message);
		}
	}
}

static void
guide_is_only_in_tools_that_run_code(void **state)
{
	json_auto_t *list = listed_tools("2025-11-25", 30000);
	json_t *tool;
	size_t i;

	(void)state;
	json_array_foreach(list, i, tool)
		assert_int_equal(strstr(tool_text(tool, "description"),
					"What the plan says.") != NULL,
				 i == 0);
}

static void
older_revisions_get_only_known_members(void **state)
{
	json_auto_t *old = listed_tools("2024-11-05", 30000);
	json_auto_t *older = listed_tools("2025-03-26", 30000);
	const json_t *tool = json_array_get(old, 0);

	(void)state;
	assert_null(json_object_get(tool, "outputSchema"));
	assert_null(json_object_get(tool, "title"));
	assert_null(json_object_get(tool, "annotations"));
	assert_non_null(json_object_get(tool, "inputSchema"));
	assert_non_null(
		json_object_get(json_array_get(older, 0), "annotations"));
}

static json_t *
timeout_bound(uint64_t timeout_ms)
{
	json_auto_t *list = listed_tools("2025-11-25", timeout_ms);
	json_t *schema =
		json_object_get(json_array_get(list, 0), "inputSchema");

	return json_incref(json_object_get(
		json_object_get(json_object_get(schema, "properties"),
				"timeout"),
		"maximum"));
}

static void
timeout_maximum_is_that_of_the_policy(void **state)
{
	json_auto_t *some = timeout_bound(1500);

	(void)state;
	assert_true(json_real_value(some) == 1.5);
	assert_null(timeout_bound(POLICY_UNLIMITED));
}

static void
handshake_agrees_on_a_revision_with_handshake(void **state)
{
	(void)state;
	assert_string_equal(mcp_version_agree("2025-06-18")->name,
			    "2025-06-18");
	assert_string_equal(mcp_version_agree("2026-07-28")->name,
			    "2025-11-25");
	assert_string_equal(mcp_version_agree("1999-01-01")->name,
			    "2025-11-25");
	assert_null(mcp_version_find("1999-01-01"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tools_have_schemas_for_input_and_output),
		cmocka_unit_test(guide_is_only_in_tools_that_run_code),
		cmocka_unit_test(older_revisions_get_only_known_members),
		cmocka_unit_test(timeout_maximum_is_that_of_the_policy),
		cmocka_unit_test(handshake_agrees_on_a_revision_with_handshake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
