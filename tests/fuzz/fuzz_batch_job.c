/* Any line of a batch has an id for the reply, and is a job or has an error
   that says why not. */
#include "cli/batch/job.h"
#include "fuzz.h"

#include <string.h>

static void
check_id(const char *id)
{
	json_auto_t *value = json_loads(id, JSON_DECODE_ANY, NULL);

	must(json_is_integer(value) || json_is_string(value));
	must(!strchr(id, '\n'));
}

static void
check_run(const struct batch_job *j)
{
	own(policy) struct policy p = { 0 };
	struct remit_error err;

	must(j->run.code != NULL);
	must(strlen(j->run.code) <= j->run.code_len);
	if (!j->run.policy_json)
		return;
	must(policy_init(&p) == 0);
	must(policy_parse(&p, j->run.policy_json, strlen(j->run.policy_json),
			  "again", &err) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(policy) struct policy base = { 0 };
	own(batch_job) struct batch_job j = { 0 };
	struct remit_error err;

	must(policy_init(&base) == 0);
	must(batch_job_parse(&j, (const char *)data, size, 7, &base, &err) ==
	     0);
	check_id(j.id);
	if (!j.is_bad)
		check_run(&j);
	else
		must(!strncmp(j.why.message, "line 7: ", 8));
	return 0;
}
