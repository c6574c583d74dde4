/*
 * json_place: positions in a JSON text, for error messages and for edits that
 * leave the rest unchanged. The JSON parser does not keep lines and blanks.
 */
#ifndef REMIT_JSON_PLACE_H
#define REMIT_JSON_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* A part of a text: from the first byte to the byte after the last one. */
struct json_span {
	const char *start;
	const char *end;
};

/*
 * Returns the line, from 1, of a key of the outermost object, or 0 if it does
 * not have the key. If the text is not valid JSON the line may be wrong, but
 * the call is safe.
 */
unsigned json_place_line(const char *text, size_t len, const char *key);

/* The next two functions require valid JSON. */

/* Finds the value of a key of the outermost object. Returns false if there is
   none. */
bool json_place_value(struct json_span document, const char *key,
		      struct json_span *out);
/* Finds the last item of a list, or the last key of an object with its value.
   Returns false if it is empty. */
bool json_place_last(struct json_span container, struct json_span *out);

/* Returns how deep objects and lists are nested. The text need not be valid:
   call this before parsing. */
unsigned json_place_depth(const char *text, size_t len);

#endif
