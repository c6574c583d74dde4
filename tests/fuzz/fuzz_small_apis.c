/* Anything that clients of other services send becomes a request of the native
   API within the limits of its key, or gives an error that says why not. The
   first byte chooses the service: Piston, SandboxFusion (code or notebook),
   E2B. */
#include <string.h>

#include "fuzz_key.h"
#include "policy/within.h"
#include "serve/compat/fusion_request.h"
#include "serve/compat/piston_request.h"
#include "serve/e2b/policy.h"
#include "serve/native/request.h"

/* No limit is above the key's, whatever the key leaves free. */
static void
check_limits(const char *text, const struct key *key)
{
	own(policy) struct policy p = { 0 };
	struct remit_error err;

	must(policy_init(&p) == 0);
	must(policy_parse(&p, text, strlen(text), "again", &err) == 0);
	must(p.memory_bytes <= key->policy.memory_bytes);
	must(p.cpu_ms <= key->policy.cpu_ms);
	must(p.timeout_ms == key->policy.timeout_ms);
	must(policy_within(&p, &key->most, &key->free, &err) == 0);
}

static void
try_request(enum request_kind kind, json_t *doc)
{
	const struct key *key = a_key();
	struct remit_error err = { 0 };
	struct request *r;

	if (request_read(&r, kind, doc, key, &err) < 0) {
		must(err.message[0] && (err.code == REMIT_E_INPUT ||
					err.code == REMIT_E_REFUSED));
		return;
	}
	if (kind != REQUEST_CELL)
		check_limits(r->policy_text, key);
	request_free(r);
}

static void
try_run(json_t *doc, uint64_t timeout_ms, const struct remit_error *err)
{
	if (!doc) {
		must(err->message[0] && err->code == REMIT_E_INPUT);
		return;
	}
	must(timeout_ms <= 1000000000);
	try_request(REQUEST_RUN, doc);
	json_decref(doc);
}

static void
try_notebook(const json_t *body)
{
	struct remit_error err = { 0 };
	struct fusion_notebook n;

	if (fusion_read_notebook(&n, body, a_key(), &err) < 0) {
		must(err.message[0] && err.code == REMIT_E_INPUT);
		return;
	}
	must(n.total_ms > 0);
	try_request(REQUEST_SESSION, n.session);
	try_request(REQUEST_CELL, n.first);
	fusion_notebook_free(&n);
}

static void
try_sandbox(const json_t *body, bool open)
{
	own(policy) struct policy policy = { 0 };
	own_mem char *text = NULL;
	struct remit_error err = { 0 };
	own(e2b_policy) struct e2b_policy wish = { 0 };

	if (e2b_policy_read(&wish, body, open, &a_key()->policy.network_allow,
			    &err) == 0 &&
	    request_policy(wish.policy, a_key(), &policy, &text, &err) == 0) {
		check_limits(text, a_key());
		must(json_array_size(wish.credentials) ==
		     json_object_size(wish.secrets));
	} else
		must(err.message[0] && (err.code == REMIT_E_INPUT ||
					err.code == REMIT_E_REFUSED));
}

/* A version that matches a selector also matches "SELECTOR || SELECTOR". */
static void
try_version(const char *text, size_t len)
{
	static const int version[3] = { 3, 11, 2 };
	char *selector = strndup(text, len);
	char *both = NULL;

	must(selector && asprintf(&both, "%s || %s", selector, selector) > 0);
	must(!piston_version_matches(selector, version) ||
	     piston_version_matches(both, version));
	free(selector);
	free(both);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct remit_error err = { 0 };
	uint64_t timeout_ms = 0;
	json_auto_t *body = NULL;

	if (!size)
		return 0;
	if (data[0] == 'v') {
		try_version(text, size - 1);
		return 0;
	}
	body = json_loadb(text, size - 1,
			  JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (!json_is_object(body))
		return 0;
	if (data[0] == 'p') {
		json_t *doc =
			piston_read_request(body, a_key(), &timeout_ms, &err);

		try_run(doc, timeout_ms, &err);
	} else if (data[0] == 'c') {
		json_t *doc =
			fusion_read_code(body, a_key(), &timeout_ms, &err);

		try_run(doc, timeout_ms, &err);
	} else if (data[0] == 'n') {
		try_notebook(body);
	} else {
		try_sandbox(body, data[0] == 'o');
	}
	return 0;
}
