/*
 * tools: the tools that the caller offers to the code, with checked names and
 * parsed schemas. A set can serve many runs, one after the other or at once.
 */
#ifndef REMIT_TOOLS_H
#define REMIT_TOOLS_H

#include "client/tools/schema.h"
#include "wire/link.h"

#define TOOLS_MAX      256
#define TOOL_NAME_SIZE 65 /* with its NUL */

struct tool {
	struct remit_tool given; /* the caller owns its texts */
	struct schema schema;	 /* without a root it allows any object */
};

struct tools {
	struct tool *all;
	size_t count;
};

/* Copy and check the tools. Fails on invalid names and schemas. */
int tools_open(struct tools *t, const struct remit_tool *given, size_t count,
	       struct remit_error *err) must_check;
/* Copy a set of tools. */
int tools_copy(struct tools *t, const struct tools *from,
	       struct remit_error *err) must_check;
/* Returns the tool of this name, or NULL. */
const struct tool *tools_find(const struct tools *t, const char *name);
/* Returns true if the argument is required. */
bool tools_needs(const struct tool *tool, const char *name);
/* Send the frame "tools", unless the set is empty. */
int tools_send(const struct tools *t, struct link *l,
	       struct remit_error *err) must_check;
void tools_free(struct tools *t);

#endif
