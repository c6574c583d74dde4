/*
 * main: finds the command in the table and runs it.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "http/tls_library.h"
#include "policy/nearest.h"
#include "serve/compat/foreign.h"

const struct command *const commands[] = {
	&command_run,
	&command_repl,
	&command_check,
	&command_batch,
	&command_policy,
	&command_explain,
	&command_instructions,
	&command_matrix,
	&command_doctor,
	&command_bench,
	&command_completion,
	&command_serve,
	&command_keeper,
	&command_status,
	&command_logs,
	&command_packages,
	&command_mcp,
	&command_man,
	&command_proxy_launcher,
	NULL,
};

int
cli_error(const struct remit_error *err)
{
	return error_print(err);
}

/* The default tier of this machine, for policies that name none. It cannot be
   the tier without a wall: environment variables are inherited, often
   unnoticed. */
static int
tier_from_environment(struct policy *p, struct remit_error *err)
{
	const char *named = getenv("REMIT_TIER");

	if (!named || !*named)
		return 0;
	if (field_set_text(p, &fields[F_TIER], named, err) < 0)
		return fail_within(err, "REMIT_TIER");
	if (!tiers[p->tier].jailed)
		return fail(err, REMIT_E_INPUT,
			    "REMIT_TIER: the tier \"%.40s\" has no wall; only "
			    "--tier or a policy can choose it",
			    named);
	return 0;
}

static int
make_policy(const struct flags *fl, enum display_mode mode, struct policy *out,
	    struct remit_error *err)
{
	if (policy_init(out) < 0)
		return fail_memory(err, "policy");
	if (tier_from_environment(out, err) < 0)
		return -1;
	out->display_mode = mode;
	return flags_apply(fl, out, err);
}

int
cli_policy(const struct flags *fl, struct policy *out, struct remit_error *err)
{
	return make_policy(fl, DISPLAYS_ALL, out, err);
}

int
cli_policy_quiet(const struct flags *fl, struct policy *out,
		 struct remit_error *err)
{
	return make_policy(fl, DISPLAYS_NONE, out, err);
}

bool
cli_needs_private(const struct policy *p)
{
	const char *named = getenv("REMIT_KEEPER");

	/* A keeper named by the user is contacted anyway: its refusal gives
	   the reason. */
	return (!named || !*named) &&
	       (p->network_access == NETWORK_HOST || p->credentials.count ||
		p->env_var_access || p->tier == TIER_UNSAFE);
}

void
cli_warn(const struct policy *p)
{
	if (p->tier == TIER_UNSAFE)
		fprintf(stderr,
			"remit: warning: the tier \"unsafe\" has no wall: this "
			"code can do everything that you can do\n");
}

/* ---- commands ---- */

/* The most commands and subcommands that a list can have. */
#define ALL_MAX 32

/* All visible commands; a command with subcommands is replaced by these. */
static void
list_all(const struct options *all[ALL_MAX + 1])
{
	size_t n = 0;

	for (const struct command *const *c = commands; *c; c++) {
		const struct command *const *one = (*c)->verbs;

		if ((*c)->hidden)
			continue;
		if (!one)
			all[n++] = &(*c)->options;
		for (; one && *one && n < ALL_MAX; one++)
			all[n++] = &(*one)->options;
	}
	all[n] = NULL;
}

int
cli_parse_program(const struct command *c, void *target, int argc, char **argv,
		  char ***rest, struct remit_error *err)
{
	const struct options *all[ALL_MAX + 1];

	list_all(all);
	return options_parse(&c->options, target, argc, argv, rest, all, err);
}

int
cli_parse(const struct command *c, void *target, int argc, char **argv,
	  struct remit_error *err)
{
	return cli_parse_program(c, target, argc, argv, NULL, err);
}

static const struct command *
command_in_list(const struct command *const *list, const char *name)
{
	for (; *list; list++)
		if (!strcmp((*list)->options.name, name))
			return *list;
	return NULL;
}

const struct command *
cli_find(const char *name)
{
	const struct command *found = command_in_list(commands, name);

	for (const struct command *const *c = commands; *c && !found; c++)
		if ((*c)->verbs)
			found = command_in_list((*c)->verbs, name);
	return found;
}

static int
print_help(const struct command *c)
{
	own(buf) struct buf text = BUF_INIT(256 * 1024);

	if (options_help(&c->options, &text) < 0)
		return CLI_FAILED;
	fputs(buf_text(&text), stdout);
	for (const struct command *const *v = c->verbs; v && *v; v++) {
		putchar('\n');
		if (print_help(*v))
			return CLI_FAILED;
	}
	return 0;
}

static void
print_usage(void)
{
	printf("Usage: remit COMMAND [OPTION...]\n\n"
	       "Runs Python that a language model wrote, strictly within its "
	       "remit.\n\n");
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			printf("  %-12s %s\n", (*c)->options.name,
			       (*c)->options.summary);
	printf("\nRun \"remit COMMAND --help\" or \"man remit\" for "
	       "details.\n");
}

/* Only --help and --version may come before the command. */
static int
report_unknown_option(const char *name)
{
	struct nearest n = NEAREST_INIT(name);
	const char *near;

	nearest_try(&n, "--help", "--help");
	nearest_try(&n, "--version", "--version");
	near = nearest_answer(&n);
	fprintf(stderr, "remit: unknown option %.60s; ", name);
	if (near)
		fprintf(stderr, "did you mean %s?\n", near);
	else
		fprintf(stderr,
			"options follow the command: see \"remit --help\"\n");
	return CLI_MISUSE;
}

static int
report_unknown_command(const char *name)
{
	struct nearest n = NEAREST_INIT(name);
	const char *near;

	if (name[0] == '-')
		return report_unknown_option(name);
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			nearest_try(&n, (*c)->options.name, (*c)->options.name);
	near = nearest_answer(&n);
	fprintf(stderr, "remit: unknown command \"%.60s\"%s%s%s\n", name,
		near ? " (did you mean \"" : "", near ? near : "",
		near ? "\"?)" : "; see \"remit --help\"");
	return CLI_MISUSE;
}

static int
report_unknown_verb(const struct command *c, const char *verb)
{
	fprintf(stderr, "remit: unknown subcommand \"%.60s\"; %s has", verb,
		c->options.name);
	for (size_t i = 0; c->verbs[i]; i++)
		fprintf(stderr, "%s %s", i ? " or" : "",
			strrchr(c->verbs[i]->options.name, ' ') + 1);
	fputc('\n', stderr);
	return CLI_MISUSE;
}

static int
dispatch_command(const struct command *c, int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "-";
	char name[64];

	if (options_want_help(&c->options, argc, argv))
		return print_help(c);
	if (!c->verbs)
		return c->run(argc, argv);
	if (verb[0] == '-')
		return dispatch_command(c->verbs[0], argc, argv);
	snprintf(name, sizeof(name), "%s %s", c->options.name, verb);
	for (const struct command *const *v = c->verbs; *v; v++)
		if (!strcmp((*v)->options.name, name))
			return dispatch_command(*v, argc - 1, argv + 1);
	return report_unknown_verb(c, verb);
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";
	const struct command *c = command_in_list(commands, name);

	if (c)
		return dispatch_command(c, argc - 1, argv + 1);
	if (!strcmp(name, "--version") || !strcmp(name, "version")) {
		printf("remit %s, %s, with%s the APIs of %s\n", remit_version(),
		       tls_library_version(), foreign_is_built ? "" : "out",
		       FOREIGN_NAMES);
		return 0;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") ||
	    !strcmp(name, "help")) {
		print_usage();
		return 0;
	}
	return report_unknown_command(name);
}
