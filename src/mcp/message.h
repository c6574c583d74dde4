/*
 * mcp_message: reads and writes JSON-RPC messages of the Model Context
 * Protocol. Reading is strict: an ambiguous message is refused.
 */
#ifndef REMIT_MCP_MESSAGE_H
#define REMIT_MCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/own.h"

/* Enough for input files of a usual input_bytes as base64. */
#define MCP_MESSAGE_MAX ((size_t)96 * 1024 * 1024)
#define MCP_DEPTH_MAX	64
/* The longest id that is a string. */
#define MCP_ID_MAX 256

/* Error codes of JSON-RPC 2.0, and of the protocol. */
enum mcp_code {
	MCP_E_PARSE = -32700,
	MCP_E_REQUEST = -32600,
	MCP_E_METHOD = -32601,
	MCP_E_PARAMS = -32602,
	MCP_E_INTERNAL = -32603,
	MCP_E_RESOURCE = -32002, /* up to 2025-11-25; later MCP_E_PARAMS */
	MCP_E_HEADER = -32020,
	MCP_E_VERSION = -32022,
};

/* The error with which a message is answered. */
struct mcp_fault {
	int code;
	char text[512];
	json_t *data; /* or NULL */
};

void mcp_fault_free(struct mcp_fault *f);
/* Fill in the fault. Returns -1. */
int mcp_fail(struct mcp_fault *f, enum mcp_code code, const char *fmt, ...)
	printf_like(3, 4);

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

struct mcp_message {
	json_t *doc; /* owns all members below */
	enum mcp_kind kind;
	json_t *id; /* an integer or a string, or NULL */
	const char *method;
	json_t *params; /* an object, or NULL */
	json_t *result; /* an object; NULL if the response is an error */
};

/* Read a message. Returns -1 with the fault; m->id is set if it could be
   read. */
int mcp_message_read(struct mcp_message *m, const char *bytes, size_t len,
		     struct mcp_fault *fault) must_check;
void mcp_message_free(struct mcp_message *m);

/* Returns a member of params._meta, or NULL. */
json_t *mcp_message_meta(const struct mcp_message *m, const char *key);

/* Return a new text, or NULL without memory. Result and fault stay with the
   caller. */
char *mcp_write_result(json_t *id, json_t *result);
char *mcp_write_error(json_t *id, const struct mcp_fault *fault);
/* Write a notification or, with an id, a request. Takes ownership of params. */
char *mcp_write_notice(const char *id, const char *method, json_t *params);

#endif
