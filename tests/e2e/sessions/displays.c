/* Prints what a program writes and displays, in the sequence of arrival */
#include <remit.h>
#include <stdio.h>
#include <string.h>

static void
on_output(void *user, enum remit_stream stream, const char *bytes, size_t len)
{
	(void)user;
	printf("%s %.*s", stream == REMIT_STDOUT ? "out" : "err", (int)len,
	       bytes);
}

static void
on_display(void *user, const struct remit_display *d)
{
	(void)user;
	printf("%s", d->is_value ? "value" : "display");
	for (size_t i = 0; i < d->part_count; i++)
		printf(" %s=%zu", d->parts[i].mime, d->parts[i].len);
	putchar('\n');
}

int
main(int argc, char **argv)
{
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *result;
	struct remit_error err;
	struct remit *remit;

	if (argc != 2)
		return 2;
	job.code = argv[1];
	job.code_len = strlen(job.code);
	job.on_output = on_output;
	job.on_display = on_display;
	if (remit_open(&remit, NULL, &err) < 0 ||
	    remit_run(remit, &job, &result, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	printf("status %s\n", remit_result_status(result));
	remit_result_free(result);
	remit_close(remit);
	return 0;
}
