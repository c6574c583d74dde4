/*
 * json_value: reads JSON values, with error messages that name the value of the
 * document.
 *
 * `place` names the value: "memory_bytes", "mounts[1].mode".
 */
#ifndef REMIT_JSON_VALUE_H
#define REMIT_JSON_VALUE_H

#include "policy/fields/field.h"

#define JSON_VALUE_NUMBER_SIZE 48

/* Writes "mounts[1]", or "mounts[1].mode" with a member. */
void json_value_place(char out[FIELD_PLACE_SIZE], const struct field *f,
		      size_t i, const char *member);

/* Fails with "<place>: must be <want>, not a list". */
int json_value_wrong_type(const json_t *value, const char *want,
			  const char *place, struct remit_error *err);

/* Reads a string without NUL. *out is valid as long as `value`. */
int json_value_string(const json_t *value, const char **out, const char *place,
		      struct remit_error *err) must_check;

/* Converts a number of the field's type to the text of its flag. *text is
   `storage`, or the string in `value`. */
int json_value_number(const struct field *f, const json_t *value,
		      const char **text, char storage[JSON_VALUE_NUMBER_SIZE],
		      const char *place, struct remit_error *err) must_check;

/* Checks that an object has no members but `known`, which is NULL-terminated.
   `has` is the explanation in the error: "a mount has host, jail, mode and
   max_bytes". */
int json_value_members(const json_t *object, const char *const *known,
		       const char *has, const char *place,
		       struct remit_error *err) must_check;

/* Checks that a value is a list that is not too long. */
int json_value_array(const struct field *f, const json_t *value,
		     struct remit_error *err) must_check;

#endif
