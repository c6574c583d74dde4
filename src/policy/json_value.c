#include "policy/json_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static const char *
type_name(const json_t *value)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",
		[JSON_STRING] = "a string",  [JSON_INTEGER] = "a number",
		[JSON_REAL] = "a number",    [JSON_TRUE] = "true",
		[JSON_FALSE] = "false",	     [JSON_NULL] = "null",
	};

	return names[json_typeof(value)];
}

int
json_value_wrong_type(const json_t *value, const char *want, const char *place,
		      struct remit_error *err)
{
	return fail(err, REMIT_E_INPUT, "%s: must be %s, not %s", place, want,
		    type_name(value));
}

/* C strings end at a NUL: the text after it would be lost. */
int
json_value_string(const json_t *value, const char **out, const char *place,
		  struct remit_error *err)
{
	const char *text = json_string_value(value);

	if (!text)
		return json_value_wrong_type(value, "a string", place, err);
	if (strlen(text) != json_string_length(value))
		return fail(err, REMIT_E_INPUT,
			    "%s: the string contains a NUL character", place);
	*out = text;
	return 0;
}

/*
 * Writes seconds as decimal text, so that 0.1 is exactly 100 ms. Does not use
 * %f, which writes the decimal point of the host program's locale.
 */
static int
real_to_text(double seconds, char out[JSON_VALUE_NUMBER_SIZE],
	     const char *place, struct remit_error *err)
{
	long long micros;

	if (!(seconds > -1e9 && seconds < 1e9))
		return fail(err, REMIT_E_INPUT, "%s: the number is too large",
			    place);
	micros = llround(fabs(seconds) * 1e6);
	snprintf(out, JSON_VALUE_NUMBER_SIZE, "%s%lld.%06lld",
		 seconds < 0 ? "-" : "", micros / 1000000, micros % 1000000);
	return 0;
}

static const char *
number_form(const struct field *f)
{
	if (f->type == FIELD_BYTES)
		return "a whole number of bytes, or a string like \"512M\"";
	if (f->type == FIELD_TIME)
		return "a number of seconds, or a string like \"1.5s\"";
	return "a whole number";
}

int
json_value_number(const struct field *f, const json_t *value, const char **text,
		  char storage[JSON_VALUE_NUMBER_SIZE], const char *place,
		  struct remit_error *err)
{
	*text = storage;
	if (json_is_integer(value)) {
		snprintf(storage, JSON_VALUE_NUMBER_SIZE,
			 "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		return 0;
	}
	if (json_is_real(value) && f->type == FIELD_TIME)
		return real_to_text(json_real_value(value), storage, place,
				    err);
	if (json_is_real(value))
		return fail(err, REMIT_E_INPUT, "%s: must be %s", place,
			    number_form(f));
	/* A count has no unit, so the only string is "unlimited". */
	if (json_is_string(value) &&
	    (f->type != FIELD_COUNT ||
	     (f->may_be_unlimited &&
	      !strcmp(json_string_value(value), "unlimited"))))
		return json_value_string(value, text, place, err);
	return json_value_wrong_type(value, number_form(f), place, err);
}

int
json_value_array(const struct field *f, const json_t *value,
		 struct remit_error *err)
{
	if (!json_is_array(value))
		return json_value_wrong_type(value, "a list", f->name, err);
	if (json_array_size(value) > FIELD_MAX_ENTRIES)
		return fail(err, REMIT_E_INPUT, "%s: at most %d entries",
			    f->name, FIELD_MAX_ENTRIES);
	return 0;
}

void
json_value_place(char out[FIELD_PLACE_SIZE], const struct field *f, size_t i,
		 const char *member)
{
	snprintf(out, FIELD_PLACE_SIZE, "%s[%zu]%s%s", f->name, i,
		 *member ? "." : "", member);
}

int
json_value_members(const json_t *object, const char *const *known,
		   const char *has, const char *place, struct remit_error *err)
{
	char shown[QUOTE_SIZE];
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)object, name, value)
	{
		size_t i = 0;

		while (known[i] && strcmp(known[i], name) != 0)
			i++;
		if (!known[i])
			return fail(err, REMIT_E_INPUT,
				    "%s: unknown member %s: %s", place,
				    quote(shown, name), has);
	}
	return 0;
}
