/*
 * The two documents of the cache: an interpreter's description, and what the
 * host can do. They may contain anything; an accepted document is complete.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "policy/host.h"
#include "policy/interpreter.h"

static void
try_interpreter(const json_t *doc)
{
	struct remit_error err = { 0 };
	struct interpreter in;

	if (interpreter_from_json(&in, doc, &err) < 0) {
		must(err.message[0] && (err.code == REMIT_E_INPUT ||
					err.code == REMIT_E_REFUSED));
		must(err.code != REMIT_E_REFUSED || err.remedy[0]);
		return;
	}
	must(in.executable && in.real && in.prefix && in.exec_prefix &&
	     in.compiled);
	must(in.major == 3 && in.minor >= 9);
	interpreter_free(&in);
}

static void
try_host(const json_t *doc)
{
	struct remit_error err = { 0 };
	json_auto_t *first = NULL;
	json_auto_t *second = NULL;
	struct host h, again;

	if (host_from_json(&h, doc, &err) < 0) {
		must(err.message[0] && err.code == REMIT_E_INPUT);
		return;
	}
	must(h.page_bytes && !(h.page_bytes & (h.page_bytes - 1)));
	must(h.socket_buffer_bytes <= INT64_MAX);
	first = host_to_json(&h);
	/* A text may have been cut inside a character. */
	if (!first)
		return;
	must(host_from_json(&again, first, &err) == 0);
	second = host_to_json(&again);
	must(json_equal(first, second));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_auto_t *doc =
		json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);

	try_interpreter(doc);
	try_host(doc);
	return 0;
}
