/*
 * mcp_shown: collects what a cell displays, as content of an answer.
 */
#ifndef REMIT_MCP_SHOWN_H
#define REMIT_MCP_SHOWN_H

#include <jansson.h>

#include "remit.h"

struct mcp_shown {
	json_t *images;	  /* image blocks */
	json_t *displays; /* the text and the MIME types of each display */
	json_t *value;	  /* the text of the value, or NULL */
};

void mcp_shown_add(struct mcp_shown *s, const struct remit_display *d);
void mcp_shown_free(struct mcp_shown *s);

/* Returns a new image block; NULL if clients do not support the type. */
json_t *mcp_shown_image(const char *mime, const char *bytes, size_t len);

#endif
