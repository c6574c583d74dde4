/*
 * package_layer_list: all package layers of a user.
 */
#ifndef REMIT_PACKAGE_LAYER_LIST_H
#define REMIT_PACKAGE_LAYER_LIST_H

#include <jansson.h>

#include "base/error.h"
#include "base/list.h"

/* Lists [{id, python, tenant, packages, wheels, size_bytes, files, used}], the
   most recently used first; `used` is in seconds since 1970. The wheels are
   those that the installation reported. `tenant` is missing if the installation
   had none. */
int package_layer_list(json_t **out, struct remit_error *err) must_check;
/* Returns such an object for one layer in a directory of layers; NULL if its
   description cannot be read. */
json_t *package_layer_describe(int package_layers, const char *id);

/* Appends the names in a directory. Returns -1 with errno set. */
int package_layer_names(struct list *out, int directory) must_check;

#endif
