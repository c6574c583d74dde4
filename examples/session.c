/*
 * session: variables persist from cell to cell.
 *
 *	cc session.c $(pkg-config --cflags --libs remit) -o session && ./session
 */
#include <remit.h>
#include <stdio.h>
#include <string.h>

/* The second cell exceeds its time and is interrupted; variables are kept. */
static const char *const cells[] = {
	"total = 40",
	"import time\ntime.sleep(60)",
	"total += 2\nprint(total)",
};

static int
run(struct remit_session *session, const char *code, struct remit_error *err)
{
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *result;

	job.code = code;
	job.code_len = strlen(code);
	if (remit_session_run(session, &job, &result, err) < 0)
		return -1;
	printf("%s: %s\n", remit_result_status(result),
	       remit_result_output(result, REMIT_STDOUT, NULL));
	remit_result_free(result);
	return 0;
}

static int
run_all(struct remit *remit, struct remit_error *err)
{
	struct remit_session_options options = {
		.policy_json = "{\"timeout\": \"500ms\"}",
	};
	struct remit_session *session;
	struct remit_result *last;

	if (remit_session_open(remit, &options, &session, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		if (run(session, cells[i], err) < 0) {
			remit_session_drop(session);
			return -1;
		}
	/* Closing exports the files that the policy lists. */
	if (remit_session_close(session, &last, err) < 0)
		return -1;
	remit_result_free(last);
	return 0;
}

int
main(void)
{
	struct remit_error err;
	struct remit *remit;
	int failed;

	failed = remit_open(&remit, NULL, &err);
	if (!failed) {
		failed = run_all(remit, &err);
		remit_close(remit);
	}
	if (failed)
		fprintf(stderr, "%s\n%s\n", err.message, err.remedy);
	return failed ? 1 : 0;
}
