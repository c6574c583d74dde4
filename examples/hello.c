/*
 * hello: the library in thirty lines.
 *
 *	cc hello.c $(pkg-config --cflags --libs remit) -o hello && ./hello
 */
#include <remit.h>
#include <stdio.h>
#include <string.h>

int
main(void)
{
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *result;
	struct remit_error err;
	struct remit *remit;

	job.code = "import os\nprint('hello from process', os.getpid())";
	job.code_len = strlen(job.code);
	job.policy_json = "{\"timeout\": \"5s\", \"memory_bytes\": \"400M\"}";
	if (remit_open(&remit, NULL, &err) < 0 ||
	    remit_run(remit, &job, &result, &err) < 0) {
		fprintf(stderr, "%s\n%s\n", err.message, err.remedy);
		return 1;
	}
	printf("%s: %s", remit_result_status(result),
	       remit_result_output(result, REMIT_STDOUT, NULL));
	remit_result_free(result);
	remit_close(remit);
	return 0;
}
