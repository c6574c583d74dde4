/*
 * json_place: where things stand in a JSON text, for error messages and for
 * changes that leave the rest as it is. The JSON parser forgets lines and
 * blanks once it has read a document.
 */
#ifndef REMIT_JSON_PLACE_H
#define REMIT_JSON_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* A part of a text, from the first byte to behind the last. */
struct json_span {
	const char *start;
	const char *end;
};

/*
 * The line, from 1, of a key of the outermost object, or 0 if the key is not
 * there. The text should be a valid document; in any other text the answer
 * may be wrong, but nothing worse happens.
 */
unsigned json_place_line(const char *text, size_t len, const char *key);

/* What follows wants a valid document. */

/* The value of a key of the outermost object; false if it is not there. */
bool json_place_value(struct json_span document, const char *key,
		      struct json_span *out);
/* The last item of a list, or the last key of an object with its value;
   false if it is empty. */
bool json_place_last(struct json_span container, struct json_span *out);

/* How deep objects and lists are nested; valid or not. Ask before parsing. */
unsigned json_place_depth(const char *text, size_t len);

#endif
