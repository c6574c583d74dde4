/* e2b_policy: requirements of clients become a policy, or are refused. */
#include "serve/e2b/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The hosts in the server's policy. */
static char *const named[] = { (char *)"own.test:8080:plain,private",
			       (char *)"own.test:443", NULL };
static const struct list no_hosts, some = { (char **)named, 2 };

static void
read_as(const char *body, bool open, const struct list *hosts,
	struct e2b_policy *out)
{
	json_auto_t *doc = json_loads(body, 0, NULL);
	struct remit_error err;

	assert_non_null(doc);
	if (e2b_policy_read(out, doc, open, hosts, &err) < 0)
		fail_msg("%s: %s", body, err.message);
}

static void
is_same(const json_t *what, const char *wanted, const char *body)
{
	json_auto_t *right = json_loads(wanted, 0, NULL);

	assert_non_null(right);
	if (!json_equal(what, right)) {
		own_mem char *text = json_dumps(what, 0);

		fail_msg("%s: %s", body, text);
	}
}

static void
becomes(const char *body, bool open, const char *wanted)
{
	own(e2b_policy) struct e2b_policy p = { 0 };

	read_as(body, open, &no_hosts, &p);
	is_same(p.policy, wanted, body);
	is_same(p.credentials, "[]", body);
}

static void
is_refused_with_hosts(const char *body, bool open, const struct list *hosts,
		      const char *words)
{
	json_auto_t *doc = json_loads(body, 0, NULL);
	struct e2b_policy p;
	struct remit_error err;

	assert_non_null(doc);
	if (e2b_policy_read(&p, doc, open, hosts, &err) == 0)
		fail_msg("%s was accepted", body);
	if (!strstr(err.message, words))
		fail_msg("%s: %s", body, err.message);
	/* Errors never reveal the value of a header. */
	assert_null(strstr(err.message, "s3cr3t"));
}

static void
is_refused(const char *body, bool open, const char *words)
{
	is_refused_with_hosts(body, open, &no_hosts, words);
}

#define HOSTS "\"network_allow\": [\"a.test:443\", \"a.test:80\"]"

static void
members_without_effect_change_nothing(void **state)
{
	(void)state;
	becomes("{}", false, "{}");
	becomes("{\"templateID\": \"base\", \"secure\": true, \"autoPause\": "
		"false, \"volumeMounts\": [], \"mcp\": null, \"iam\": {}, "
		"\"autoResume\": {\"enabled\": false}}",
		false, "{}");
	/* Both are decided where the server's options are known. */
	becomes("{\"autoPause\": true, \"autoPauseMemory\": true}", false,
		"{}");
	becomes("{\"allow_internet_access\": true}", false, "{}");
	becomes("{\"allow_internet_access\": true}", true, "{}");
	becomes("{\"network\": {\"allowPublicTraffic\": true, \"allowOut\": "
		"[\"0.0.0.0/0\"]}}",
		false, "{}");
	becomes("{\"network\": {\"allowOut\": [\"a.test\"]}}", true, "{}");
	becomes("{\"network\": {\"denyOut\": [\"8.8.8.8\"]}}", false, "{}");
}

static void
request_for_less_network_is_applied(void **state)
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
unsupported_members_are_refused(void **state)
{
	(void)state;
	is_refused("{\"templateID\": \"other\"}", false, "only template");
	is_refused("{\"autoResume\": {\"enabled\": true}}", false,
		   "connect() resumes it");
	is_refused("{\"volumeMounts\": [{}]}", false, "volumes");
	is_refused("{\"mcp\": {\"a\": 1}}", false, "gateway");
	is_refused("{\"network\": {\"egressProxy\": {\"a\": 1}}}", false,
		   "proxy");
	is_refused("{\"network\": {\"httpsPorts\": [3000]}}", false,
		   "have no TLS");
	is_refused("{\"network\": {\"dnsServers\": [\"8.8.8.8\"]}}", false,
		   "resolved by");
	is_refused("{\"network\": {\"inventedLater\": true}}", false,
		   "not supported");
	is_refused("{\"network\": {\"allowOut\": [\"10.0.0.0/8\"]}}", false,
		   "ranges");
	is_refused("{\"network\": {\"allowOut\": [1]}}", false, "allowOut[0]");
	is_refused("{\"network\": {\"denyOut\": [\"8.8.8.8\"]}}", true,
		   "single hosts");
	is_refused_with_hosts("{\"network\": {\"denyOut\": [\"own.test\"]}}",
			      false, &some, "single hosts");
}

