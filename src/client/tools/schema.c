/* Reads schemas and refuses unsupported ones. The rules for values are in
   schema_check.c. */
#include "client/tools/schema_part.h"

#include <string.h>

#define DEPTH_MAX 64
#define PARTS_MAX 2000

/* The state of reading a schema. */
struct reading {
	const json_t *root;
	struct remit_error *err;
	const json_t *parts[PARTS_MAX]; /* all sub-schemas */
	size_t count;
	unsigned depth;
};

static int read_part(struct reading *r, const json_t *part);

static int
wrong_form(struct reading *r, const char *keyword, const char *wanted)
{
	return fail(r->err, REMIT_E_INPUT, "\"%s\" must be %s", keyword,
		    wanted);
}

/* ---- the values of keywords ---- */

static int
read_text(struct reading *r, const char *keyword, const json_t *v)
{
	return json_is_string(v) ? 0 : wrong_form(r, keyword, "a text");
}

static int
read_anything(struct reading *r, const char *keyword, const json_t *v)
{
	(void)r;
	(void)keyword;
	(void)v;
	return 0;
}

static bool
is_type_name(const json_t *v)
{
	for (size_t i = 0; json_is_string(v) && schema_types[i]; i++)
		if (!strcmp(json_string_value(v), schema_types[i]))
			return true;
	return false;
}

static int
read_type(struct reading *r, const char *keyword, const json_t *v)
{
	const json_t *name;
	size_t i;

	if (is_type_name(v))
		return 0;
	if (!json_array_size(v))
		return wrong_form(r, keyword,
				  "the name of a type, or a list of names");
	json_array_foreach(v, i, name) if (
		!is_type_name(
			name)) return wrong_form(r, keyword,
						 "a list of names of types");
	return 0;
}

static int
read_names(struct reading *r, const char *keyword, const json_t *v)
{
	const json_t *name;
	size_t i;

	if (!json_is_array(v))
		return wrong_form(r, keyword, "a list of names");
	json_array_foreach(v, i, name) if (
		!json_is_string(name)) return wrong_form(r, keyword,
							 "a list of names");
	return 0;
}

static int
read_values(struct reading *r, const char *keyword, const json_t *v)
{
	return json_array_size(v) ? 0
				  : wrong_form(r, keyword, "a list of values");
}

static int
read_number(struct reading *r, const char *keyword, const json_t *v)
{
	return json_is_number(v) ? 0 : wrong_form(r, keyword, "a number");
}

static int
read_length(struct reading *r, const char *keyword, const json_t *v)
{
	return json_is_integer(v) && json_integer_value(v) >= 0
		       ? 0
		       : wrong_form(r, keyword, "an integer of at least 0");
}

static int
read_schema(struct reading *r, const char *keyword, const json_t *v)
{
	return read_part(r, v) < 0 ? fail_within(r->err, "%s", keyword) : 0;
}

static int
read_schemas(struct reading *r, const char *keyword, const json_t *v)
{
	const json_t *part;
	size_t i;

	if (!json_array_size(v))
		return wrong_form(r, keyword, "a list of schemas");
	json_array_foreach(v, i, part) if (read_part(r, part) <
					   0) return fail_within(r->err,
								 "%s[%zu]",
								 keyword, i);
	return 0;
}

static int
read_named_schemas(struct reading *r, const char *keyword, const json_t *v)
{
	const char *name;
	json_t *part;

	if (!json_is_object(v))
		return wrong_form(r, keyword, "an object of schemas");
	json_object_foreach((json_t *)v, name,
			    part) if (read_part(r, part) <
				      0) return fail_within(r->err, "%s.%.60s",
							    keyword, name);
	return 0;
}

/* ---- the keywords ---- */

static const struct keyword {
	const char *name;
	int (*read)(struct reading *r, const char *keyword, const json_t *v);
	schema_rule *rule;
} keywords[] = {
	{ "type", read_type, schema_is_type },
	{ "properties", read_named_schemas, schema_has_properties },
	{ "required", read_names, schema_has_required },
	{ "additionalProperties", read_schema, schema_has_no_more },
	{ "enum", read_values, schema_is_in_enum },
	{ "const", read_anything, schema_is_const },
	{ "items", read_schema, schema_items_fit },
	{ "minimum", read_number, schema_is_minimum },
	{ "maximum", read_number, schema_is_maximum },
	{ "exclusiveMinimum", read_number, schema_is_above },
	{ "exclusiveMaximum", read_number, schema_is_below },
	{ "minLength", read_length, schema_is_min_length },
	{ "maxLength", read_length, schema_is_max_length },
	{ "minItems", read_length, schema_is_min_items },
	{ "maxItems", read_length, schema_is_max_items },
	{ "minProperties", read_length, schema_is_min_properties },
	{ "maxProperties", read_length, schema_is_max_properties },
	{ "anyOf", read_schemas, schema_fits_any },
	{ "$ref", read_text, schema_fits_ref },
	/* definitions, to which $ref may refer */
	{ "$defs", read_named_schemas, NULL },
	{ "definitions", read_named_schemas, NULL },
	/* annotations, which are not checked */
	{ "title", read_text, NULL },
	{ "description", read_text, NULL },
	{ "$comment", read_text, NULL },
	{ "$schema", read_text, NULL },
	{ "default", read_anything, NULL },
	{ "examples", read_anything, NULL },
	{ "deprecated", read_anything, NULL },
};

static const struct keyword *
find_keyword(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		if (!strcmp(keywords[i].name, name))
			return &keywords[i];
	return NULL;
}

schema_rule *
schema_rule_of(const char *keyword)
{
	const struct keyword *k = find_keyword(keyword);

	return k ? k->rule : NULL;
}

