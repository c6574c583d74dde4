/*
 * doctor: shows what this machine and this user can enforce, by trying it.
 */
#include <stdio.h>
#include <string.h>

#include "base/file/path.h"
#include "cli/cli.h"
#include "jail/cgroup/home.h"
#include "jail/mount/workspace.h"
#include "jail/probe/discover.h"
#include "jail/probe/probe.h"
#include "policy/plan/memory.h"
#include "serve/compat/foreign.h"

static bool
tier_works(const struct host *h, enum tier tier)
{
	return host_lacks(h, tier) == CAN_COUNT;
}

static void
print_tiers(const struct host *h, bool python)
{
	bool local = tier_works(h, TIER_LOCAL) && python;

	printf("The tier \"local\" %s.\n",
	       local ? "works here" : "does not work here");
	if (!local && python && tier_works(h, TIER_LANDLOCK))
		printf("The tier \"landlock\", a weaker wall, works here if "
		       "you choose it: --preset landlock.\n");
}

/* Explain the limits that surprise an ordinary user without a delegated
   cgroup. */
static void
print_bound(const struct policy *p, const struct host *h)
{
	struct memory_bound b;

	if (h->can[CAN_CGROUP_MEMORY].yes || tiers[p->tier].bare)
		return;
	memory_bound_compute(&b, p, h);
	printf("Without a memory cgroup, this policy limits the address space "
	       "to %llu MiB, and sqlite\ncannot lock: --preset scientific "
	       "accepts a limit for each process instead.\n",
	       (unsigned long long)b.address_space >> 20);
}

#define NO_CACHE_COST                                                     \
	"Without it, each start probes this machine and the interpreter " \
	"again and is several times slower, matplotlib builds its font "  \
	"list in each run, and packages cannot be installed."

static void
print_cache(const struct remit_error *cache)
{
	static const char form[] = "     %-26s   %s%s\n";

	printf("%-4s %-26s %s\n", cache ? "no" : "yes", "cache",
	       "remember what Remit found out about this machine");
	if (!cache)
		return;
	printf(form, "", "optional: ", cache->message);
	printf(form, "", "", NO_CACHE_COST);
	printf(form, "", "", PATH_CACHE_REMEDY);
}

static void
print_wasm(void)
{
	own(interpreter) struct interpreter in = { 0 };
	struct remit_error err;

	if (discover_wasm(&in, &err) == 0) {
		printf("%-4s %-26s CPython %d.%d.%d as WebAssembly, for the "
		       "tier wasm\n",
		       "yes", "wasm", in.major, in.minor, in.micro);
		return;
	}
	printf("%-4s %-26s CPython as WebAssembly, for the tier wasm\n", "no",
	       "wasm");
	printf("     %-26s   optional: %s\n", "", err.message);
	printf("     %-26s   %s\n", "", err.remedy);
}

static void
print_host(const struct site *s, const struct policy *policy,
	   const struct remit_error *python, const struct remit_error *cache)
{
	const struct host *h = &s->host;

	printf("kernel %s, started by %s (uid %u), Landlock ABI %d, %u "
	       "processors\n\n",
	       h->kernel, h->by_root ? "root" : "an ordinary user", h->uid,
	       h->landlock_abi, h->cpus);
	for (int i = 0; i < CAN_COUNT; i++) {
		printf("%-4s %-26s %s\n", h->can[i].yes ? "yes" : "no",
		       capabilities[i].name, capabilities[i].sentence);
		if (h->can[i].yes)
			continue;
		printf("     %-26s   %s: %s\n", "",
		       capabilities[i].needed ? "needed" : "optional",
		       h->can[i].why);
		printf("     %-26s   %s\n", "",
		       host_remedy(h, (enum capability)i));
	}
	if (python)
		printf("%-4s %-26s %s\n", "no", "python", python->message);
	else
		printf("%-4s %-26s %s %d.%d.%d\n", "yes", "python",
		       s->interpreter.executable, s->interpreter.major,
		       s->interpreter.minor, s->interpreter.micro);
	print_wasm();
	print_cache(cache);
	putchar('\n');
	print_bound(policy, h);
	puts(foreign_sentence);
	print_tiers(h, !python);
}

