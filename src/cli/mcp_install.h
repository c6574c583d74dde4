/*
 * mcp_install: what to write into the configuration of a client of the Model
 * Context Protocol, so that it starts "remit mcp" with these options.
 */
#ifndef REMIT_MCP_INSTALL_H
#define REMIT_MCP_INSTALL_H

#include "base/error.h"

/* What --install can name. */
extern const char *const mcp_install_clients[];

/* `client` counts from 1. argv is that of the command, with its --install. */
int mcp_install_print(unsigned client, int argc, char **argv,
		      struct remit_error *err) must_check;

#endif
