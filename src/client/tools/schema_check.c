/*
 * schema_check: checks values against schemas, with one function for each
 * keyword.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/tools/schema_part.h"

/* Recursive schemas with alternatives could take exponential time. */
#define STEPS_MAX 200000
#define DEPTH_MAX 1000

const char *const schema_types[] = {
	"object", "array",   "string", "integer",
	"number", "boolean", "null",   NULL,
};

/* ---- error messages ---- */

static bool __attribute__((format(printf, 2, 3)))
mismatch(struct schema_look *l, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fail(l->err, REMIT_E_INPUT, "%s: %s", l->place, text);
	return false;
}

static size_t __attribute__((format(printf, 2, 3)))
path_push(struct schema_look *l, const char *fmt, ...)
{
	size_t before = l->place_len;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(l->place + before, sizeof(l->place) - before, fmt, args);
	va_end(args);
	l->place_len += (size_t)n;
	if (l->place_len >= sizeof(l->place))
		l->place_len = sizeof(l->place) - 1;
	return before;
}

static void
path_pop(struct schema_look *l, size_t before)
{
	l->place_len = before;
	l->place[before] = '\0';
}

/* ---- any value ---- */

static bool
value_fits(struct schema_look *l, const json_t *schema, const json_t *value)
{
	bool good = true;
	const char *name;
	json_t *of;

	if (json_is_true(schema))
		return true;
	if (json_is_false(schema))
		return mismatch(l, "no value is allowed here");
	if (l->depth == DEPTH_MAX || ++l->steps > STEPS_MAX) {
		l->gave_up = true;
		return mismatch(l, "too deep or too long to be checked");
	}
	l->depth++;
	json_object_foreach((json_t *)schema, name, of)
	{
		schema_rule *rule = schema_rule_of(name);

		if (rule && !rule(l, schema, of, value)) {
			good = false;
			break;
		}
	}
	l->depth--;
	return good;
}

static bool
is_whole(const json_t *v)
{
	return json_is_integer(v) ||
	       (json_is_real(v) &&
		floor(json_real_value(v)) == json_real_value(v));
}

static bool
is_a(const json_t *v, const char *type)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return !strcmp(type, "object");
	case JSON_ARRAY:
		return !strcmp(type, "array");
	case JSON_STRING:
		return !strcmp(type, "string");
	case JSON_INTEGER:
	case JSON_REAL:
		return !strcmp(type, "number") ||
		       (!strcmp(type, "integer") && is_whole(v));
	case JSON_TRUE:
	case JSON_FALSE:
		return !strcmp(type, "boolean");
	default:
		return !strcmp(type, "null");
	}
}

static const char *
type_name(const json_t *v)
{
	size_t i = 0;

	while (!is_a(v, schema_types[i]))
		i++;
	return schema_types[i];
}

bool
schema_is_type(struct schema_look *l, const json_t *schema, const json_t *of,
	       const json_t *value)
{
	char names[128] = "";
	const json_t *name;
	size_t i, n = 0;

	(void)schema;
	if (json_is_string(of))
		return is_a(value, json_string_value(of)) ||
		       mismatch(l, "must be of type %s, not %s",
				json_string_value(of), type_name(value));
	json_array_foreach(of, i, name)
	{
		if (is_a(value, json_string_value(name)))
			return true;
		if (n < sizeof(names))
			n += (size_t)snprintf(names + n, sizeof(names) - n,
					      "%s%s", n ? " or " : "",
					      json_string_value(name));
	}
	return mismatch(l, "must be of type %s, not %s", names,
			type_name(value));
}

/* Exact for all numbers of the parser: 64-bit integers and doubles. */
static long double
number_of(const json_t *v)
{
	return json_is_integer(v) ? (long double)json_integer_value(v)
				  : (long double)json_real_value(v);
}

static bool is_equal(const json_t *a, const json_t *b);

static bool
are_equal_objects(const json_t *a, const json_t *b)
{
	const char *name;
	json_t *v;

	if (json_object_size(a) != json_object_size(b))
		return false;
	json_object_foreach((json_t *)a, name, v)
	{
		const json_t *other = json_object_get(b, name);

		if (!other || !is_equal(v, other))
			return false;
	}
	return true;
}

