#include "cli/batch/resume.h"

#include <stdio.h>
#include <string.h>

#include "cli/batch/lines.h"

/* Two outputs of 1 GiB, each byte of them escaped, and room to spare. */
#define RESULT_MAX ((size_t)16 << 30)

/* What every result begins with. */
static const char head[] = "{\"id\":";

static void
line_key(char out[32], unsigned long long line)
{
	/* No id looks like this: those begin with a digit, '-' or '"'. */
	snprintf(out, 32, "line %llu", line);
}

static int
no_result(const struct batch_lines *l, const char *name,
	  struct remit_error *err)
{
	fail(err, REMIT_E_INPUT,
	     "%s: line %llu is not a result of remit batch, so nothing is "
	     "added to this file",
	     name, (unsigned long long)l->number);
	return -1;
}

static int
add_line(const struct batch_lines *l, const char *name, struct batch_ids *done,
	 struct remit_error *err)
{
	json_auto_t *doc = json_loadb(buf_text(&l->line), l->line.len,
				      JSON_ALLOW_NUL, NULL);
	const json_t *line = json_object_get(doc, "line");
	const json_t *id = json_object_get(doc, "id");
	own_mem char *text = NULL;
	char number[32];
	bool is_new;

	if (!json_is_string(json_object_get(doc, "status")) ||
	    !(json_is_integer(id) || json_is_string(id)))
		return no_result(l, name, err);
	text = json_dumps(id, JSON_ENCODE_ANY);
	line_key(number, (unsigned long long)json_integer_value(line));
	if (!text || batch_ids_add(done, line ? number : text, &is_new) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "read %s", name);
	return 0;
}

/* Only what looks like a result that was begun: another file may be one line
   without a newline, and be of use to somebody. */
static int
cut(const struct batch_lines *l, const char *name, struct remit_error *err)
{
	size_t known = l->line.len < strlen(head) ? l->line.len : strlen(head);

	if (l->is_long || memcmp(buf_text(&l->line), head, known) != 0)
		return no_result(l, name, err);
	if (ftruncate(l->fd, (off_t)(l->end - l->line.len)) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "cut the torn line off %s",
				name);
	return 0;
}

int
batch_resume_read(int fd, const char *name, struct batch_ids *done,
		  struct remit_error *err)
{
	own(batch_lines) struct batch_lines l =
		BATCH_LINES_INIT(fd, RESULT_MAX);
	enum batch_lines_answer a;

	while ((a = batch_lines_next(&l, err)) == BATCH_LINES_GIVEN) {
		if (l.is_torn)
			return cut(&l, name, err);
		if (!batch_lines_is_blank(&l) &&
		    add_line(&l, name, done, err) < 0)
			return -1;
	}
	return a == BATCH_LINES_END ? 0 : fail_within(err, "%s", name);
}

bool
batch_resume_is_done(const struct batch_ids *done, const struct batch_job *j)
{
	char number[32];

	line_key(number, j->line);
	return batch_ids_has(done, j->is_bad ? number : j->id);
}
