/* policy_within: comparing each field of two policies. */
#include "policy/within.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "policy/fields/field.h"

#include <cmocka.h>

#define NOT_FREE ((struct field_set){ 0 })

static const char *
judge(const char *want_text, const char *most_text, struct field_set free)
{
	static struct remit_error err;
	own(policy) struct policy want = { 0 }, most = { 0 };

	assert_int_equal(policy_init(&want), 0);
	assert_int_equal(policy_init(&most), 0);
	assert_int_equal(
		policy_parse(&want, want_text, strlen(want_text), "w", &err),
		0);
	assert_int_equal(
		policy_parse(&most, most_text, strlen(most_text), "m", &err),
		0);
	if (policy_within(&want, &most, &free, &err) == 0)
		return "";
	assert_int_equal(err.code, REMIT_E_REFUSED);
	return err.where;
}

/* The first policy is within the second, but not the other way round. */
static void
assert_narrower(const char *field, const char *narrow, const char *wide)
{
	struct field_set free = { 0 };

	assert_string_equal(judge(narrow, wide, free), "");
	assert_string_equal(judge(wide, narrow, free), field);
	field_set_add(&free, field_find(field));
	assert_string_equal(judge(wide, narrow, free), "");
	field_set_remove(&free, field_find(field));
	assert_string_equal(judge(wide, narrow, free), field);
}

#define WITH_MOUNTS                                  \
	"\"filesystem_read_roots\": [\"/srv/a\"],"   \
	"\"filesystem_write_roots\": [\"/srv2/a\"]," \
	"\"mounts\": [{\"host\": \"/a\", \"jail\": \"/b/c\"}]"

static void
a_client_s_workspace_contains_no_mount_of_its_key(void **state)
{
	static const char most[] = "{" WITH_MOUNTS "}";
	static const struct {
		const char *want, *refused;
	} rows[] = {
		{ "{\"workspace\": \"/home/user\"," WITH_MOUNTS "}", "" },
		{ "{\"workspace\": \"/srv/b\"," WITH_MOUNTS "}", "" },
		{ "{\"workspace\": \"/srv\"," WITH_MOUNTS "}", "workspace" },
		{ "{\"workspace\": \"/srv\"}", "workspace" },
		{ "{\"workspace\": \"/srv2\"}", "workspace" },
		{ "{\"workspace\": \"/b\"}", "workspace" },
		{ "{\"workspace_aliases\": [\"/x\", \"/y\"]}", "" },
		{ "{\"workspace_aliases\": [\"/x\", \"/b\"]}",
		  "workspace_aliases" },
	};
	static const char chosen[] =
		"{\"workspace\": \"/srv\"," WITH_MOUNTS "}";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(judge(rows[i].want, most, NOT_FREE),
				    rows[i].refused);
		/* A key without a policy has that of the server's options. */
		assert_string_equal(
			judge(rows[i].want, most, policy_within_harmless()),
			rows[i].refused);
	}
	/* What the key's own policy has is its administrator's decision. */
	assert_string_equal(judge(chosen, chosen, NOT_FREE), "");
}

static void
each_kind_of_field_has_its_direction(void **state)
{
	(void)state;
	assert_narrower("memory_bytes", "{\"memory_bytes\": \"64M\"}",
			"{\"memory_bytes\": \"65M\"}");
	assert_narrower("timeout", "{\"timeout\": \"1s\"}",
			"{\"timeout\": \"2s\"}");
	assert_narrower("network_access", "{}", "{\"network_access\": true}");
	assert_narrower("network_access", "{\"network_access\": true}",
			"{\"network_access\": \"host\"}");
	assert_narrower("network_allow", "{}",
			"{\"network_allow\": [\"a.example:1\"]}");
	assert_narrower("network_allow",
			"{\"network_allow\": [\"b.example:1\"]}",
			"{\"network_allow\": [\"a.example:1\", "
			"\"b.example:1\"]}");
	assert_narrower("filesystem_read_roots", "{}",
			"{\"filesystem_read_roots\": [\"/etc\"]}");
	assert_narrower("mounts", "{}",
			"{\"mounts\": [{\"host\": \"/a\", \"jail\": "
			"\"/b\"}]}");
	assert_narrower("subprocess_execution", "{}",
			"{\"subprocess_execution\": true}");
	assert_narrower("workspace_execution", "{}",
			"{\"workspace_execution\": true}");
	assert_narrower("package_installation", "{}",
			"{\"package_installation\": true}");
	assert_narrower("blocked_imports",
			"{\"blocked_imports\": [\"os\", \"re\"]}",
			"{\"blocked_imports\": [\"os\"]}");
	assert_narrower("allowed_imports", "{\"allowed_imports\": [\"os\"]}",
			"{}");
	assert_narrower("allowed_imports", "{\"allowed_imports\": [\"os\"]}",
			"{\"allowed_imports\": [\"os\", \"re\"]}");
	assert_narrower("validator", "{\"validator\": \"strict\"}", "{}");
}

static void
mount_that_differs_in_any_member_is_not_within(void **state)
{
	(void)state;
	assert_string_equal(
		judge("{\"mounts\": [{\"host\": \"/a\", \"jail\": \"/b\", "
		      "\"mode\": \"rw\"}]}",
		      "{\"mounts\": [{\"host\": \"/a\", \"jail\": \"/b\"}]}",
		      NOT_FREE),
		"mounts");
}

static void
different_tier_is_never_within(void **state)
{
	(void)state;
	assert_string_equal(judge("{\"tier\": \"unsafe\"}", "{}", NOT_FREE),
			    "tier");
	assert_string_equal(judge("{}", "{\"tier\": \"unsafe\"}", NOT_FREE),
			    "tier");
}

static void
field_that_grants_host_resources_is_not_harmless(void **state)
{
	static const char *const host[] = {
		"{\"tier\": \"unsafe\"}",
		"{\"filesystem_read_roots\": [\"/etc\"]}",
		"{\"filesystem_write_roots\": [\"/etc\"]}",
		"{\"mounts\": [{\"host\": \"/a\", \"jail\": \"/b\"}]}",
		"{\"network_access\": \"host\"}",
		"{\"env_var_access\": true}",
		"{\"workspace_execution\": true}",
		"{\"python\": \"/bin/sh\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(host); i++)
		assert_string_not_equal(
			judge(host[i], "{}", policy_within_harmless()), "");
	assert_string_equal(judge("{\"memory_bytes\": \"4G\", "
				  "\"network_allow\": [\"a.example:1\"]}",
				  "{}", policy_within_harmless()),
			    "");
}

/* A field without a direction must be equal. */
static void
every_field_is_within_itself(void **state)
{
	(void)state;
	assert_string_equal(judge("{}", "{}", NOT_FREE), "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_client_s_workspace_contains_no_mount_of_its_key),
		cmocka_unit_test(each_kind_of_field_has_its_direction),
		cmocka_unit_test(
			mount_that_differs_in_any_member_is_not_within),
		cmocka_unit_test(different_tier_is_never_within),
		cmocka_unit_test(
			field_that_grants_host_resources_is_not_harmless),
		cmocka_unit_test(every_field_is_within_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
