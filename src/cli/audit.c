#include "audit.h"

#include <string.h>

#include "audit_line.h"

int
audit_open(struct audit *a, struct remit_error *err)
{
	if (!a->path)
		return 0;
	a->fd = audit_line_open(a->path, err);
	return a->fd < 0 ? -1 : 0;
}

void
audit_free(struct audit *a)
{
	own_fd_close(&a->fd);
	a->fd = -1;
}

static int
no_memory(struct remit_error *err)
{
	return fail_sys(err, REMIT_E_MEMORY, "audit");
}

static int
policy_digest(const char *text, char out[SHA256_TEXT], struct remit_error *err)
{
	own(policy) struct policy p = { 0 };

	if (policy_init(&p) < 0)
		return no_memory(err);
	if (text && policy_parse(&p, text, strlen(text), "policy", err) < 0)
		return -1;
	return audit_line_policy_sha256(&p, out) < 0 ? no_memory(err) : 0;
}

/* One write at the end of the file, so that lines of several never mix. */
static int
append(const struct audit *a, const struct buf *line, struct remit_error *err)
{
	errno = ENOSPC;
	if (write(a->fd, line->data, line->len) != (ssize_t)line->len ||
	    fsync(a->fd) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "--audit %s", a->path);
	return 0;
}

int
audit_add(const struct audit *a, const struct remit_job *job,
	  const struct remit_result *res, struct remit_error *err)
{
	own(buf) struct buf line = BUF_INIT(SIZE_MAX / 2);
	char policy[SHA256_TEXT], code[SHA256_TEXT];
	struct audit_line_run run = {
		.uid = getuid(),
		.policy_sha256 = policy,
		.code_sha256 = code,
		.code_bytes = job->code_len,
	};

	if (a->fd < 0)
		return 0;
	if (policy_digest(job->policy_json, policy, err) < 0)
		return -1;
	sha256_text(job->code, job->code_len, code);
	run.result = remit_result_json(res);
	if (audit_line_write(&line, &run) < 0)
		return no_memory(err);
	return append(a, &line, err);
}
