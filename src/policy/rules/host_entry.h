/*
 * host_entry: converts an entry of network_allow that is a JSON object to the
 * text that host_rule.h parses:
 *
 *	{"host": "api.example.com", "port": 80, "kind": "plain",
 *	 "private": true, "public": false, "methods": ["GET", "HEAD"],
 *	 "bytes": "10M", "connections": 5}
 *
 * Whether the entry is allowed is checked later, with its text.
 */
#ifndef REMIT_HOST_ENTRY_H
#define REMIT_HOST_ENTRY_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

int host_entry_text(const json_t *object, const char *place, struct buf *out,
		    struct remit_error *err) must_check;

#endif
