/*
 * mcp_resource: the resources that a client can read by an address.
 * remit://guide what code may do here, as text remit://artifacts/ID/PATH a file
 * that a program exported remit://sessions/SESSION/PATH a file of a session, as
 * it is now
 */
#ifndef REMIT_MCP_RESOURCE_H
#define REMIT_MCP_RESOURCE_H

#include "mcp/part.h"

/* The largest resource. */
#define MCP_RESOURCE_MAX ((size_t)32 * 1024 * 1024)

/* Returns an address as a new string; NULL without memory. */
json_t *mcp_resource_uri(const char *kind, const char *id, const char *path);
/* Split an address into new strings. Returns -1 if it is not an address of this
   server. */
int mcp_resource_parse(const char *uri, char **kind, char **id,
		       char **path) must_check;

/* Return new arrays. */
json_t *mcp_resource_list(void);
json_t *mcp_resource_templates(void);

/* The method resources/read. */
void mcp_resource_read(struct mcp_call *c);

#endif
