/*
 * text: conversion of untrusted bytes to safe text: UTF-8, JSON and base64.
 */
#ifndef REMIT_TEXT_H
#define REMIT_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/own.h"

/* Returns the length of the longest prefix that is valid UTF-8 (no surrogates,
   no overlong forms, nothing above U+10FFFF). */
size_t text_valid_prefix(const char *bytes, size_t len);
/* Whether the only invalid part is a truncated character at the end. */
bool text_is_cut(const char *bytes, size_t len);

/* Converts bytes to a JSON string; invalid bytes become U+FFFD. Returns NULL if
   out of memory. */
json_t *text_to_json(const char *bytes, size_t len);

/* Writes a document as compact JSON to a new string. The text is written once
   and never copied, since it may be long. Returns NULL if out of memory. */
char *text_from_json(const json_t *doc, size_t *len);
/* Appends any JSON value to a buffer. Returns -1 as buf_add() does. */
int text_add_json(struct buf *out, const json_t *value) must_check;
/* Begins a member of the object that is being written: appends a comma unless
   it is the first member, and the name, which must not need escapes. */
int text_add_name(struct buf *out, const char *name) must_check;
/* Returns an upper bound of the number of bytes that text_add_json() adds. */
size_t text_json_bound(const json_t *value);

/* ---- base64 (RFC 4648, section 4) ----
 *
 * Decoding is strict: no blanks, no other alphabet, correct padding.
 */

/* Returns a new string, or NULL if out of memory. */
char *base64_encode(const char *bytes, size_t len);

/* *bytes is newly allocated, with a NUL after the last byte. Returns -1 with
   errno: EINVAL if the text is not base64, ENOMEM if out of memory. */
int base64_decode(const char *text, size_t len, char **bytes,
		  size_t *out) must_check;

/* ---- how much memory a JSON text needs, before it is parsed ----
 *
 * A parsed value takes many times the memory of its text, and the parser is
 * recursive.
 */

struct json_shape {
	size_t values; /* an upper bound */
	size_t depth;
};

/* The maximum number of values in a text from an untrusted client. */
#define JSON_VALUES_MAX 100000

/* Counts values and levels. The text need not be valid JSON. */
struct json_shape json_shape_of(const char *text, size_t len);

#endif
