#include "audit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "policy.h"
#include "sha256.h"

int
audit_open(struct audit *a, struct remit_error *err)
{
	struct stat st;

	if (!a->path)
		return 0;
	a->fd = open(a->path,
		     O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC,
		     0600);
	if (a->fd < 0 || fstat(a->fd, &st) < 0)
		return fail_sys(err, REMIT_E_INPUT, "--audit %s", a->path);
	if (!S_ISREG(st.st_mode))
		return fail(err, REMIT_E_INPUT,
			    "--audit %s: not a regular file", a->path);
	return 0;
}

void
audit_free(struct audit *a)
{
	own_fd_close(&a->fd);
	a->fd = -1;
}

static void
now(char *out, size_t size)
{
	struct timespec t;
	struct tm parts;
	char seconds[32];

	clock_gettime(CLOCK_REALTIME, &t);
	gmtime_r(&t.tv_sec, &parts);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(out, size, "%s.%03ldZ", seconds, t.tv_nsec / 1000000);
}

/* Of the whole policy in one form, however it was written. */
static int
policy_digest(const char *text, char out[SHA256_TEXT], struct remit_error *err)
{
	own(policy) struct policy p = { 0 };
	own_mem char *whole = NULL;
	json_t *doc;

	if (policy_init(&p) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "audit");
	if (text && policy_parse(&p, text, strlen(text), "policy", err) < 0)
		return -1;
	doc = policy_to_json(&p);
	whole = doc ? json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(15))
		    : NULL;
	json_decref(doc);
	if (!whole)
		return fail_sys(err, REMIT_E_MEMORY, "audit");
	sha256_text(whole, strlen(whole), out);
	return 0;
}

/* What the result says of itself, under the same names. */
static int
copy_result(json_t *line, const char *text)
{
	static const char *const names[] = {
		"run_id", "status",  "tier",	  "exit_code", "signal",
		"usage",  "denials", "artifacts", "changes",   "reported",
	};
	json_t *result = text ? json_loads(text, 0, NULL) : NULL;
	int failed = result ? 0 : -1;

	for (size_t i = 0; i < ARRAY_LEN(names) && !failed; i++)
		failed = json_object_set(line, names[i],
					 json_object_get(result, names[i]));
	json_decref(result);
	return failed;
}

/* One write at the end of the file, so that lines of several never mix. */
static int
append(const struct audit *a, const char *line, struct remit_error *err)
{
	own_mem char *text = NULL;
	int len = asprintf(&text, "%s\n", line);

	if (len < 0) {
		text = NULL;
		return fail_sys(err, REMIT_E_MEMORY, "audit");
	}
	errno = ENOSPC;
	if (write(a->fd, text, (size_t)len) != len || fsync(a->fd) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "--audit %s", a->path);
	return 0;
}

int
audit_add(const struct audit *a, const struct remit_job *job,
	  const struct remit_result *res, struct remit_error *err)
{
	char time[48], policy[SHA256_TEXT], code[SHA256_TEXT];
	own_mem char *text = NULL;
	json_t *line;

	if (a->fd < 0)
		return 0;
	if (policy_digest(job->policy_json, policy, err) < 0)
		return -1;
	sha256_text(job->code, job->code_len, code);
	now(time, sizeof(time));
	line = json_pack("{s:s, s:I, s:s, s:s, s:I}", "time", time, "uid",
			 (json_int_t)getuid(), "policy_sha256", policy,
			 "code_sha256", code, "code_bytes",
			 (json_int_t)job->code_len);
	if (line && copy_result(line, remit_result_json(res)) == 0)
		text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(15));
	json_decref(line);
	if (!text)
		return fail_sys(err, REMIT_E_MEMORY, "audit");
	return append(a, text, err);
}
