/*
 * text: foreign bytes as text that is safe to pass on: UTF-8, JSON and
 * base64.
 */
#ifndef REMIT_TEXT_H
#define REMIT_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/own.h"

/* The length of the longest prefix that is valid UTF-8 (no surrogates, no
   overlong forms, nothing above U+10FFFF). */
size_t text_valid_prefix(const char *bytes, size_t len);
/* True if what is invalid is only a character cut off at the end. */
bool text_is_cut(const char *bytes, size_t len);

/* A JSON string; invalid bytes become U+FFFD. NULL without memory. */
json_t *text_to_json(const char *bytes, size_t len);

/* A document as compact JSON, a new string. The text is written once and never
   copied, since it may be long. NULL without memory. */
char *text_from_json(const json_t *doc, size_t *len);
/* The same at the end of a buffer; any value. -1 as buf_add(). */
int text_add_json(struct buf *out, const json_t *value) must_check;
/* Begins a member of the object that is being written: a comma unless it is the
   first, and the name, which must need no escapes. */
int text_add_name(struct buf *out, const char *name) must_check;
/* At least as many bytes as text_add_json() adds. */
size_t text_json_bound(const json_t *value);

/* ---- base64 (RFC 4648, section 4) ----
 *
 * Reading is strict: no blanks, no other alphabet, padding as it must be.
 */

/* A new string. NULL without memory. */
char *base64_encode(const char *bytes, size_t len);

/* *bytes is new, with a NUL behind it. -1: it is not base64 (EINVAL), or there
   is no memory (ENOMEM). */
int base64_decode(const char *text, size_t len, char **bytes,
		  size_t *out) must_check;

/* ---- how much a JSON text asks for before it is parsed ----
 *
 * A value takes many times its text, and the parser calls itself for each
 * level.
 */

struct json_shape {
	size_t values; /* at most so many, whatever stands in strings */
	size_t depth;
};

/* What the values of one text may be at most where a stranger sends it. */
#define JSON_VALUES_MAX 100000

/* Of a text that need not be JSON. */
struct json_shape json_shape_of(const char *text, size_t len);

#endif
