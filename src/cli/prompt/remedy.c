#include "cli/prompt/remedy.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/report/result_lines.h"
#include "cli/report/screen.h"
#include "jail/probe/discover.h"
#include "policy/plan/plan.h"
#include "policy/rules/path_rule.h"

/* A text in a denial has at most this many bytes. If it has as many, it may
   have been cut off. */
#define CUT 255

static const char *
text_of(const json_t *row, const char *name)
{
	return json_string_value(json_object_get(row, name));
}

static bool
is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* To allow writing a file, name its directory: the file may not exist yet, and
   programs replace files rather than change them. */
static bool
set_path(char out[REMEDY_TEXT], const char *path, const struct field *f)
{
	char tidy[PATH_RULE_SIZE];
	struct remit_error err;
	char *slash;

	if (strlen(path) >= CUT || path_rule_host(path, tidy, "", &err) < 0)
		return false;
	slash = strrchr(tidy, '/');
	if (f == &fields[F_FILESYSTEM_WRITE_ROOTS] && !is_directory(tidy) &&
	    slash != tidy)
		*slash = '\0';
	snprintf(out, REMEDY_TEXT, "%.*s", REMEDY_TEXT - 1, tidy);
	return true;
}

/* Returns false if no flag would help, or if its value is not fully known. */
static bool
read_row(const json_t *row, struct remedy *out)
{
	const char *name = text_of(row, "field");
	const char *path = text_of(json_object_get(row, "reported"), "path");
	const char *source = text_of(row, "source");

	out->field = name ? field_find(name) : NULL;
	out->reported = source && !strcmp(source, "reported");
	if (!out->field || out->field->setting || !text_of(row, "flag"))
		return false;
	if (field_is_switch(out->field)) {
		snprintf(out->text, sizeof(out->text), "true");
		return true;
	}
	return out->field->type == FIELD_PATHS && path &&
	       set_path(out->text, path, out->field);
}

static struct remedy *
remedy_for(struct remedies *r, const struct remedy *one)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->rows[i].field == one->field &&
		    !strcmp(r->rows[i].text, one->text))
			return &r->rows[i];
	if (r->count == REMEDY_MAX)
		return NULL;
	r->rows[r->count] = *one;
	r->rows[r->count].tried = (struct buf)BUF_INIT(REMEDY_LINE);
	return &r->rows[r->count++];
}

/* A few examples are enough for the user to decide. */
static int
add_tried(struct remedy *r, const json_t *row)
{
	own(buf) struct buf one = BUF_INIT(REMEDY_LINE);

	if (r->tried.len > 160) {
		r->more++;
		return 0;
	}
	if (denials_show_tried(row, &one) < 0)
		return -1;
	return buf_addf(&r->tried, "%s%s", r->tried.len ? ", " : "",
			buf_text(&one));
}

int
remedies_find(struct remedies *r, const json_t *result)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "denials"), i, row)
	{
		struct remedy one = { 0 }, *place;

		if (!read_row(row, &one))
			continue;
		place = remedy_for(r, &one);
		if (place && add_tried(place, row) < 0)
			return -1;
	}
	return 0;
}

void
remedies_free(struct remedies *r)
{
	for (size_t i = 0; i < r->count; i++)
		buf_free(&r->rows[i].tried);
	r->count = 0;
}

/* Show the whole value: the user must see exactly what would be allowed. */
int
remedy_show(const struct remedy *r, struct buf *out)
{
	if (buf_addf(out, "--%s", r->field->short_name) < 0)
		return -1;
	if (field_is_switch(r->field))
		return 0;
	if (buf_add(out, " \"", 2) < 0 ||
	    line_text_add(out, r->text, REMEDY_TEXT) < 0)
		return -1;
	return buf_add(out, "\"", 1);
}

/* A symbolic link may lead to a place that the question does not show, and may
   lead to another one tomorrow. */
static int
check_path(const struct remedy *r, struct remit_error *err)
{
	own(buf) struct buf shown = BUF_INIT(REMEDY_LINE);
	own_mem char *real = realpath(r->text, NULL);

	if (!real)
		return fail_sys(err, REMIT_E_INPUT,
				"it does not exist on the host");
	if (!strcmp(real, r->text))
		return 0;
	if (line_text_add(&shown, real, REMEDY_TEXT) < 0)
		return fail_memory(err, "path");
	return fail(err, REMIT_E_INPUT,
		    "on the host it is a link to \"%s\": use the flag yourself "
		    "if you mean that",
		    buf_text(&shown));
}

int
remedy_check(const struct remedy *r, const struct policy *policy,
	     struct remit_error *err)
{
	own(policy) struct policy more = { 0 };
	own(site) struct site site = { 0 };
	own(plan) struct plan plan = { 0 };
	struct plan_job job = { 0 };

	if (r->field->type == FIELD_PATHS && check_path(r, err) < 0)
		return -1;
	if (policy_copy(&more, policy) < 0)
		return fail_memory(err, "policy");
	if (field_set_text(&more, r->field, r->text, err) < 0 ||
	    site_find_host(&site, err) < 0 ||
	    site_find_interpreter(&site, &more, err) < 0)
		return -1;
	return plan_build(&plan, &more, &job, &site.host, &site.interpreter,
			  err);
}
