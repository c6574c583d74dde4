#include "keeper/output/claim.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "wire/record.h"

void
claim_free(struct claim *c)
{
	json_decref(c->error);
	free(c->denied_path);
	free(c->missing_module);
	*c = (struct claim){ 0 };
}

json_t *
claim_error_new(void)
{
	return json_pack("{s:s, s:s, s:s, s:n, s:n, s:n, s:[], s:[]}", "name",
			 "", "value", "", "traceback", "", "line", "column",
			 "text", "frames", "findings");
}

static void
set_number(json_t *to, const char *key, const char *value)
{
	uint64_t number;

	if (number_parse(&number, value) == 0 && number <= INT32_MAX)
		json_object_set_new(to, key, json_integer((json_int_t)number));
}

static void
set_text(json_t *to, const char *key, const char *value)
{
	json_object_set_new(to, key, text_to_json(value, strlen(value)));
}

/* The lists of a claim. The record "frame_line" starts a new member of
   "frames", and the "frame_" records after it belong to that member. */
static const struct claim_list {
	const char *prefix, *list;
	const char *texts[4];
	bool column;
} claim_lists[] = {
	{ "frame_", "frames", { "name", "text" }, false },
	{ "finding_", "findings", { "name", "value", "rule", "hint" }, true },
};

static json_t *
new_member(const struct claim_list *l)
{
	json_t *member = json_pack("{s:n}", "line");

	if (l->column)
		json_object_set_new(member, "column", json_null());
	for (size_t i = 0; i < ARRAY_LEN(l->texts) && l->texts[i]; i++)
		json_object_set_new(member, l->texts[i], json_string(""));
	return member;
}

static void
set_member(const struct claim_list *l, json_t *all, const char *key,
	   const char *value)
{
	json_t *last = json_array_get(all, json_array_size(all) - 1);

	if (!strcmp(key, "line")) {
		last = new_member(l);
		set_number(last, key, value);
		json_array_append_new(all, last);
		return;
	}
	if (last && l->column && !strcmp(key, "column"))
		set_number(last, key, value);
	for (size_t i = 0; last && i < ARRAY_LEN(l->texts) && l->texts[i]; i++)
		if (!strcmp(key, l->texts[i]))
			set_text(last, key, value);
}

static void
set_error(json_t *error, const struct record *r)
{
	static const char *const texts[] = { "name", "value", "traceback",
					     "text" };

	if (!strcmp(r->key, "line") || !strcmp(r->key, "column"))
		set_number(error, r->key, r->value);
	for (size_t i = 0; i < ARRAY_LEN(claim_lists); i++) {
		const struct claim_list *l = &claim_lists[i];
		size_t n = strlen(l->prefix);

		if (!strncmp(r->key, l->prefix, n))
			set_member(l, json_object_get(error, l->list),
				   r->key + n, r->value);
	}
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (!strcmp(r->key, texts[i]))
			set_text(error, r->key, r->value);
}

static json_t *
parse_error(const char *payload, size_t len)
{
	json_t *error = claim_error_new();
	struct record r;
	size_t at = 0;

	while (record_next(payload, len, &at, &r))
		set_error(error, &r);
	return error;
}

static void
parse_denied(struct claim *c, const struct record *r)
{
	uint64_t number;

	if (!strcmp(r->key, "denied_path") && !c->denied_path)
		c->denied_path = strdup(r->value);
	else if (!strcmp(r->key, "denied_errno") &&
		 number_parse(&number, r->value) == 0 && number <= INT32_MAX)
		c->denied_errno = (int)number;
	else if (!strcmp(r->key, "denied_execution"))
		c->denied_execution = true;
}

static void
parse_missing(struct claim *c, const struct record *r)
{
	if (!strcmp(r->key, "missing_module") && !c->missing_module)
		c->missing_module = strdup(r->value);
}

void
claim_add_remedy(struct claim *c, const char *text)
{
	json_object_set_new(c->error, "remedy", json_string(text));
}

void
claim_add_package(struct claim *c, const char *package,
		  enum claim_install install)
{
	static const struct {
		const char *before, *after;
	} ways[] = {
		[CLAIM_INSTALL_BEFORE] = { "Try --package ", "" },
		[CLAIM_INSTALL_CALL] = { "Call install_packages(\"", "\")" },
		[CLAIM_INSTALL_LINE] = { "Write %pip install ", "" },
	};

	json_object_set_new(c->error, "package", json_string(package));
	json_object_set_new(
		c->error, "remedy",
		json_sprintf("%s is not installed. %s%s%s, or add \"%s\" to "
			     "the policy's packages.",
			     c->missing_module, ways[install].before, package,
			     ways[install].after, package));
}

int
claim_parse_checked(struct claim *c, const char *payload, size_t len,
		    struct remit_error *err)
{
	struct record r;
	size_t at = 0;

	if (record_check(payload, len, err) < 0)
		return -1;
	if (!len)
		return 0;
	claim_free(c);
	c->kind = CLAIM_REJECTED;
	c->error = parse_error(payload, len);
	while (record_next(payload, len, &at, &r))
		parse_missing(c, &r);
	return 0;
}

int
claim_parse_ended(struct claim *c, const char *payload, size_t len,
		  struct remit_error *err)
{
	static const struct {
		const char *word;
		enum claim_kind kind;
	} kinds[] = {
		{ "ok", CLAIM_OK },
		{ "error", CLAIM_ERROR },
		{ "exit", CLAIM_EXIT },
	};
	struct claim parsed = { 0 };
	struct record r;
	uint64_t code;
	size_t at = 0;

	if (record_check(payload, len, err) < 0)
		return -1;
	while (record_next(payload, len, &at, &r)) {
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			if (!strcmp(r.key, "kind") &&
			    !strcmp(r.value, kinds[i].word))
				parsed.kind = kinds[i].kind;
		if (!strcmp(r.key, "exit") &&
		    number_parse(&code, r.value) == 0 && code <= 255) {
			parsed.has_exit_code = true;
			parsed.exit_code = (int)code;
		}
		parsed.incomplete |= !strcmp(r.key, "incomplete");
		parse_denied(&parsed, &r);
		parse_missing(&parsed, &r);
	}
	if (parsed.kind == CLAIM_NONE) {
		claim_free(&parsed);
		return fail(err, REMIT_E_PROTOCOL,
			    "the report of an end has an unknown kind");
	}
	if (parsed.kind == CLAIM_ERROR)
		parsed.error = parse_error(payload, len);
	claim_free(c);
	*c = parsed;
	return 0;
}
