#include "keeper/output/denial.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static bool
is_alike(const struct denial *a, const struct denial *b)
{
	return a->call == b->call && a->error == b->error &&
	       a->kind == b->kind && !strcmp(a->what, b->what) &&
	       !strcmp(a->text, b->text);
}

void
denials_add(struct denials *d, const struct denial *one)
{
	denials_add_many(d, one, 1);
}

void
denials_add_many(struct denials *d, const struct denial *one, uint64_t times)
{
	struct denial *rows;

	for (size_t i = 0; i < d->count; i++)
		if (is_alike(&d->rows[i], one)) {
			d->rows[i].count += times;
			return;
		}
	rows = d->count < DENIALS_MAX
		       ? realloc(d->rows, (d->count + 1) * sizeof(*rows))
		       : NULL;
	if (!rows) {
		d->left_out += times;
		return;
	}
	d->rows = rows;
	rows[d->count] = *one;
	rows[d->count++].count = times;
}

void
denials_free(struct denials *d)
{
	free(d->rows);
	*d = (struct denials){ 0 };
}

static json_t *
text_or_null(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

static json_t *
reported(const struct denial *d)
{
	static const char *const keys[] = {
		[DENIAL_PATH] = "path",
		[DENIAL_ADDRESS] = "address",
	};
	json_t *all = json_object();

	if (d->kind != DENIAL_NO_TEXT)
		json_object_set_new(all, keys[d->kind],
				    text_to_json(d->text, strlen(d->text)));
	if (d->error)
		json_object_set_new(all, "errno", json_string(d->error));
	return all;
}

static const char *
source(const struct denial *d)
{
	return d->by_proxy ? "proxy" : d->call ? "kernel" : "reported";
}

static json_t *
row(const struct denial *d)
{
	const struct field *f =
		d->field == FIELD_TOTAL ? NULL : &fields[d->field];
	char flag[DENIAL_FLAG] = "";

	if (f)
		snprintf(flag, sizeof(flag), "%s%s", d->flag[0] ? "" : "--",
			 d->flag[0] ? d->flag : f->short_name);
	return json_pack("{s:s, s:o, s:o, s:I, s:o, s:o, s:o}", "source",
			 source(d), "syscall", text_or_null(d->call), "what",
			 text_or_null(d->what), "count", (json_int_t)d->count,
			 "field", text_or_null(f ? f->name : NULL), "flag",
			 text_or_null(flag), "reported", reported(d));
}

int
denials_write(struct buf *out, const struct denials *d)
{
	if (buf_add(out, "[", 1) < 0)
		return -1;
	for (size_t i = 0; i < d->count; i++) {
		json_t *doc = row(&d->rows[i]);
		own_mem char *text = json_dumps(doc, JSON_COMPACT);

		json_decref(doc);
		if (!text || buf_addf(out, "%s%s", i ? "," : "", text) < 0)
			return -1;
	}
	return buf_addf(out, "]");
}