static bool
are_equal_arrays(const json_t *a, const json_t *b)
{
	if (json_array_size(a) != json_array_size(b))
		return false;
	for (size_t i = 0; i < json_array_size(a); i++)
		if (!is_equal(json_array_get(a, i), json_array_get(b, i)))
			return false;
	return true;
}

/* The numbers 1 and 1.0 are equal. */
static bool
is_equal(const json_t *a, const json_t *b)
{
	if (json_is_number(a) && json_is_number(b))
		return number_of(a) == number_of(b);
	if (json_is_object(a) && json_is_object(b))
		return are_equal_objects(a, b);
	if (json_is_array(a) && json_is_array(b))
		return are_equal_arrays(a, b);
	return json_equal(a, b);
}

bool
schema_is_const(struct schema_look *l, const json_t *schema, const json_t *of,
		const json_t *value)
{
	(void)schema;
	return is_equal(of, value) || mismatch(l, "is not the required value");
}

bool
schema_is_in_enum(struct schema_look *l, const json_t *schema, const json_t *of,
		  const json_t *value)
{
	own_mem char *all = NULL;
	const json_t *one;
	size_t i;

	(void)schema;
	json_array_foreach(of, i, one) if (is_equal(one, value)) return true;
	all = json_dumps(of, JSON_COMPACT);
	return mismatch(l, "must be one of %.300s",
			all ? all : "the listed values");
}

bool
schema_fits_any(struct schema_look *l, const json_t *schema, const json_t *of,
		const json_t *value)
{
	const json_t *branch;
	size_t i;

	(void)schema;
	json_array_foreach(of, i, branch)
	{
		if (value_fits(l, branch, value))
			return true;
		if (l->gave_up)
			return false;
	}
	if (json_array_size(of) == 1)
		return false; /* the error is already set */
	return mismatch(l, "fits none of the %zu alternatives",
			json_array_size(of));
}

bool
schema_fits_ref(struct schema_look *l, const json_t *schema, const json_t *of,
		const json_t *value)
{
	(void)schema;
	return value_fits(l, schema_resolve(l->root, json_string_value(of)),
			  value);
}

/* ---- objects ---- */

static bool
fits_at(struct schema_look *l, const json_t *schema, const char *name,
	const json_t *value)
{
	size_t before = path_push(l, ".%.60s", name);
	bool good = value_fits(l, schema, value);

	path_pop(l, before);
	return good;
}

bool
schema_has_properties(struct schema_look *l, const json_t *schema,
		      const json_t *of, const json_t *value)
{
	const char *name;
	json_t *part;

	(void)schema;
	json_object_foreach((json_t *)of, name, part)
	{
		const json_t *v = json_object_get(value, name);

		if (v && !fits_at(l, part, name, v))
			return false;
	}
	return true;
}

bool
schema_has_required(struct schema_look *l, const json_t *schema,
		    const json_t *of, const json_t *value)
{
	const json_t *name;
	size_t i;

	(void)schema;
	json_array_foreach(of, i, name) if (
		json_is_object(value) &&
		!json_object_get(
			value,
			json_string_value(
				name))) return mismatch(l,
							"\"%.60s\" is missing",
							json_string_value(
								name));
	return true;
}

/* Check the members that "properties" does not name. */
bool
schema_has_no_more(struct schema_look *l, const json_t *schema,
		   const json_t *of, const json_t *value)
{
	const json_t *named = json_object_get(schema, "properties");
	const char *name;
	json_t *v;

	if (!json_is_object(value))
		return true;
	json_object_foreach((json_t *)value, name, v)
	{
		if (json_object_get(named, name))
			continue;
		if (json_is_false(of))
			return mismatch(l, "unknown name \"%.60s\"", name);
		if (!fits_at(l, of, name, v))
			return false;
	}
	return true;
}

/* ---- arrays ---- */

bool
schema_items_fit(struct schema_look *l, const json_t *schema, const json_t *of,
		 const json_t *value)
{
	const json_t *v;
	size_t i;

	(void)schema;
	json_array_foreach(value, i, v)
	{
		size_t before = path_push(l, "[%zu]", i);
		bool good = value_fits(l, of, v);

		path_pop(l, before);
		if (!good)
			return false;
	}
	return true;
}

