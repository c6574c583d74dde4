/*
 * tools: what the caller lets its code call, checked and with the schemas read.
 * A set can serve many runs, one after the other or at once.
 */
#ifndef REMIT_TOOLS_H
#define REMIT_TOOLS_H

#include "client/tools/schema.h"
#include "wire/link.h"

#define TOOLS_MAX      256
#define TOOL_NAME_SIZE 65 /* with its NUL */

struct tool {
	struct remit_tool given; /* its texts are the caller's */
	struct schema schema;	 /* without a root: any object */
};

struct tools {
	struct tool *all;
	size_t count;
};

/* Refuses names and schemas that make no sense. */
int tools_open(struct tools *t, const struct remit_tool *given, size_t count,
	       struct remit_error *err) must_check;
/* The same tools once more. */
int tools_copy(struct tools *t, const struct tools *from,
	       struct remit_error *err) must_check;
/* NULL if there is none of that name. */
const struct tool *tools_find(const struct tools *t, const char *name);
/* Whether an argument must be given. */
bool tools_needs(const struct tool *tool, const char *name);
/* The frame "tools"; nothing if there are none. */
int tools_send(const struct tools *t, struct link *l,
	       struct remit_error *err) must_check;
void tools_free(struct tools *t);

#endif
