/*
 * Any message is read, or refused with a code of the protocol; every reply to
 * it is one line.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "mcp/message.h"

static void
check_line(char *text)
{
	json_auto_t *doc = text ? json_loads(text, 0, NULL) : NULL;

	must(doc && !strchr(text, '\n'));
	free(text);
}

static void
check_refused(const struct mcp_message *m, const struct mcp_fault *fault)
{
	must(fault->text[0]);
	must(fault->code == MCP_E_PARSE || fault->code == MCP_E_REQUEST ||
	     fault->code == MCP_E_PARAMS);
	check_line(mcp_write_error(m->id, fault));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mcp_fault fault = { 0 };
	struct mcp_message m;

	if (mcp_message_read(&m, (const char *)data, size, &fault) < 0) {
		check_refused(&m, &fault);
	} else if (m.kind == MCP_RESPONSE) {
		must(m.id && !m.method);
	} else {
		must(m.method && (m.kind == MCP_REQUEST) == (m.id != NULL));
		must(!m.params || json_is_object(m.params));
		must(!mcp_message_meta(&m, "x") || m.params);
		if (m.id)
			check_line(mcp_write_result(m.id, m.doc));
	}
	mcp_message_free(&m);
	return 0;
}
