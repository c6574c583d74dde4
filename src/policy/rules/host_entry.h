/*
 * host_entry: an entry of network_allow as a JSON object, made the text that
 * host_rule.h reads:
 *
 *	{"host": "api.example.com", "port": 80, "kind": "plain",
 *	 "private": true, "public": false, "methods": ["GET", "HEAD"], "bytes":
 * "10M", "connections": 5}
 *
 * Whether it can be kept is said of the text, like of any other.
 */
#ifndef REMIT_HOST_ENTRY_H
#define REMIT_HOST_ENTRY_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

int host_entry_text(const json_t *object, const char *place, struct buf *out,
		    struct remit_error *err) must_check;

#endif