/* ---- numbers and lengths ---- */

static bool
show_bound(struct schema_look *l, const char *words, const json_t *of)
{
	own_mem char *text =
		json_dumps(of, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

	return mismatch(l, "must be %s %.40s", words, text ? text : "a bound");
}

bool
schema_is_minimum(struct schema_look *l, const json_t *schema, const json_t *of,
		  const json_t *value)
{
	(void)schema;
	return !json_is_number(value) || number_of(value) >= number_of(of) ||
	       show_bound(l, "at least", of);
}

bool
schema_is_maximum(struct schema_look *l, const json_t *schema, const json_t *of,
		  const json_t *value)
{
	(void)schema;
	return !json_is_number(value) || number_of(value) <= number_of(of) ||
	       show_bound(l, "at most", of);
}

bool
schema_is_above(struct schema_look *l, const json_t *schema, const json_t *of,
		const json_t *value)
{
	(void)schema;
	return !json_is_number(value) || number_of(value) > number_of(of) ||
	       show_bound(l, "more than", of);
}

bool
schema_is_below(struct schema_look *l, const json_t *schema, const json_t *of,
		const json_t *value)
{
	(void)schema;
	return !json_is_number(value) || number_of(value) < number_of(of) ||
	       show_bound(l, "less than", of);
}

/* Count characters: all bytes except continuation bytes. The text is valid
   UTF-8. */
static size_t
string_length(const json_t *v)
{
	const char *bytes = json_string_value(v);
	size_t n = 0;

	for (size_t i = 0; i < json_string_length(v); i++)
		n += ((unsigned char)bytes[i] & 0xc0) != 0x80;
	return n;
}

static bool
is_least(struct schema_look *l, size_t have, const json_t *of, const char *what)
{
	return have >= (size_t)json_integer_value(of) ||
	       mismatch(l, "must have at least %lld %s, not %zu",
			(long long)json_integer_value(of), what, have);
}

static bool
is_most(struct schema_look *l, size_t have, const json_t *of, const char *what)
{
	return have <= (size_t)json_integer_value(of) ||
	       mismatch(l, "must have at most %lld %s, not %zu",
			(long long)json_integer_value(of), what, have);
}

bool
schema_is_min_length(struct schema_look *l, const json_t *schema,
		     const json_t *of, const json_t *value)
{
	(void)schema;
	return !json_is_string(value) ||
	       is_least(l, string_length(value), of, "characters");
}

bool
schema_is_max_length(struct schema_look *l, const json_t *schema,
		     const json_t *of, const json_t *value)
{
	(void)schema;
	return !json_is_string(value) ||
	       is_most(l, string_length(value), of, "characters");
}

bool
schema_is_min_items(struct schema_look *l, const json_t *schema,
		    const json_t *of, const json_t *value)
{
	(void)schema;
	return !json_is_array(value) ||
	       is_least(l, json_array_size(value), of, "items");
}

bool
schema_is_max_items(struct schema_look *l, const json_t *schema,
		    const json_t *of, const json_t *value)
{
	(void)schema;
	return !json_is_array(value) ||
	       is_most(l, json_array_size(value), of, "items");
}

bool
schema_is_min_properties(struct schema_look *l, const json_t *schema,
			 const json_t *of, const json_t *value)
{
	(void)schema;
	return !json_is_object(value) ||
	       is_least(l, json_object_size(value), of, "names");
}

bool
schema_is_max_properties(struct schema_look *l, const json_t *schema,
			 const json_t *of, const json_t *value)
{
	(void)schema;
	return !json_is_object(value) ||
	       is_most(l, json_object_size(value), of, "names");
}

int
schema_check(const struct schema *s, const json_t *value,
	     struct remit_error *err)
{
	struct schema_look l = {
		.root = s->root,
		.err = err,
		.place = "arguments",
		.place_len = strlen("arguments"),
	};

	return value_fits(&l, s->root, value) ? 0 : -1;
}
