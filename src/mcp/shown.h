/*
 * mcp_shown: what a cell displays, as the content of an answer.
 */
#ifndef REMIT_MCP_SHOWN_H
#define REMIT_MCP_SHOWN_H

#include <jansson.h>

#include "remit.h"

struct mcp_shown {
	json_t *images;	  /* blocks for those who can see */
	json_t *displays; /* texts, and what there was of each */
	json_t *value;	  /* the text of it; NULL: there is none */
};

void mcp_shown_add(struct mcp_shown *s, const struct remit_display *d);
void mcp_shown_free(struct mcp_shown *s);

/* A block of an image, a new one; NULL if these bytes are none that clients
   know. */
json_t *mcp_shown_image(const char *mime, const char *bytes, size_t len);

#endif
