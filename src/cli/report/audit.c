#include "cli/report/audit.h"

#include <fcntl.h>
#include <string.h>

#include "client/result_view.h"
#include "keeper/audit.h"

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
	buf_free(&a->waiting);
}

static int
policy_digest(const char *text, char out[SHA256_TEXT], struct remit_error *err)
{
	own(policy) struct policy p = { 0 };

	if (policy_init(&p) < 0)
		return fail_memory(err, "audit");
	if (text && policy_parse(&p, text, strlen(text), "policy", err) < 0)
		return -1;
	return audit_line_policy_sha256(&p, out) < 0 ? fail_memory(err, "audit")
						     : 0;
}

/* ---- writing ---- */

/* Called with the lock. Each write() appends whole lines, so that lines of
   several processes never mix, unless the disk is full. */
static int
write_waiting(struct audit *a)
{
	while (a->waiting.len) {
		ssize_t n = write(a->fd, a->waiting.data, a->waiting.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		buf_drop(&a->waiting, (size_t)n);
	}
	return 0;
}

static int
append_line(struct audit *a, const struct buf *line, struct remit_error *err)
{
	int failed;

	pthread_mutex_lock(&a->lock);
	failed = buf_add(&a->waiting, buf_text(line), line->len) < 0 ||
		 write_waiting(a) < 0;
	pthread_mutex_unlock(&a->lock);
	/* Several threads may sync at once; each sync covers the lines of
	   all. */
	if (failed || (line->len && fsync(a->fd) < 0))
		return fail_sys(err, REMIT_E_KERNEL, "--audit %s", a->path);
	return 0;
}

int
audit_check(struct audit *a, struct remit_error *err)
{
	const struct buf nothing = { 0 };

	return a->fd < 0 ? 0 : append_line(a, &nothing, err);
}

int
audit_add(struct audit *a, const struct audit_run *run, struct remit_error *err)
{
	own(buf) struct buf line = BUF_INIT(SIZE_MAX / 2);
	const struct remit_job *job = run->job;
	char policy[SHA256_TEXT], code[SHA256_TEXT];
	struct audit_line_run to_write = {
		.uid = getuid(),
		.key = run->key,
		.policy_sha256 = policy,
		.code_sha256 = code,
		.code_bytes = job->code_len,
	};

	if (a->fd < 0)
		return 0;
	if (policy_digest(job->policy_json, policy, err) < 0)
		return -1;
	sha256_text(job->code, job->code_len, code);
	/* Use the document, not the text: the text includes values of the code,
	   which this JSON parser may be unable to read. */
	if (run->res)
		to_write.result = result_view_document(run->res);
	else if (run->document)
		to_write.result = run->document;
	else
		to_write.error = remit_code_name(run->why->code);
	if (audit_line_write(&line, &to_write) < 0)
		return fail_memory(err, "audit");
	return append_line(a, &line, err);
}

int
audit_reopen(struct audit *a, struct remit_error *err)
{
	own_fd int fd = a->fd < 0 ? -1 : audit_line_open(a->path, err);
	int failed;

	if (a->fd < 0)
		return 0;
	if (fd < 0)
		return -1;
	pthread_mutex_lock(&a->lock);
	/* Sync the old file first: a thread that has written but not synced yet
	   would otherwise sync only the new one. */
	failed = fsync(a->fd) < 0 || dup3(fd, a->fd, O_CLOEXEC) < 0;
	pthread_mutex_unlock(&a->lock);
	return failed ? fail_sys(err, REMIT_E_KERNEL, "--audit %s", a->path)
		      : 0;
}
