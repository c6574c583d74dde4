/*
 * json_place: where things stand in a JSON text, for error messages. The
 * JSON parser forgets lines once it has read a document.
 */
#ifndef REMIT_JSON_PLACE_H
#define REMIT_JSON_PLACE_H

#include <stddef.h>

/*
 * The line, from 1, of a key of the outermost object, or 0 if the key is not
 * there. The text should be a valid document; in any other text the answer
 * may be wrong, but nothing worse happens.
 */
unsigned json_place_line(const char *text, size_t len, const char *key);

/* How deep objects and lists are nested; valid or not. Ask before parsing. */
unsigned json_place_depth(const char *text, size_t len);

#endif
