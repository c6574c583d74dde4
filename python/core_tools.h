/*
 * core_tools: functions of Python that the code may call. Each is called with
 * (call, arguments), where `call` is answered once, now or later and from any
 * thread, by call.reply(json) or call.fail(message). One that is forgotten
 * fails by itself.
 */
#ifndef REMIT_CORE_TOOLS_H
#define REMIT_CORE_TOOLS_H

#include "core.h"

struct core_tools {
	struct remit_tool *items;
	size_t count;
	PyObject *tuple; /* what they were read from: it owns all texts */
};

/* From a tuple of (name, description, schema, approval, function); -1 with an
   exception. */
int core_tools_read(struct core_tools *t, PyObject *tuple);
void core_tools_free(struct core_tools *t);

int core_tools_ready(PyObject *module);

#endif
