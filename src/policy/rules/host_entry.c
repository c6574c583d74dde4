#include "policy/rules/host_entry.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/net/address.h"
#include "policy/json_value.h"

/* No member may contain the separators of the text form. */
static int
read_word(const json_t *value, const char **out, const char *place,
	  struct remit_error *err)
{
	char shown[QUOTE_SIZE];

	if (json_value_string(value, out, place, err) < 0)
		return -1;
	if (!**out || strpbrk(*out, ":,+=[]"))
		return fail(err, REMIT_E_INPUT,
			    "%s: %s is empty or contains one of : , + = [ ]",
			    place, quote(shown, *out));
	return 0;
}

static int
add_host(struct buf *out, const json_t *value, const char *place,
	 struct remit_error *err)
{
	const char *text;
	struct address a;

	if (json_value_string(value, &text, place, err) < 0)
		return -1;
	if (address_read(text, &a) == 0 && a.is_v6)
		return buf_addf(out, "[%s]", text);
	if (read_word(value, &text, place, err) < 0)
		return -1;
	return buf_addf(out, "%s", text);
}

static int
add_port(struct buf *out, const json_t *value, const char *place,
	 struct remit_error *err)
{
	if (!json_is_integer(value))
		return json_value_wrong_type(value, "a number", place, err);
	/* The colon after the port begins the words; end_entry() removes it if
	   there are none. */
	return buf_addf(out, ":%lld:", (long long)json_integer_value(value));
}

static int
add_kind(struct buf *out, const json_t *value, const char *place,
	 struct remit_error *err)
{
	const char *text;

	if (read_word(value, &text, place, err) < 0)
		return -1;
	if (strcmp(text, "tls") != 0 && strcmp(text, "plain") != 0 &&
	    strcmp(text, "tcp") != 0)
		return fail(err, REMIT_E_INPUT,
			    "%s: is not one of tls, plain, tcp", place);
	return buf_addf(out, "%s,", text);
}

static int
add_private(struct buf *out, const json_t *value, const char *place,
	    struct remit_error *err)
{
	if (!json_is_boolean(value))
		return json_value_wrong_type(value, "true or false", place,
					     err);
	return json_is_true(value) ? buf_addf(out, "private,") : 0;
}

static int
add_public(struct buf *out, const json_t *value, const char *place,
	   struct remit_error *err)
{
	if (!json_is_boolean(value))
		return json_value_wrong_type(value, "true or false", place,
					     err);
	return json_is_true(value) ? buf_addf(out, "public,") : 0;
}

static int
add_methods(struct buf *out, const json_t *value, const char *place,
	    struct remit_error *err)
{
	const char *text;
	json_t *one;
	size_t i;

	if (!json_is_array(value) || !json_array_size(value))
		return json_value_wrong_type(value, "a list of methods", place,
					     err);
	json_array_foreach(value, i, one)
	{
		if (read_word(one, &text, place, err) < 0)
			return -1;
		if (buf_addf(out, "%s%s", i ? "+" : "methods=", text) < 0)
			return -1;
	}
	return buf_addf(out, ",");
}

static int
add_number(struct buf *out, const char *word, const json_t *value,
	   const char *place, struct remit_error *err)
{
	const char *text;

	if (json_is_integer(value))
		return buf_addf(out, "%s=%lld,", word,
				(long long)json_integer_value(value));
	if (read_word(value, &text, place, err) < 0)
		return -1;
	return buf_addf(out, "%s=%s,", word, text);
}

static int
add_bytes(struct buf *out, const json_t *value, const char *place,
	  struct remit_error *err)
{
	return add_number(out, "bytes", value, place, err);
}

static int
add_connections(struct buf *out, const json_t *value, const char *place,
		struct remit_error *err)
{
	return add_number(out, "connections", value, place, err);
}

static const struct member {
	const char *name;
	bool needed;
	int (*add)(struct buf *out, const json_t *value, const char *place,
		   struct remit_error *err);
} members[] = {
	{ .name = "host", .needed = true, .add = add_host },
	{ .name = "port", .needed = true, .add = add_port },
	{ .name = "kind", .add = add_kind },
	{ .name = "private", .add = add_private },
	{ .name = "public", .add = add_public },
	{ .name = "methods", .add = add_methods },
	{ .name = "bytes", .add = add_bytes },
	{ .name = "connections", .add = add_connections },
};

/* Removes the comma after the last word, or the colon after the port. */
static int
end_entry(struct buf *out)
{
	out->len--;
	return buf_add(out, "", 0);
}

int
host_entry_text(const json_t *object, const char *place, struct buf *out,
		struct remit_error *err)
{
	static const char *const known[] = {
		"host",	   "port",  "kind",	   "private", "public",
		"methods", "bytes", "connections", NULL
	};
	char member[FIELD_PLACE_SIZE];

	if (json_value_members(object, known,
			       "an entry has host, port, kind, private, "
			       "public, methods, bytes and connections",
			       place, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *value = json_object_get(object, members[i].name);

		snprintf(member, sizeof(member), "%s.%s", place,
			 members[i].name);
		if (!value && members[i].needed)
			return fail(err, REMIT_E_INPUT, "%s: is missing",
				    member);
		*err = (struct remit_error){ 0 };
		if (value && members[i].add(out, value, member, err) < 0)
			return err->code ? -1 : fail_memory(err, place);
	}
	return end_entry(out);
}
