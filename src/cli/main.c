/*
 * main: finds the command in the table and runs it.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "foreign.h"
#include "nearest.h"
#include "tls_library.h"

const struct command *const commands[] = {
	&command_run,	       &command_repl,
	&command_check,	       &command_batch,
	&command_policy,       &command_explain,
	&command_instructions, &command_matrix,
	&command_doctor,       &command_bench,
	&command_completion,   &command_serve,
	&command_keeper,       &command_status,
	&command_logs,	       &command_packages,
	&command_mcp,	       &command_man,
	&command_porter,       NULL,
};

int
cli_error(const struct remit_error *err)
{
	return error_print(err);
}

/* The tier of this machine, where no policy and no flag names one. Not the one
   without a wall: an environment is inherited, often without being read. */
static int
take_tier(struct policy *p, struct remit_error *err)
{
	const char *named = getenv("REMIT_TIER");

	if (!named || !*named)
		return 0;
	if (field_set_text(p, &fields[F_TIER], named, err) < 0)
		return fail_within(err, "REMIT_TIER");
	if (!tiers[p->tier].jailed)
		return fail(
			err, REMIT_E_INPUT,
			"REMIT_TIER: \"%.40s\" has no wall; only --tier and "
			"a policy can name it",
			named);
	return 0;
}

int
cli_policy(const struct flags *fl, struct policy *out, struct remit_error *err)
{
	if (policy_init(out) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "policy");
	if (take_tier(out, err) < 0)
		return -1;
	return flags_apply(fl, out, err);
}

bool
cli_needs_private(const struct policy *p)
{
	const char *named = getenv("REMIT_KEEPER");

	/* One that was named is asked all the same: it says why not. */
	return (!named || !*named) &&
	       (p->network_access == NETWORK_HOST || p->credentials.count ||
		p->env_var_access || p->tier == TIER_UNSAFE);
}

void
cli_warn(const struct policy *p)
{
	if (p->tier == TIER_UNSAFE)
		fprintf(stderr, "remit: warning: the tier \"unsafe\" has no "
				"wall: this code can do all that you can\n");
}

void
cli_help(const struct command *c)
{
	own(buf) struct buf rows = BUF_INIT(256 * 1024);
	own(buf) struct buf more = BUF_INIT(256 * 1024);

	printf("Usage: remit %s%s%s\n\n%s\n", c->name, *c->usage ? " " : "",
	       c->usage, c->summary);
	if (c->options)
		printf("\n%s", c->options);
	if (c->more_options && c->more_options(&more) == 0)
		printf("\n%s", more.data);
	if (c->takes_policy && flags_help(&rows) == 0)
		printf("\n%s", rows.data);
}

static void
help(void)
{
	printf("Usage: remit COMMAND [OPTION...]\n\n"
	       "Runs Python that a language model wrote, strictly within its "
	       "remit.\n\n");
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			printf("  %-11s %s\n", (*c)->name, (*c)->summary);
	printf("\n\"remit COMMAND --help\" says more; so does \"man "
	       "remit\".\n");
}

static int
unknown(const char *name)
{
	struct nearest n = NEAREST_INIT(name);
	const char *near;

	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			nearest_try(&n, (*c)->name, (*c)->name);
	near = nearest_answer(&n);
	fprintf(stderr, "remit: there is no command \"%.60s\"%s%s%s\n", name,
		near ? " (did you mean \"" : "", near ? near : "",
		near ? "\"?)" : "; see \"remit --help\"");
	return CLI_MISUSE;
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";

	if (!strcmp(name, "--version") || !strcmp(name, "version")) {
		printf("remit %s, %s, with%s the APIs of %s\n", remit_version(),
		       tls_library_version(), foreign_is_in ? "" : "out",
		       FOREIGN_NAMES);
		return 0;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") ||
	    !strcmp(name, "help")) {
		help();
		return 0;
	}
	for (const struct command *const *c = commands; *c; c++) {
		if (strcmp((*c)->name, name))
			continue;
		for (int i = 2; i < argc && strcmp(argv[i], "--"); i++)
			if (!strcmp(argv[i], "--help") ||
			    !strcmp(argv[i], "-h")) {
				cli_help(*c);
				return 0;
			}
		return (*c)->run(argc - 1, argv + 1);
	}
	return unknown(name);
}