static int
read_keywords(struct reading *r, const json_t *part)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)part, name, v)
	{
		const struct keyword *k = find_keyword(name);

		if (!k)
			return fail(
				r->err, REMIT_E_INPUT,
				"Remit does not check the keyword \"%.60s\": "
				"remove it, and check the argument in the tool",
				name);
		if (k->read(r, name, v) < 0)
			return -1;
	}
	return 0;
}

static int
read_part(struct reading *r, const json_t *part)
{
	int failed;

	if (json_is_boolean(part))
		return 0;
	if (!json_is_object(part))
		return fail(r->err, REMIT_E_INPUT,
			    "a schema must be an object");
	if (r->depth == DEPTH_MAX || r->count == PARTS_MAX)
		return fail(
			r->err, REMIT_E_INPUT,
			"the schema has more than %d levels or %d sub-schemas",
			DEPTH_MAX, PARTS_MAX);
	r->parts[r->count++] = part;
	r->depth++;
	failed = read_keywords(r, part);
	r->depth--;
	return failed;
}

/* ---- references ---- */

/* Read one name of a JSON pointer (RFC 6901), up to the next slash. */
static bool
read_name(const char **at, char *out, size_t size)
{
	size_t n = 0;

	for (; **at && **at != '/'; (*at)++) {
		char c = **at;

		if (c == '~') {
			(*at)++;
			if (**at != '0' && **at != '1')
				return false;
			c = **at == '0' ? '~' : '/';
		}
		if (n + 1 == size || c == '%')
			return false;
		out[n++] = c;
	}
	out[n] = '\0';
	return true;
}

static const json_t *
step_into(const json_t *in, const char *name)
{
	char *end;
	unsigned long i;

	if (json_is_object(in))
		return json_object_get(in, name);
	i = strtoul(name, &end, 10);
	return *name && !*end ? json_array_get(in, i) : NULL;
}

const json_t *
schema_resolve(const json_t *root, const char *ref)
{
	const json_t *at = root;
	char name[256];

	if (*ref++ != '#')
		return NULL;
	while (at && *ref == '/') {
		ref++;
		at = read_name(&ref, name, sizeof(name)) ? step_into(at, name)
							 : NULL;
	}
	return *ref ? NULL : at;
}

static const json_t *
ref_target(const struct reading *r, const json_t *part)
{
	const json_t *ref = json_object_get(part, "$ref");

	return ref ? schema_resolve(r->root, json_string_value(ref)) : NULL;
}

static bool
is_part(const struct reading *r, const json_t *v)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->parts[i] == v)
			return true;
	return json_is_boolean(v);
}

/*
 * Returns true if a schema refers to itself without a step into the value:
 * checking a value would never end. `way` is the number of references so far;
 * more references than schemas mean a circle.
 */
static bool
is_circular(const struct reading *r, const json_t *part, size_t way,
	    size_t *work)
{
	const json_t *branch, *next = ref_target(r, part);
	size_t i;

	if (way > r->count || ++*work > (size_t)PARTS_MAX * 100)
		return true;
	if (next && is_circular(r, next, way + 1, work))
		return true;
	json_array_foreach(
		json_object_get(part, "anyOf"), i,
		branch) if (is_circular(r, branch, way + 1, work)) return true;
	return false;
}

static int
check_refs(struct reading *r)
{
	for (size_t i = 0; i < r->count; i++) {
		const json_t *ref = json_object_get(r->parts[i], "$ref");
		size_t work = 0;

		if (ref && !is_part(r, ref_target(r, r->parts[i])))
			return fail(r->err, REMIT_E_INPUT,
				    "\"$ref\": \"%.80s\" is not the place of a "
				    "schema in this document",
				    json_string_value(ref));
		if (is_circular(r, r->parts[i], 0, &work))
			return fail(r->err, REMIT_E_INPUT,
				    "\"$ref\": a schema refers to itself");
	}
	return 0;
}

/* ---- the complete schema ---- */

/* Arguments are always an object, so the schema must allow objects. */
static int
check_root(const json_t *root, struct remit_error *err)
{
	const json_t *type = json_object_get(root, "type"), *name;
	size_t i;

	if (!json_is_object(root))
		return fail(err, REMIT_E_INPUT, "a schema must be an object");
	if (json_is_string(type) && !strcmp(json_string_value(type), "object"))
		return 0;
	json_array_foreach(type, i, name)
	{
		if (!strcmp(json_string_value(name), "object"))
			return 0;
	}
	return !type ? 0
		     : fail(err, REMIT_E_INPUT,
			    "arguments are an object, so \"type\" must allow "
			    "\"object\"");
}

static json_t *
load_schema(const char *text, struct remit_error *err)
{
	json_error_t where;
	json_t *root;

	if (strlen(text) > SCHEMA_MAX_BYTES) {
		fail(err, REMIT_E_INPUT, "the schema has more than %d bytes",
		     SCHEMA_MAX_BYTES);
		return NULL;
	}
	root = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
			  &where);
	if (!root)
		fail(err, REMIT_E_INPUT,
		     "the schema is not valid JSON: line %d: %s", where.line,
		     where.text);
	return root;
}

int
schema_read(struct schema *s, const char *text, struct remit_error *err)
{
	json_auto_t *root = load_schema(text, err);
	own_mem struct reading *r = NULL;

	if (!root)
		return -1;
	r = calloc(1, sizeof(*r));
	if (!r)
		return fail_memory(err, "schema");
	r->root = root;
	r->err = err;
	if (read_part(r, root) < 0 || check_refs(r) < 0 ||
	    check_root(root, err) < 0)
		return -1;
	s->root = json_incref(root);
	return 0;
}

void
schema_free(struct schema *s)
{
	json_decref(s->root);
	s->root = NULL;
}
