/*
 * mcp_install: what to write into the configuration of a client of the Model
 * Context Protocol, so that it starts "remit mcp" with these options.
 */
#ifndef REMIT_MCP_INSTALL_H
#define REMIT_MCP_INSTALL_H

#include "error.h"

/* argv is that of the command, with its --install. */
int mcp_install_print(const char *client, int argc, char **argv,
		      struct remit_error *err) must_check;

#endif
