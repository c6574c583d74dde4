/*
 * branches: prepares one session and tries two plans from there, each in a
 * separate branch. The session itself is not changed by the plans.
 *
 *	cc branches.c $(pkg-config --cflags --libs remit) -o branches
 */
#include <remit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prepare[] = "prices = [3, 1, 4, 1, 5, 9, 2, 6]\n"
			      "open('log', 'w').write('prepared')";

static const char *const plans[] = {
	"prices.sort()\n"
	"open('log', 'a').write(', sorted')\n"
	"print(max(b - a for a, b in zip(prices, prices[1:])))",
	"prices.reverse()\n"
	"open('log', 'a').write(', reversed')\n"
	"print(max(b - a for a, b in zip(prices, prices[1:])))",
};

static int
run(struct remit_session *session, const char *code, struct remit_result **out,
    struct remit_error *err)
{
	struct remit_job job = REMIT_JOB_INIT;

	job.code = code;
	job.code_len = strlen(code);
	return remit_session_run(session, &job, out, err);
}

/* Tries a plan in a branch, which is then discarded. Only the score is kept. */
static int
try_plan(struct remit_session *session, const char *plan, long *score,
	 struct remit_error *err)
{
	struct remit_session *branch;
	struct remit_result *result;

	if (remit_session_fork(session, NULL, &branch, err) < 0)
		return -1;
	if (run(branch, plan, &result, err) < 0) {
		remit_session_drop(branch);
		return -1;
	}
	*score = strtol(remit_result_output(result, REMIT_STDOUT, NULL), NULL,
			10);
	remit_result_free(result);
	remit_session_drop(branch);
	return 0;
}

static int
show(struct remit_session *session, struct remit_error *err)
{
	struct remit_result *result;

	if (run(session, "print(prices, open('log').read())", &result, err) < 0)
		return -1;
	printf("the session: %s",
	       remit_result_output(result, REMIT_STDOUT, NULL));
	remit_result_free(result);
	return 0;
}

static int
compare(struct remit_session *session, struct remit_error *err)
{
	struct remit_result *result;

	if (run(session, prepare, &result, err) < 0)
		return -1;
	remit_result_free(result);
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		long score;

		if (try_plan(session, plans[i], &score, err) < 0)
			return -1;
		printf("plan %zu: %ld\n", i + 1, score);
	}
	return show(session, err);
}

int
main(void)
{
	struct remit_session_options options = { .forkable = 1 };
	struct remit_session *session;
	struct remit_error err;
	struct remit *remit;
	int failed;

	failed = remit_open(&remit, NULL, &err);
	if (!failed) {
		failed = remit_session_open(remit, &options, &session, &err);
		if (!failed) {
			failed = compare(session, &err);
			remit_session_drop(session);
		}
		remit_close(remit);
	}
	if (failed)
		fprintf(stderr, "%s\n%s\n", err.message, err.remedy);
	return failed ? 1 : 0;
}