#define RULE(host, headers)                                                  \
	"\"rules\": {\"" host "\": [{\"transform\": {\"headers\": {" headers \
	"}}}]}"
#define KEY "\"X-Key\": \"s3cr3t\""
#define HEADER(host, port)                         \
	"{\"host\": \"" host "\", \"port\": " port \
	", \"header\": \"X-Key\", \"from\": \"given:RULE_1\"}"
#define A_HEADER "[" HEADER("a.test", "443") "]"

static void
has_header(const char *body, bool open, const struct list *hosts,
	   const char *policy, const char *credentials)
{
	own(e2b_policy) struct e2b_policy p = { 0 };

	read_as(body, open, hosts, &p);
	is_same(p.policy, policy, body);
	is_same(p.credentials, credentials, body);
	is_same(p.secrets, "{\"RULE_1\": \"s3cr3t\"}", body);
}

static void
headers_become_credentials_with_separate_secrets(void **state)
{
	(void)state;
	has_header("{\"network\": {\"allowOut\": [\"a.test\"], " RULE("a.test",
								      KEY) "}}",
		   false, &no_hosts, "{" HOSTS "}", A_HEADER);
	/* A wildcard does not cover it. */
	has_header("{\"network\": {\"allowOut\": [\"*.test\"], " RULE("a.test",
								      KEY) "}}",
		   false, &no_hosts,
		   "{\"network_allow\": [\"*.test:443\", \"*.test:80\", "
		   "\"a.test:443\", \"a.test:80\"]}",
		   A_HEADER);
	/* If the whole network is open or allowed, the host need not be listed,
	   and nothing is removed. */
	has_header("{\"network\": {" RULE("a.test", KEY) "}}", true, &some,
		   "{\"network_allow\": [\"own.test:8080:plain,private\", "
		   "\"own.test:443\", \"a.test:443\", \"a.test:80\"]}",
		   A_HEADER);
	has_header("{\"network\": {\"allowOut\": [\"0.0.0.0/0\"], " RULE(
			   "a.test", KEY) "}}",
		   false, &no_hosts, "{" HOSTS "}", A_HEADER);
	/* As in the server's policy. */
	has_header("{\"network\": {\"allowOut\": [\"own.test\"], " RULE(
			   "own.test", KEY) "}}",
		   false, &some,
		   "{\"network_allow\": [\"own.test:8080:plain,private\", "
		   "\"own.test:443\"]}",
		   "[" HEADER("own.test", "8080") ", " HEADER("own.test",
							      "443") "]");
	becomes("{\"network\": {\"rules\": {\"a.test\": []}}}", false, "{}");
	becomes("{\"network\": {\"rules\": {\"a.test\": [{}, "
		"{\"transform\": null}]}}}",
		false, "{}");
}

static void
unsupported_rules_are_refused(void **state)
{
	(void)state;
	is_refused("{\"network\": {" RULE("a.test", KEY) "}}", false,
		   "allowOut");
	is_refused("{\"network\": {\"denyOut\": [\"0.0.0.0/0\"], " RULE(
			   "a.test", KEY) "}}",
		   true, "allowOut");
	is_refused("{\"network\": {" RULE("*.test", KEY) "}}", true,
		   "single hosts");
	is_refused("{\"network\": {" RULE("10.0.0.0/8", KEY) "}}", true,
		   "single hosts");
	is_refused(
		"{\"network\": {" RULE("a.test", KEY ", \"X-B\": \"b\"") "}}",
		true, "one header");
	is_refused("{\"network\": {" RULE("a.test", "\"X-Key\": 5") "}}", true,
		   "must be a string");
	is_refused("{\"network\": {" RULE(
			   "a.test",
			   "\"X-Key\": \"${e2b.identity.tokens.s3cr3t}\"") "}}",
		   true, "identities");
	is_refused("{\"network\": {\"rules\": {\"a.test\": "
		   "[{\"transform\": {\"body\": \"s3cr3t\"}}]}}}",
		   true, "only add headers");
	is_refused("{\"network\": {\"rules\": {\"a.test\": [{\"mirror\": "
		   "\"s3cr3t\"}]}}}",
		   true, "only add headers");
	is_refused("{\"network\": {\"rules\": {\"a.test\": 5}}}", true,
		   "a list");
	is_refused("{\"network\": {\"rules\": {\"a.test\": [5]}}}", true,
		   "an object");
}

