/*
 * A door is kept for the next run if all was reason over it, and only then.
 */
#include <dirent.h>
#include <remit.h>
#include <signal.h>
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
fail(const char *what, const char *reason)
{
	fprintf(stderr, "%s: %s\n", what, reason);
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

/* It has nothing of what others had over the same door. */
static void
check_plain(const char *what, int more)
{
	struct remit_job job = REMIT_JOB_INIT;

	check(what, &job,
	      "import os, sys\n"
	      "assert sys.argv == ['main.py'], sys.argv\n"
	      "assert sys.stdin.read() == ''\n"
	      "assert os.listdir() == [], os.listdir()\n"
	      "assert 'LEFT' not in os.environ\n",
	      "ok", more);
}

static void
check_full_job(int more)
{
	static const char *const argv[] = { "one", NULL };
	struct remit_file file = {
		.path = "left",
		.bytes = "x",
		.len = 1,
	};
	struct remit_job job = REMIT_JOB_INIT;

	job.name = "laden.py";
	job.argv = argv;
	job.stdin_bytes = "input\nthat nobody reads";
	job.stdin_len = strlen(job.stdin_bytes);
	job.files = &file;
	job.file_count = 1;
	job.timeout_ms = 60000;
	job.policy_json = "{\"env\": {\"LEFT\": \"1\"}}";
	check("with all that a job can have", &job,
	      "import os, sys\n"
	      "assert sys.argv == ['laden.py', 'one'], sys.argv\n"
	      "assert input() == 'input' and os.listdir() == ['left']\n"
	      "assert os.environ['LEFT'] == '1'\n",
	      "ok", more);
}

/* The program is over, and half of its output still on the way. */
static void
interrupt_late(void *user, enum remit_stream stream, const char *bytes,
	       size_t len)
{
	int *pipe = user;

	(void)stream;
	(void)bytes;
	pipe[2] += (int)len;
	if (pipe[1] < 0)
		return;
	sleep(2); /* the run is over by now */
	if (write(pipe[1], "x", 1) != 1)
		fail("pipe", "failed");
	close(pipe[1]);
	pipe[1] = -1;
}

static void
check_late(void)
{
	struct remit_job job = REMIT_JOB_INIT;
	int ends[3] = { 0 };

	if (pipe(ends) < 0)
		fail("pipe", "failed");
	job.interrupt_fd = ends[0];
	job.on_output = interrupt_late;
	job.user = ends;
	check("interrupted when it was over", &job, "print('x' * 799999)", "ok",
	      -2); /* our end of the pipe, and the door */
	if (ends[2] != 800000)
		fail("interrupted when it was over", "output is missing");
	close(ends[0]);
}

/* The first child: the other one is the shell that looks. */
static pid_t
keeper(void)
{
	FILE *f = popen("cat /proc/$PPID/task/$PPID/children", "r");
	int pid = 0;

	if (!f || fscanf(f, "%d", &pid) != 1)
		fail("keeper", "not found");
	pclose(f);
	return pid;
}

static void
check_loss(void)
{
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *res;
	struct remit_error err;

	kill(keeper(), SIGKILL);
	job.code = "1";
	job.code_len = 1;
	if (remit_run(remit, &job, &res, &err) == 0)
		fail("without a keeper", remit_result_json(res));
	if (err.code != REMIT_E_GONE)
		fail("without a keeper", err.message);
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
	check_full_job(0);
	check_plain("and nothing of that is left", 0);
	check_late();
	check_plain("after what was late", 1);
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
	check_loss();
	remit_close(remit);
	if (descriptors() != before)
		fail("close", "descriptors are left");
	puts("done");
	return 0;
}
