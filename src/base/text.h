/*
 * text: foreign bytes as text that is safe to pass on.
 */
#ifndef REMIT_TEXT_H
#define REMIT_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "own.h"

/* The length of the longest prefix that is valid UTF-8 (no surrogates, no
   overlong forms, nothing above U+10FFFF). */
size_t text_valid_prefix(const char *bytes, size_t len);
/* True if what is invalid is only a character cut off at the end. */
bool text_is_cut(const char *bytes, size_t len);

/* A JSON string; invalid bytes become U+FFFD. NULL without memory. */
json_t *text_to_json(const char *bytes, size_t len);

/* A document as compact JSON, a new string, with room for `extra` more bytes.
   The text is written once and never copied, since it may be long. NULL without
   memory, and for what is no JSON. */
char *text_from_json(const json_t *doc, size_t extra, size_t *len);

/* Base64, a new string. NULL without memory. */
char *text_base64(const char *bytes, size_t len);

#endif