/* If it were ignored, the network would stay open. */
static void
members_of_wrong_type_are_refused(void **state)
{
	static const char *const bodies[] = {
		"{\"network\": {\"denyOut\": \"0.0.0.0/0\"}}",
		"{\"network\": {\"allowOut\": \"a.test\"}}",
		"{\"network\": {\"rules\": [\"a.test\"]}}",
		"{\"network\": [{\"denyOut\": [\"0.0.0.0/0\"]}]}",
		"{\"allow_internet_access\": \"false\"}",
		"{\"allow_internet_access\": 0}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
		is_refused(bodies[i], true, "wrong type");
	becomes("{\"network\": {\"allowOut\": null, \"denyOut\": null, "
		"\"rules\": null}, \"allow_internet_access\": null}",
		true, "{}");
	becomes("{\"network\": null}", true, "{}");
}

/* ---- the workspace ---- */

static void
workspace_and_its_aliases_become_aliases_of_home(void **state)
{
	static const struct {
		const char *policy, *aliases; /* NULL: it stays */
	} rows[] = {
		{ "{}", "[\"/workspace\"]" },
		{ "{\"tier\": \"static\"}", "[\"/workspace\"]" },
		{ "{\"workspace\": \"/mnt/data\"}", "[\"/mnt/data\"]" },
		{ "{\"workspace_aliases\": [\"/a\", \"/home/user\", \"/b\"]}",
		  "[\"/workspace\", \"/a\", \"/b\"]" },
		{ "{\"filesystem_read_roots\": [\"/home/username\"]}",
		  "[\"/workspace\"]" },
		{ "{\"mounts\": [{\"host\": \"/home/user\", \"jail\": "
		  "\"/x\"}]}",
		  "[\"/workspace\"]" },
		{ "{\"workspace\": \"/home/user\"}", NULL },
		{ "{\"workspace\": \"/home\"}", NULL },
		{ "{\"workspace\": \"/home/user/w\"}", NULL },
		{ "{\"workspace_aliases\": [\"/home/user/w\"]}", NULL },
		{ "{\"mounts\": [{\"host\": \"/x\", \"jail\": "
		  "\"/home/user\"}]}",
		  NULL },
		{ "{\"mounts\": [{\"host\": \"/x\", \"jail\": \"/home\"}]}",
		  NULL },
		{ "{\"filesystem_read_roots\": [\"/home/user/x\"]}", NULL },
		{ "{\"filesystem_write_roots\": [\"/home\"]}", NULL },
		{ "{\"tier\": \"landlock\"}", NULL },
		{ "{\"tier\": \"unsafe\"}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(policy) struct policy p = { 0 };
		json_auto_t *wanted = NULL, *got = NULL;
		struct remit_error err;

		assert_int_equal(policy_init(&p), 0);
		assert_int_equal(policy_parse(&p, rows[i].policy,
					      strlen(rows[i].policy), "p",
					      &err),
				 0);
		assert_int_equal(e2b_policy_can_move_home(&p),
				 rows[i].aliases != NULL);
		if (!rows[i].aliases)
			continue;
		assert_int_equal(e2b_policy_move_home(&p, &err), 0);
		assert_string_equal(p.workspace, "/home/user");
		wanted = json_loads(rows[i].aliases, 0, NULL);
		got = field_to_json(&p, &fields[F_WORKSPACE_ALIASES]);
		assert_true(json_equal(wanted, got));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			workspace_and_its_aliases_become_aliases_of_home),
		cmocka_unit_test(members_without_effect_change_nothing),
		cmocka_unit_test(request_for_less_network_is_applied),
		cmocka_unit_test(unsupported_members_are_refused),
		cmocka_unit_test(
			headers_become_credentials_with_separate_secrets),
		cmocka_unit_test(unsupported_rules_are_refused),
		cmocka_unit_test(members_of_wrong_type_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
