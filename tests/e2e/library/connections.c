/*
 * A connection is kept for the next run if the keeper has answered completely,
 * and only then.
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

/* The job must find nothing of earlier jobs on the same connection. */
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
	check("with everything that a job can have", &job,
	      "import os, sys\n"
	      "assert sys.argv == ['laden.py', 'one'], sys.argv\n"
	      "assert input() == 'input' and os.listdir() == ['left']\n"
	      "assert os.environ['LEFT'] == '1'\n",
	      "ok", more);
}

/*
 * Interrupts after the program has ended, while half of its output is unread.
 */
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
	sleep(2); /* the run ends meanwhile */
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
	check("interrupted after its end", &job, "print('x' * 799999)", "ok",
	      -2); /* this end of the pipe, and the connection */
	if (ends[2] != 800000)
		fail("interrupted after its end", "output is missing");
	close(ends[0]);
}

/*
 * The keeper is the first child. The second one is the shell that lists them.
 */
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
	check_plain("first job opens a connection", 1);
	for (int i = 0; i < 5; i++)
		check_plain("next job uses it", 0);
	check_full_job(0);
	check_plain("job after a full one", 0);
	check_late();
	check_plain("job after a late interrupt", 1);
	check("an error keeps the connection", &failing, "1 / 0", "error", 0);
	memset(code, '#', sizeof(code) - 1);
	check("longer than a socket's buffer", &long_one, code, "ok", 0);
	refused.policy_json = "{\"no_such_field\": 1}";
	check("refused before everything was read", &refused, "1", "refused",
	      -1);
	check_plain("job after a refused one", 1);
	if (pipe(ends) < 0 || write(ends[1], "x", 1) != 1)
		fail("pipe", "failed");
	stopped.interrupt_fd = ends[0];
	check("interrupted", &stopped, "while True: pass", "interrupted", -1);
	check_plain("job after an interrupted one", 1);
	fed.stdin_fd = ends[0];
	check("with input that did not end", &fed,
	      "import sys\nassert sys.stdin.read(1) == 'x'", "ok", -1);
	check_plain("job after one with open input", 1);
	close(ends[0]);
	close(ends[1]);
	check_loss();
	remit_close(remit);
	if (descriptors() != before)
		fail("close", "descriptors are left");
	puts("done");
	return 0;
}
