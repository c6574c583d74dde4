/*
 * plan_packages: packages that are installed before a run, and those that code
 * may have installed while it runs. It cannot install any itself.
 */
#include <stdio.h>
#include <string.h>

#include "policy/host.h"
#include "policy/plan/part.h"
#include "policy/rules/host_rule.h"
#include "policy/rules/package_rule.h"

static int
check_sources(const struct policy *p, struct remit_error *err)
{
	struct host_rules hosts;
	struct package_url u;

	if (strcmp(p->package_index, PACKAGE_INDEX_DEFAULT) != 0 &&
	    package_url_read("package_index", p->package_index, &u, err) < 0)
		return -1;
	for (size_t i = 0; i < p->package_direct.count; i++)
		if (package_direct_check(p->package_direct.items[i], err) < 0)
			return -1;
	if (host_rules_read(&p->package_hosts, &hosts, err) < 0) {
		snprintf(err->where, sizeof(err->where), "package_hosts");
		return -1;
	}
	return 0;
}

int
decide_packages(struct decision *d, struct remit_error *err)
{
	const struct list *l = &d->policy->packages;
	struct package_rule r;

	for (size_t i = 0; i < l->count; i++)
		if (package_rule_read(l->items[i], &r, err) < 0)
			return -1;
	if (check_sources(d->policy, err) < 0)
		return -1;
	/* The jail's user may not read the cache of another user. */
	if (is_bare(d) && d->host->by_root)
		return fail_refused(
			err, d->field->name,
			"Run as an ordinary user, or use the tier local.",
			"without namespaces, the code of a jail started by "
			"root runs as a user who may not read root's packages");
	plan_note_kept(d, MECH(MOUNT_NAMESPACE));
	plan_note_kept(d, MECH(LANDLOCK));
	snprintf(d->row->note, sizeof(d->row->note),
		 "installed before the run in a separate jail; read-only in "
		 "this one");
	return 0;
}

int
plan_check_packages(const struct plan *p, struct remit_error *err)
{
	const char *field = p->policy->package_installation
				    ? "package_installation"
				    : "packages";

	if (tiers[p->tier].jailed ||
	    (!package_rule_any(p->policy) && !p->policy->package_installation))
		return 0;
	return fail_refused(err, field,
			    "Use the tier local, or leave the field out.",
			    "the tier \"%s\" has no jail to mount packages in",
			    tiers[p->tier].name);
}

/* ---- whether a package could be added ---- */

static bool
names_package(const struct policy *p, const char *name)
{
	struct package_rule want, have;
	struct remit_error err;

	if (package_rule_read(name, &want, &err) < 0)
		return false;
	for (size_t i = 0; i < p->packages.count; i++)
		if (package_rule_read(p->packages.items[i], &have, &err) == 0 &&
		    !strcmp(have.name, want.name))
			return true;
	return false;
}

/* Whether pip, a source of packages and a jail of the tier local are
   available. */
static bool
can_install(const struct policy *p, const struct interpreter *in,
	    const struct host *h)
{
	bool has_index = !p->package_offline &&
			 (in->package_index ||
			  strcmp(p->package_index, PACKAGE_INDEX_DEFAULT) != 0);

	return in->pip && (has_index || p->package_links.count) &&
	       host_lacks(h, TIER_LOCAL) == CAN_COUNT;
}

bool
plan_accepts_package(const struct plan *p, const struct host *host,
		     const char *name)
{
	own(policy) struct policy more = { 0 };
	own(plan) struct plan plan = { 0 };
	struct plan_job job = { .session = p->session,
				.forkable = p->forkable };
	struct remit_error err;

	return !names_package(p->policy, name) &&
	       can_install(p->policy, p->interpreter, host) &&
	       policy_copy(&more, p->policy) == 0 &&
	       list_add(&more.packages, name) == 0 &&
	       plan_build(&plan, &more, &job, host, p->interpreter, &err) == 0;
}

/* ---- packages that the code may have installed ---- */

#define LIST_INSTEAD                                                       \
	"List the packages with --package: they are installed before the " \
	"run."

/* A layer is mounted into the jail while code runs in it: that needs a mount
   namespace, and code. */
static int
check_installation(const struct decision *d, struct remit_error *err)
{
	const char *name = d->field->name;

	if (is_bare(d))
		return fail_refused(err, name, LIST_INSTEAD,
				    "the tier \"%s\" has no mount namespace "
				    "into which packages could be mounted "
				    "while code runs",
				    tiers[d->plan->tier].name);
	if (is_wasm(d))
		return plan_refuse_wasm(d, "has no packages yet", err);
	if (d->plan->tier == TIER_STATIC)
		return fail_refused(err, name, LIST_INSTEAD,
				    "nothing runs in the tier \"%s\"",
				    tiers[d->plan->tier].name);
	if (check_sources(d->policy, err) < 0)
		return -1;
	if (!can_install(d->policy, d->plan->interpreter, d->host))
		return fail_refused(err, name,
				    "Use a Python with pip (python3-pip), and "
				    "an index (--index-url) or folders "
				    "(--find-links).",
				    "packages cannot be installed with this "
				    "interpreter: pip is missing, or there is "
				    "no index and no folder with packages");
	return 0;
}

int
decide_installation(struct decision *d, struct remit_error *err)
{
	bool installs = d->policy->package_installation;

	if (installs && check_installation(d, err) < 0)
		return -1;
	plan_note_kept(d, MECH(MOUNT_NAMESPACE));
	plan_note_kept(d, MECH(LANDLOCK));
	if (d->policy->network_access != NETWORK_HOST)
		plan_note_kept(d, MECH(NETWORK_NAMESPACE));
	plan_note_kept(d, MECH(SECCOMP));
	d->plan->installs = installs;
	if (installs)
		snprintf(d->row->note, sizeof(d->row->note),
			 "by name and version, in a separate jail; at most %d "
			 "times; read-only in this one",
			 PLAN_INSTALLS_MAX);
	return 0;
}
