/* e2b_policy: what clients wish becomes a policy, or is refused. */
#include "e2b_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
becomes(const char *body, bool open, const char *wanted)
{
	json_auto_t *doc = json_loads(body, 0, NULL);
	json_auto_t *right = json_loads(wanted, 0, NULL);
	json_auto_t *policy = NULL;
	struct remit_error err;

	assert_non_null(doc);
	policy = e2b_policy(doc, open, &err);
	if (!policy)
		fail_msg("%s: %s", body, err.message);
	if (!json_equal(policy, right)) {
		own_mem char *text = json_dumps(policy, 0);

		fail_msg("%s: %s", body, text);
	}
}

static void
is_refused(const char *body, bool open, const char *words)
{
	json_auto_t *doc = json_loads(body, 0, NULL);
	struct remit_error err;

	assert_non_null(doc);
	if (e2b_policy(doc, open, &err))
		fail_msg("%s was taken", body);
	if (!strstr(err.message, words))
		fail_msg("%s: %s", body, err.message);
}

#define HOSTS "\"network_allow\": [\"a.test:443\", \"a.test:80\"]"

static void
what_gives_nothing_changes_nothing(void **state)
{
	(void)state;
	becomes("{}", false, "{}");
	becomes("{\"templateID\": \"base\", \"secure\": true, \"autoPause\": "
		"false, \"volumeMounts\": [], \"mcp\": null, \"iam\": {}, "
		"\"autoResume\": {\"enabled\": false}}",
		false, "{}");
	becomes("{\"allow_internet_access\": true}", false, "{}");
	becomes("{\"allow_internet_access\": true}", true, "{}");
	becomes("{\"network\": {\"allowPublicTraffic\": true, \"allowOut\": "
		"[\"0.0.0.0/0\"]}}",
		false, "{}");
	becomes("{\"network\": {\"allowOut\": [\"a.test\"]}}", true, "{}");
	becomes("{\"network\": {\"denyOut\": [\"8.8.8.8\"]}}", false, "{}");
}

static void
less_network_is_kept(void **state)
{
	static const char none[] =
		"{\"network_access\": false, \"network_allow\": []}";

	(void)state;
	becomes("{\"allow_internet_access\": false}", true, none);
	becomes("{\"network\": {\"denyOut\": [\"0.0.0.0/0\"]}}", true, none);
	becomes("{\"network\": {\"denyOut\": [\"::/0\"], \"allowOut\": "
		"[\"a.test\"]}}",
		true, "{\"network_access\": false, " HOSTS "}");
	becomes("{\"network\": {\"allowOut\": [\"a.test\"]}}", false,
		"{" HOSTS "}");
}

static void
what_cannot_be_kept_is_refused(void **state)
{
	(void)state;
	is_refused("{\"templateID\": \"other\"}", false, "one template");
	is_refused("{\"autoPause\": true}", false, "paused");
	is_refused("{\"autoResume\": {\"enabled\": true}}", false, "paused");
	is_refused("{\"volumeMounts\": [{}]}", false, "volumes");
	is_refused("{\"mcp\": {\"a\": 1}}", false, "gateway");
	is_refused("{\"network\": {\"rules\": {\"a\": []}}}", false,
		   "--credential");
	is_refused("{\"network\": {\"egressProxy\": {\"a\": 1}}}", false,
		   "proxy");
	is_refused("{\"network\": {\"allowOut\": [\"10.0.0.0/8\"]}}", false,
		   "ranges");
	is_refused("{\"network\": {\"allowOut\": [1]}}", false, "allowOut[0]");
	is_refused("{\"network\": {\"denyOut\": [\"8.8.8.8\"]}}", true,
		   "single hosts");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_gives_nothing_changes_nothing),
		cmocka_unit_test(less_network_is_kept),
		cmocka_unit_test(what_cannot_be_kept_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
