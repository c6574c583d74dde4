#include "cli/batch/result.h"

#include <stdio.h>

#include "client/result_view.h"

/* As one line, behind its id. */
static int
write_line(struct buf *out, const struct result_heading *heading,
	   const struct remit_result *res, struct remit_error *err)
{
	if (result_view_write(res, heading, out) < 0 ||
	    buf_add(out, "\n", 1) < 0)
		return fail_memory(err, "result");
	return 0;
}

int
batch_result_of_run(struct batch_result *out, const char *id,
		    const struct remit_result *res, struct remit_error *err)
{
	int known = status_find(remit_result_status(res));
	const struct result_heading heading = { .id = id };

	/* A shared keeper may be newer than we are. */
	out->status = known < 0 ? STATUS_INTERNAL : (enum status)known;
	out->is_good = remit_result_exit_code(res) == 0;
	return write_line(&out->line, &heading, res, err);
}

static enum status
status_of(const struct remit_error *why)
{
	bool by_caller =
		why->code == REMIT_E_INPUT || why->code == REMIT_E_REFUSED;

	return by_caller ? STATUS_REFUSED : STATUS_INTERNAL;
}

int
batch_result_of_error(struct batch_result *out, const char *id, uint64_t line,
		      const struct remit_error *why, struct remit_error *err)
{
	enum status s = status_of(why);
	struct remit_result *res = result_view_of_error(s, why);
	struct result_heading heading = { .id = id };
	char number[24];
	int failed;

	if (!res)
		return fail_memory(err, "result");
	snprintf(number, sizeof(number), "%llu", (unsigned long long)line);
	if (line)
		heading.line = number;
	out->status = s;
	out->is_good = false;
	failed = write_line(&out->line, &heading, res, err);
	remit_result_free(res);
	return failed;
}

void
batch_result_free(struct batch_result *r)
{
	buf_free(&r->line);
	free(r->directory);
}
