/*
 * check: shows the findings of the validator for a program, without running it.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/program.h"
#include "cli/report/result_lines.h"

#define FINDINGS_EXIT 1

struct check {
	struct flags flags;
	bool json;
	const char *code, *path;
	struct buf text;
};

static void
check_free(struct check *c)
{
	flags_free(&c->flags);
	buf_free(&c->text);
}

#define AT(member) OPTION_AT(struct check, member)

static const struct option check_rows[] = {
	{
		.kind = OPTION_TEXT,
		.value = "FILE",
		.hidden = true,
		AT(path),
	},
	{
		.letter = 'c',
		.kind = OPTION_TEXT,
		.value = "CODE",
		.example = "'print(6 * 7)'",
		.help = "check this code instead of a file",
		AT(code),
	},
	{
		.name = "json",
		.kind = OPTION_FLAG,
		.help = "print the findings as one JSON object",
		.detail = "It has the members ok and findings; each finding "
			  "has line, column, name, value, rule and hint.",
		AT(json),
	},
	{ 0 },
};

static int
check_parse(struct check *c, int argc, char **argv, struct remit_error *err)
{
	if (cli_parse(&command_check, c, argc, argv, err) < 0)
		return -1;
	if (!c->code == !c->path)
		return fail(err, REMIT_E_INPUT,
			    "no program is given: use remit check FILE, remit "
			    "check - or remit check -c CODE");
	return 0;
}

/* The tier "static" runs nothing. Unless the policy chooses a validator, use
   the relaxed one. */
static int
make_policy(const struct check *c, struct policy *p, struct remit_error *err)
{
	if (cli_policy(&c->flags, p, err) < 0)
		return -1;
	p->tier = TIER_STATIC;
	if (field_is_default(p, &fields[F_VALIDATOR]))
		p->validator = VALIDATOR_RELAXED;
	return 0;
}

static int
run_validator(const struct check *c, struct policy *p, json_t **result,
	      struct remit_error *err)
{
	struct remit_options opt = {
		.command_path = "/proc/self/exe",
		.private_keeper = cli_needs_private(p),
	};
	struct remit_job job = REMIT_JOB_INIT;
	json_auto_t *doc = policy_to_json(p);
	own_mem char *policy =
		doc ? json_dumps(doc, JSON_REAL_PRECISION(15)) : NULL;
	struct remit_result *res = NULL;
	struct remit *remit = NULL;
	int failed;

	if (!policy)
		return fail_memory(err, "policy");
	job.code = buf_text(&c->text);
	job.code_len = c->text.len;
	job.name = program_name(c->path);
	job.policy_json = policy;
	if (remit_open(&remit, &opt, err) < 0)
		return -1;
	failed = remit_run(remit, &job, &res, err);
	if (!failed)
		*result = json_loads(remit_result_json(res), 0, NULL);
	remit_result_free(res);
	remit_close(remit);
	return failed;
}

/* Returns the exit code, or -1. */
static int
print_findings(const struct check *c, const json_t *result,
	       struct remit_error *err)
{
	json_t *error = json_object_get(result, "error");
	json_t *findings = json_object_get(error, "findings");
	const char *status =
		json_string_value(json_object_get(result, "status"));
	bool ok = status && !strcmp(status, "ok");
	json_auto_t *doc = NULL;

	if (!status || (!ok && strcmp(status, "rejected") != 0)) {
		const char *why =
			json_string_value(json_object_get(error, "value"));

		return fail(err, REMIT_E_REFUSED,
			    "the program cannot be checked: %s: %s",
			    status ? status : "no result", why ? why : "");
	}
	if (c->json) {
		doc = json_pack("{s:b, s:o}", "ok", ok, "findings",
				ok ? json_array() : json_incref(findings));
		json_dumpf(doc, stdout, JSON_COMPACT);
		putchar('\n');
	} else {
		findings_show(stdout,
			      c->path && c->path[0] != '-' ? c->path
							   : "main.py",
			      findings);
	}
	return ok ? 0 : FINDINGS_EXIT;
}

static int
check_command(int argc, char **argv)
{
	own(check) struct check c = { .text = BUF_INIT(PROGRAM_MAX) };
	own(policy) struct policy policy = { 0 };
	json_auto_t *result = NULL;
	struct remit_error err;
	int exit_code = -1;

	if (check_parse(&c, argc, argv, &err) == 0 &&
	    make_policy(&c, &policy, &err) == 0 &&
	    program_read(&c.text, c.code, c.path, &err) == 0 &&
	    run_validator(&c, &policy, &result, &err) == 0)
		exit_code = print_findings(&c, result, &err);
	return exit_code < 0 ? cli_error(&err) : exit_code;
}

const struct command command_check = {
	.options = {
		.name = "check",
		.usage = "[--json] [OPTION...] FILE|-|-c CODE",
		.summary = "check a program with the validator, without running it",
		.tables = {
			{ .rows = check_rows },
			FLAGS_TABLE(struct check, flags),
		},
	},
	.run = check_command,
};
