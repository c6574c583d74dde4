/*
 * field_check: what a value of each type must look like, whether it comes
 * from a flag or from JSON.
 *
 * `place` names the value in messages: "memory_bytes", "tools[3]", "--env".
 */
#ifndef REMIT_FIELD_CHECK_H
#define REMIT_FIELD_CHECK_H

#include "policy/fields/field.h"

#define FIELD_MAX_ENTRIES 256
#define FIELD_MAX_TEXT	  (64 * 1024)

/* Room for "artifact_export_paths[255].max_bytes" and for "env." with a
   quoted name. */
#define FIELD_PLACE_SIZE 96

/* A number with its unit, or the word "unlimited" where that is allowed. */
int field_check_number(const struct field *f, const char *text, uint64_t *out,
		       const char *place, struct remit_error *err) must_check;
int field_check_choice(const struct field *f, const char *text, uint64_t *out,
		       const char *place, struct remit_error *err) must_check;
int field_check_mode(const char *text, enum mount_mode *out, const char *place,
		     struct remit_error *err) must_check;
/* Not empty, not longer than FIELD_MAX_TEXT, and UTF-8. */
int field_check_text(const char *text, const char *place,
		     struct remit_error *err) must_check;
/* JSON could not carry anything else to the keeper. */
int field_check_utf8(const char *text, const char *place,
		     struct remit_error *err) must_check;
/* A name of letters, digits and _ that starts with no digit. */
int field_check_env_name(const char *name, size_t len, const char *place,
			 struct remit_error *err) must_check;
/* There is room for one more entry behind `count`. */
int field_check_room(size_t count, const char *place,
		     struct remit_error *err) must_check;

/* Set NAME=VALUE, in the place of an older value of the same name. */
int field_put_env(struct list *env, const char *name, size_t name_len,
		  const char *value, const char *place,
		  struct remit_error *err) must_check;

/* Remember that something other than a default has set the field. */
void field_mark(struct policy *p, const struct field *f);

int field_no_memory(const char *place, struct remit_error *err) must_check;

#endif
