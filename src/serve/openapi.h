/*
 * openapi: the routes of the server as an OpenAPI document, made from their
 * tables.
 */
#ifndef REMIT_OPENAPI_H
#define REMIT_OPENAPI_H

#include <jansson.h>

#include "http/route.h"

/* Rows without a summary are left out. NULL: no memory. */
json_t *openapi_document(const struct route_table *tables);

/* What bodies and replies look like, by name. */
json_t *openapi_schemas(void);

#endif
