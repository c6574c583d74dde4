#include "keeper/audit/audit_line.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int
audit_line_open(const char *path, struct remit_error *err)
{
	own_fd int fd =
		open(path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC,
		     0600);
	struct stat st;
	char last = '\n';

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_sys(err, REMIT_E_INPUT, "--audit %s", path);
	if (!S_ISREG(st.st_mode))
		return fail(err, REMIT_E_INPUT,
			    "--audit %s: not a regular file", path);
	/* Where the disk was full a line may end in the middle. */
	if (st.st_size && pread(fd, &last, 1, st.st_size - 1) == 1 &&
	    last != '\n' && write(fd, "\n", 1) != 1)
		return fail_sys(err, REMIT_E_KERNEL, "--audit %s", path);
	return take_fd(&fd);
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

int
audit_line_policy_sha256(const struct policy *p, char out[SHA256_TEXT])
{
	json_auto_t *doc = policy_to_json(p);
	own_mem char *whole =
		doc ? json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(15))
		    : NULL;

	if (!whole)
		return -1;
	sha256_text(whole, strlen(whole), out);
	return 0;
}

/* What the result says of itself, under the same names. */
static int
copy_result(json_t *line, const json_t *result)
{
	static const char *const names[] = {
		"run_id",  "status",   "tier",	  "exit_code",
		"signal",  "usage",    "denials", "artifacts",
		"changes", "reported", "calls",	  "calls_left_out",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (json_object_set(line, names[i],
				    json_object_get(result, names[i])) < 0)
			return -1;
	return 0;
}

int
audit_line_write(struct buf *out, const struct audit_line_run *run)
{
	json_auto_t *line = NULL;
	own_mem char *text = NULL;
	char time[48];

	now(time, sizeof(time));
	line = json_pack("{s:s, s:I, s:s*, s:s, s:s, s:I, s:s*}", "time", time,
			 "uid", (json_int_t)run->uid, "key", run->key,
			 "policy_sha256", run->policy_sha256, "code_sha256",
			 run->code_sha256, "code_bytes",
			 (json_int_t)run->code_bytes, "error", run->error);
	if (!line || (run->result && copy_result(line, run->result) < 0))
		return -1;
	text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(15));
	return text ? buf_addf(out, "%s\n", text) : -1;
}
