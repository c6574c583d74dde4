/*
 * mcp_resource: what a client can read by an address.
 *
 *	remit://guide			what code may do here, in words
 *	remit://artifacts/ID/PATH	a file that left the jail of a program
 *	remit://sessions/SESSION/PATH	a file of a session, as it is now
 */
#ifndef REMIT_MCP_RESOURCE_H
#define REMIT_MCP_RESOURCE_H

#include "mcp/part.h"

/* Of what is read at once. */
#define MCP_RESOURCE_MAX ((size_t)32 * 1024 * 1024)

/* An address, a new string; NULL without memory. */
json_t *mcp_resource_uri(const char *kind, const char *id, const char *path);
/* Its parts, new strings; -1: it is none of ours. */
int mcp_resource_parse(const char *uri, char **kind, char **id,
		       char **path) must_check;

/* New arrays. */
json_t *mcp_resource_list(void);
json_t *mcp_resource_templates(void);

/* The method resources/read. */
void mcp_resource_read(struct mcp_call *c);

#endif
