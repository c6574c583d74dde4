/*
 * A door is kept for the next run if all was said over it, and only then.
 */
#include <dirent.h>
#include <remit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct remit *remit;

static int
descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int count = 0;

	while (d && readdir(d))
		count++;
	closedir(d);
	return count;
}

static void
fail(const char *what, const char *said)
{
	fprintf(stderr, "%s: %s\n", what, said);
	exit(1);
}

static void
check(const char *what, struct remit_job *job, const char *code,
      const char *status, int more)
{
	int before = descriptors();
	struct remit_result *res;
	struct remit_error err;
	char now[32];

	job->code = code;
	job->code_len = strlen(code);
	if (remit_run(remit, job, &res, &err) < 0)
		fail(what, err.message);
	if (strcmp(remit_result_status(res), status))
		fail(what, remit_result_json(res));
	remit_result_free(res);
	snprintf(now, sizeof(now), "%d more", descriptors() - before);
	if (descriptors() - before != more)
		fail(what, now);
}

static void
check_plain(const char *what, int more)
{
	struct remit_job job = REMIT_JOB_INIT;

	check(what, &job,
	      "import builtins\n"
	      "assert not hasattr(builtins, 'left')\n"
	      "builtins.left = 1\n",
	      "ok", more);
}

int
main(void)
{
	struct remit_options opt = { .private_keeper = 1 };
	struct remit_job refused = REMIT_JOB_INIT, failing = REMIT_JOB_INIT,
			 stopped = REMIT_JOB_INIT, fed = REMIT_JOB_INIT,
			 long_one = REMIT_JOB_INIT;
	int before = descriptors(), ends[2];
	static char code[1 << 20];
	struct remit_error err;

	if (remit_open(&remit, &opt, &err) < 0)
		fail("open", err.message);
	check_plain("the first makes one", 1);
	for (int i = 0; i < 5; i++)
		check_plain("the next uses it", 0);
	check("an error is an end like any other", &failing, "1 / 0", "error",
	      0);
	memset(code, '#', sizeof(code) - 1);
	check("longer than a socket takes", &long_one, code, "ok", 0);
	refused.policy_json = "{\"no_such_field\": 1}";
	check("refused before all was read", &refused, "1", "refused", -1);
	check_plain("after it", 1);
	if (pipe(ends) < 0 || write(ends[1], "x", 1) != 1)
		fail("pipe", "failed");
	stopped.interrupt_fd = ends[0];
	check("interrupted", &stopped, "while True: pass", "interrupted", -1);
	check_plain("and the next is not", 1);
	fed.stdin_fd = ends[0];
	check("with input that went on", &fed,
	      "import sys\nassert sys.stdin.read(1) == 'x'", "ok", -1);
	check_plain("after that", 1);
	close(ends[0]);
	close(ends[1]);
	remit_close(remit);
	if (descriptors() != before)
		fail("close", "descriptors are left");
	puts("done");
	return 0;
}
