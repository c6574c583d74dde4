/*
 * A client of the Model Context Protocol that sends lines to a server without
 * capacity for sessions: every message is answered once and at once, with one
 * line, or with nothing if it needs no answer.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "mcp/part.h"
#include "mcp/tool.h"

static void
on_send(void *user, const char *json, size_t len)
{
	(void)user;
	must(len && !memchr(json, '\n', len));
}

static void
on_end(void *user, const char *json, size_t len, int code)
{
	json_auto_t *doc =
		json ? json_loadb(json, len, JSON_ALLOW_NUL, NULL) : NULL;

	must(++*(int *)user == 1);
	must(!json || (doc && !memchr(json, '\n', len)));
	must(!json || (code != 0) == (json_object_get(doc, "error") != NULL));
}

/* Like mcp_open(), without the texts about a plan, which need a keeper. */
static struct mcp *
mcp_fuzz_server(void)
{
	static struct mcp m;
	struct hosted_table_options none = { 0 };
	struct remit_error err;

	if (m.toolbox)
		return &m;
	pthread_mutex_init(&m.lock, NULL);
	must(policy_init(&m.policy) == 0);
	m.owner = strdup("");
	m.policy_json = strdup("{}");
	m.guide = strdup("");
	m.policy_shown = json_object();
	must(m.owner && m.policy_json && m.guide && m.policy_shown);
	must(hosted_table_open(&m.hosted_table, &none, &err) == 0);
	must(mcp_toolbox_open(&m.toolbox, &m.policy, m.guide, &err) == 0);
	return &m;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	struct mcp_peer *p = mcp_peer_open(mcp_fuzz_server());

	must(p != NULL);
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		int ends = 0;
		struct mcp_sink sink = { on_send, on_end, &ends };

		stop = stop ? stop : end;
		mcp_receive(p, at, (size_t)(stop - at), &sink);
		must(ends == 1);
		at = stop + 1;
	}
	must(!mcp_fuzz_server()->call_count);
	mcp_peer_close(p);
	return 0;
}
