#include "policy/edit.h"

#include <string.h>

#include "policy/json_place.h"

#define DUMP (JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))

/* Writes the document with the text from start to end replaced by `middle`. */
static int
edit_splice(const struct buf *document, const char *start, const char *end,
	    const char *middle, struct buf *out)
{
	const char *text = buf_text(document);

	if (buf_add(out, text, (size_t)(start - text)) < 0 ||
	    buf_add(out, middle, strlen(middle)) < 0)
		return -1;
	return buf_add(out, end, (size_t)(text + document->len - end));
}

/* Adds an item after the last one, with the same blanks before it. If there are
   none before the only item, adds one blank. */
static int
edit_add_item(const struct buf *document, struct json_span container,
	      const char *item, struct buf *out)
{
	own(buf) struct buf middle = BUF_INIT(out->cap);
	struct json_span last, blanks;
	static const char one[] = " ";

	if (!json_place_last(container, &last))
		return edit_splice(document, container.start + 1,
				   container.start + 1, item, out);
	blanks = (struct json_span){ last.start, last.start };
	while (strchr(" \t\r\n", blanks.start[-1]))
		blanks.start--;
	if (blanks.start == blanks.end && blanks.start[-1] != ',')
		blanks = (struct json_span){ one, one + 1 };
	if (buf_addf(&middle, ",%.*s%s", (int)(blanks.end - blanks.start),
		     blanks.start, item) < 0)
		return -1;
	return edit_splice(document, last.end, last.end, buf_text(&middle),
			   out);
}

/* Adds the whole value of a field that the document does not have. */
static int
edit_add_member(const struct buf *document, struct json_span all,
		const struct field *f, const struct policy *wanted,
		struct buf *out)
{
	own(buf) struct buf item = BUF_INIT(out->cap);
	json_auto_t *value = field_to_json(wanted, f);
	own_mem char *text = value ? json_dumps(value, DUMP) : NULL;

	if (!text || buf_addf(&item, "\"%s\": %s", f->name, text) < 0)
		return -1;
	return edit_add_item(document, all, buf_text(&item), out);
}

static int
edit_add_entry(const struct buf *document, struct json_span list,
	       const struct field *f, const struct policy *wanted,
	       struct buf *out)
{
	json_auto_t *value = field_to_json(wanted, f);
	json_t *newest = json_array_get(value, json_array_size(value) - 1);
	own_mem char *text = newest ? json_dumps(newest, DUMP) : NULL;

	return text ? edit_add_item(document, list, text, out) : -1;
}

static int
write_document(const struct buf *document, const struct field *f,
	       const struct policy *wanted, struct buf *out)
{
	struct json_span value, all = {
		.start = buf_text(document),
		.end = buf_text(document) + document->len,
	};

	all.start += strspn(all.start, " \t\r\n");
	if (!json_place_value(all, f->name, &value))
		return edit_add_member(document, all, f, wanted, out);
	if (field_is_switch(f))
		return edit_splice(document, value.start, value.end, "true",
				   out);
	return edit_add_entry(document, value, f, wanted, out);
}

static int
read_document(struct policy *p, const struct buf *document,
	      struct remit_error *err)
{
	if (policy_init(p) < 0)
		return fail_memory(err, "policy document");
	return policy_parse(p, buf_text(document), document->len,
			    "policy document", err);
}

static bool
policies_are_equal(const struct policy *a, const struct policy *b)
{
	json_auto_t *one = policy_to_json(a);
	json_auto_t *two = policy_to_json(b);

	return one && two && json_equal(one, two);
}

int
policy_edit_grant(const struct buf *document, const struct field *f,
		  const char *text, struct buf *out, struct remit_error *err)
{
	own(policy) struct policy wanted = { 0 }, got = { 0 };

	if (!field_is_switch(f) && f->type != FIELD_LIST &&
	    f->type != FIELD_PATHS)
		return fail(err, REMIT_E_INPUT,
			    "%s is neither a list nor a switch", f->name);
	if (read_document(&wanted, document, err) < 0 ||
	    field_set_text(&wanted, f, text, err) < 0)
		return -1;
	if (write_document(document, f, &wanted, out) < 0)
		return fail_memory(err, "policy document");
	if (read_document(&got, out, err) < 0)
		return -1;
	if (!policies_are_equal(&wanted, &got))
		return fail(err, REMIT_E_INTERNAL,
			    "%s: the edited document does not have the "
			    "expected value",
			    f->name);
	return 0;
}
