/*
 * Many threads share one struct remit, and each gets its own result.
 */
#include <pthread.h>
#include <remit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct remit *remit;
static int rounds;

static void *
run_jobs(void *arg)
{
	long n = (long)arg;

	for (int i = 0; i < rounds; i++) {
		struct remit_job job = REMIT_JOB_INIT;
		struct remit_result *res;
		struct remit_error err;
		char code[64], want[32];

		snprintf(code, sizeof(code), "print(%ld * 1000 + %d)", n, i);
		snprintf(want, sizeof(want), "%ld\n", n * 1000 + i);
		job.code = code;
		job.code_len = strlen(code);
		if (remit_run(remit, &job, &res, &err) < 0) {
			fprintf(stderr, "%s\n", err.message);
			exit(1);
		}
		if (strcmp(remit_result_output(res, REMIT_STDOUT, NULL),
			   want) ||
		    strcmp(remit_result_status(res), "ok")) {
			fprintf(stderr, "%s\n", remit_result_json(res));
			exit(1);
		}
		remit_result_free(res);
	}
	return NULL;
}

/* threads COUNT ROUNDS */
int
main(int argc, char **argv)
{
	static pthread_t threads[1000];
	struct remit_error err;
	long count = argc > 2 ? atol(argv[1]) : 8;

	rounds = argc > 2 ? atoi(argv[2]) : 5;
	if (count > 1000 || remit_open(&remit, NULL, &err) < 0)
		return 1;
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run_jobs, (void *)i))
			return 1;
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	remit_close(remit);
	puts("done");
	return 0;
}