static json_t *
describe_cache(const struct remit_error *cache)
{
	if (!cache)
		return json_pack("{s:b}", "yes", 1);
	return json_pack("{s:b, s:s, s:s, s:s}", "yes", 0, "why",
			 cache->message, "cost", NO_CACHE_COST, "remedy",
			 PATH_CACHE_REMEDY);
}

static json_t *
describe_wasm(void)
{
	own(interpreter) struct interpreter in = { 0 };
	struct remit_error err;

	if (discover_wasm(&in, &err) == 0)
		return json_pack("{s:b, s:s}", "yes", 1, "program", in.real);
	return json_pack("{s:b, s:s, s:s}", "yes", 0, "why", err.message,
			 "remedy", err.remedy);
}

static void
print_json(const struct site *s, const struct remit_error *python,
	   const struct remit_error *cache)
{
	json_t *doc = host_to_json(&s->host);

	for (int t = 0; t < TIER_COUNT; t++)
		if (t == TIER_LOCAL || t == TIER_LANDLOCK)
			json_object_set_new(
				doc, tiers[t].name,
				json_boolean(
					tier_works(&s->host, (enum tier)t) &&
					!python));
	json_object_set_new(doc, "python",
			    python ? json_null()
				   : json_string(s->interpreter.executable));
	if (python)
		json_object_set_new(doc, "python_error",
				    json_string(python->message));
	json_object_set_new(doc, "wasm", describe_wasm());
	json_object_set_new(doc, "cache", describe_cache(cache));
	json_object_set_new(doc, "foreign_apis",
			    json_boolean(foreign_is_built));
	json_dumpf(doc, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(doc);
}

struct doctor {
	struct flags flags;
	bool json, clean;
};

static void
doctor_free(struct doctor *d)
{
	flags_free(&d->flags);
}

static int
examine_host(const struct doctor *d, struct remit_error *err)
{
	own(policy) struct policy policy = { 0 };
	own(site) struct site site = { 0 };
	struct remit_error python, cache;
	bool bad, uncached;

	/* Do not use the cache: the user wants the current state. */
	if (cli_policy(&d->flags, &policy, err) < 0 ||
	    site_find_host(&site, err) < 0 ||
	    probe_host(&site.host, site.runtime_dir, err) < 0)
		return -1;
	bad = discover_interpreter(&site.interpreter, policy.python,
				   site.runtime_dir, &python) < 0;
	uncached = path_cache_try(&cache) < 0;
	if (d->json)
		print_json(&site, bad ? &python : NULL,
			   uncached ? &cache : NULL);
	else
		print_host(&site, &policy, bad ? &python : NULL,
			   uncached ? &cache : NULL);
	return tier_works(&site.host, TIER_LOCAL) && !bad ? 0 : 1;
}

static int
doctor_command(int argc, char **argv)
{
	own(doctor) struct doctor d = { 0 };
	struct remit_error err;
	int exit_code;

	if (cli_parse(&command_doctor, &d, argc, argv, &err) < 0)
		return cli_error(&err);
	if (d.clean) {
		printf("removed %u cgroups and %u workspaces of killed "
		       "keepers\n",
		       cgroup_home_clean(true), workspace_clean());
		return 0;
	}
	exit_code = examine_host(&d, &err);
	return exit_code < 0 ? cli_error(&err) : exit_code;
}

static const struct option doctor_rows[] = {
	{
		.name = "json",
		.kind = OPTION_FLAG,
		.help = "print the findings as JSON",
		OPTION_AT(struct doctor, json),
	},
	{
		.name = "clean",
		.kind = OPTION_FLAG,
		.help = "only remove cgroups and workspaces that killed "
			"keepers left behind",
		OPTION_AT(struct doctor, clean),
	},
	{ 0 },
};

const struct command command_doctor = {
	.options = {
		.name = "doctor",
		.usage = "[--json] [--clean] [OPTION...]",
		.summary = "show what this machine can enforce",
		.tables = {
			{ .rows = doctor_rows },
			FLAGS_TABLE(struct doctor, flags),
		},
	},
	.run = doctor_command,
};
