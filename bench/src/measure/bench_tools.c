/*
 * bench_tools: measures calls from the code to a tool of the caller, one after
 * the other.
 */
#include "measure/measure.h"

#include <stdio.h>
#include <string.h>

#include "bench_program.h"

#define SECTION	    "tools, warm"
#define NAME	    "a call of a tool, there and back"
#define CALLS	    2000
#define CALLS_QUICK 200

/* The code measures the calls itself, without its own start. */
#define CODE                                  \
	"import time\n"                       \
	"add(1, 1)\n"                         \
	"began = time.perf_counter()\n"       \
	"for n in range(%d): add(a=n, b=1)\n" \
	"print((time.perf_counter() - began) * 1e9 / %d)\n"

#define SCHEMA                                                           \
	"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": "     \
	"\"integer\"}, \"b\": {\"type\": \"integer\"}}, \"required\": [" \
	"\"a\", \"b\"], \"additionalProperties\": false}"

static void
reply_one(void *user, struct remit_tool_call *call, const char *arguments,
	  size_t len)
{
	(void)user;
	(void)arguments;
	(void)len;
	remit_tool_reply(call, "1", 1);
}

static const struct remit_tool tool = {
	.name = "add",
	.schema_json = SCHEMA,
	.call = reply_one,
};

/* Run one program with many calls, and add the time of one call. */
static int
measure_once(struct remit *remit, const struct remit_job *job,
	     struct bench_row *row, struct remit_error *err)
{
	struct remit_result *res = NULL;
	double ns;
	int bad;

	if (remit_run(remit, job, &res, err) < 0)
		return -1;
	ns = strtod(remit_result_output(res, REMIT_STDOUT, NULL), NULL);
	bad = strcmp(remit_result_status(res), "ok") != 0 || ns <= 0
		      ? fail(err, REMIT_E_INTERNAL, "%s: %s", NAME,
			     remit_result_json(res))
		      : 0;
	if (!bad)
		bad = bench_row_add(row, ns / 1000, err);
	remit_result_free(res);
	return bad;
}

static int
measure_tools(struct bench *b, struct remit *remit, struct bench_row *row,
	      struct remit_error *err)
{
	struct remit_job job = REMIT_JOB_INIT;
	own_mem char *policy = NULL;
	char code[512];
	int calls = b->opt.quick ? CALLS_QUICK : CALLS;

	if (bench_program_policy(&bench_programs[0], b->python->executable,
				 &policy, err) < 0)
		return -1;
	snprintf(code, sizeof(code), CODE, calls, calls);
	job.policy_json = policy;
	job.code = code;
	job.code_len = strlen(code);
	job.tools = &tool;
	job.tool_count = 1;
	for (unsigned i = 0; i < b->opt.rounds; i++)
		if (bench_check(b, err) < 0 ||
		    measure_once(remit, &job, row, err) < 0)
			return -1;
	return 0;
}

int
bench_tools_measure(struct bench *b, struct remit_error *err)
{
	struct remit *remit = NULL;
	struct bench_row *row;
	int bad;

	if (!bench_wants(b, SECTION))
		return 0;
	bench_progress(b, "%s: %s", SECTION, NAME);
	if (bench_report_add(&b->report, &row, SECTION, NAME, err) < 0 ||
	    bench_remit(b, &remit, err) < 0)
		return -1;
	bad = measure_tools(b, remit, row, err);
	remit_close(remit);
	return bad;
}
