#include "keeper/session/task.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "jail/blueprint.h"
#include "policy/fields/field.h"
#include "policy/rules/credential.h"
#include "policy/rules/host_rule.h"
#include "policy/rules/path_rule.h"
#include "wire/record.h"

extern char **environ;

/* The default environment of code; docs/reference/inside.md lists it. */
static const char *const base_environment[] = {
	"TMPDIR=/tmp",	   "LANG=C.UTF-8",	 "TZ=UTC",
	"USER=" JAIL_USER, "LOGNAME=" JAIL_USER, "MPLBACKEND=Agg",
};

#define NO_PROGRAMS_PATH "/usr/local/bin:/usr/bin:/bin"

/* The variables for plans that limit memory by the address space, in which each
   thread would reserve a stack. */
static const char *const single_thread_variables[] = {
	"OPENBLAS_NUM_THREADS=1",
	"OMP_NUM_THREADS=1",
	"MKL_NUM_THREADS=1",
	"NUMEXPR_NUM_THREADS=1",
};

/* The variables for programs that use an explicit proxy (network_proxy). They
   reach addresses inside the jail directly. */
#define PROXY_URL "http://" HOST_PROXY_ADDRESS ":3128"
_Static_assert(HOST_PROXY_PORT == 3128, "as the variables say");
static const char *const proxy_variables[] = {
	"HTTP_PROXY=" PROXY_URL,	"HTTPS_PROXY=" PROXY_URL,
	"http_proxy=" PROXY_URL,	"https_proxy=" PROXY_URL,
	"NO_PROXY=localhost,127.0.0.1", "no_proxy=localhost,127.0.0.1",
};

/* The variables of libraries that have their own certificate authorities. */
static const char *const trust_variables[] = {
	"SSL_CERT_FILE=" JAIL_TRUST,
	"REQUESTS_CA_BUNDLE=" JAIL_TRUST,
	"CURL_CA_BUNDLE=" JAIL_TRUST,
};

static int
add_list(struct buf *out, const char *key, const struct list *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (record_add(out, key, l->items[i]) < 0)
			return -1;
	return 0;
}

/* If the code may start programs, those of the interpreter come first. */
static int
add_path(struct list *out, const struct plan *plan)
{
	const char *path = plan->policy->subprocess_execution
				   ? plan->interpreter->program_path
				   : NO_PROGRAMS_PATH;
	own_mem char *text = NULL;

	if (asprintf(&text, "PATH=%s", path) < 0) {
		text = NULL;
		return -1;
	}
	return list_add(out, text);
}

static int
add_home(struct list *out, const struct plan *plan)
{
	char text[PATH_RULE_PLACE_SIZE + 8];

	snprintf(text, sizeof(text), "HOME=%s", plan->policy->workspace);
	return list_add(out, text);
}

int
task_environment(struct list *out, const struct plan *plan,
		 struct remit_error *err)
{
	int added = add_path(out, plan) < 0 ? -1 : add_home(out, plan);

	for (size_t i = 0; i < ARRAY_LEN(base_environment) && added == 0; i++)
		added = list_add(out, base_environment[i]);
	if (plan->interpreter->font_cache && added == 0)
		added = list_add(out, "MPLCONFIGDIR=/tmp/.matplotlib");
	return added < 0 ? fail_memory(err, "environment") : 0;
}

/* A jail without its own root makes the code write in a directory of the
   host. */
static int
add_workspace_variables(struct buf *out, const struct plan *plan,
			const char *place)
{
	static const struct {
		const char *name, *directory;
	} names[] = {
		{ "HOME", "workspace" },
		{ "TMPDIR", "tmp" },
		{ "MPLCONFIGDIR", "tmp/.matplotlib" },
	};
	size_t count = ARRAY_LEN(names) - !plan->interpreter->font_cache;
	char text[PATH_MAX + 64];

	for (size_t i = 0; place && i < count; i++) {
		snprintf(text, sizeof(text), "%s=%s/%s", names[i].name, place,
			 names[i].directory);
		if (record_add(out, "env", text) < 0)
			return -1;
	}
	return 0;
}

/* Interpreters that the code starts, such as the workers of joblib, do not know
   where the policy's packages are. The first interpreter ignores the variable.
 */
static int
add_packages_path(struct buf *out, const struct plan *plan)
{
	const char *packages = plan->interpreter->package_layer_inside;
	char text[PATH_MAX];

	if (!packages || !plan->policy->subprocess_execution)
		return 0;
	snprintf(text, sizeof(text), "PYTHONPATH=%s", packages);
	return record_add(out, "env", text);
}

/* Libraries require a variable before they send a request. */
static int
add_placeholders(struct buf *out, const struct plan *plan,
		 struct remit_error *err)
{
	struct credentials all;

	if (credentials_read(&plan->policy->credentials, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < all.count; i++) {
		char text[sizeof(all.rows[i].from) + 32];

		snprintf(text, sizeof(text), "%s=" CREDENTIAL_PLACEHOLDER,
			 all.rows[i].from);
		if (all.rows[i].place == CREDENTIAL_IN_VARIABLE &&
		    record_add(out, "env", text) < 0)
			return -1;
	}
	return 0;
}

static int
add_environment(struct buf *out, const struct plan *plan, const char *place,
		struct remit_error *err)
{
	own(list) struct list base = { 0 };
	bool all = plan->policy->env_var_access ||
		   !plan_keeps(plan, MECH(EMPTY_ENVIRONMENT));

	for (char **e = environ; all && *e; e++)
		if (record_add(out, "env", *e) < 0)
			return -1;
	if (task_environment(&base, plan, err) < 0 ||
	    add_list(out, "env", &base) < 0 ||
	    add_workspace_variables(out, plan, place) < 0 ||
	    add_packages_path(out, plan) < 0)
		return -1;
	/* A library that has no address space for its threads may wait for them
	   forever. */
	for (size_t i = 0; (plan->filter & PLAN_FILTER_STRICT_MEMORY ||
			    plan->limits.address_space_bytes) &&
			   i < ARRAY_LEN(single_thread_variables);
	     i++)
		if (record_add(out, "env", single_thread_variables[i]) < 0)
			return -1;
	for (size_t i = 0; plan->proxied && plan->policy->network_proxy &&
			   i < ARRAY_LEN(proxy_variables);
	     i++)
		if (record_add(out, "env", proxy_variables[i]) < 0)
			return -1;
	for (size_t i = 0; plan->ends_tls && i < ARRAY_LEN(trust_variables);
	     i++)
		if (record_add(out, "env", trust_variables[i]) < 0)
			return -1;
	if (add_placeholders(out, plan, err) < 0)
		return -1;
	return add_list(out, "env", &plan->policy->env);
}

/* The settings that a zygote already has. */
static int
add_interpreter(struct buf *out, const struct interpreter *in)
{
	if (record_add(out, "prefix", in->prefix) < 0 ||
	    record_add(out, "exec_prefix", in->exec_prefix) < 0 ||
	    record_add(out, "executable", in->executable) < 0)
		return -1;
	return add_list(out, "path", &in->sys_path);
}

/* A zygote is started without the packages of a policy. */
static int
add_packages(struct buf *out, const struct plan *plan)
{
	const struct interpreter *in = plan->interpreter;

	if (!in->package_layer)
		return 0;
	if (add_list(out, "path", &in->sys_path) < 0)
		return -1;
	return add_list(out, "preload", &plan->policy->preload);
}

/* All fields that the validator enforces. */
static const enum field_id validator_fields[] = {
	F_VALIDATOR,	    F_ALLOWED_IMPORTS,	F_BLOCKED_IMPORTS,
	F_ALLOWED_BUILTINS, F_BLOCKED_BUILTINS, F_ALLOWED_OS_ATTRS,
	F_ALLOWED_NODES,
};

bool
task_is_checked(const struct plan *plan)
{
	if (plan->tier == TIER_STATIC)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(validator_fields); i++)
		if (!field_is_default(plan->policy,
				      &fields[validator_fields[i]]))
			return plan_keeps(plan, MECH(VALIDATOR));
	return false;
}

/* Adds the validator's lists under the names of their fields, and what the
   policy grants, which the validator need not report. */
static int
add_validator_fields(struct buf *out, const struct plan *plan)
{
	const struct policy *p = plan->policy;
	bool network =
		p->network_access != NETWORK_NONE || p->network_allow.count;

	if (!task_is_checked(plan) || !plan_keeps(plan, MECH(VALIDATOR)))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(validator_fields); i++) {
		const struct field *f = &fields[validator_fields[i]];

		if (f->type == FIELD_LIST &&
		    add_list(out, f->name, FIELD_PTR(p, f, const struct list)) <
			    0)
			return -1;
	}
	if (p->validator != VALIDATOR_OFF &&
	    record_add(out, "validator",
		       fields[F_VALIDATOR].choices[p->validator]) < 0)
		return -1;
	if (p->subprocess_execution &&
	    record_add(out, "grant", "subprocess_execution") < 0)
		return -1;
	return network ? record_add(out, "grant", "network") : 0;
}

/* The names of the workspace, by which the caller may call its files. */
static int
add_workspace(struct buf *out, const struct policy *p)
{
	if (record_add(out, "workspace", p->workspace) < 0)
		return -1;
	return add_list(out, "workspace", &p->workspace_aliases);
}

/* The runner respects these limits, and the keeper enforces them. */
static int
add_caps(struct buf *out, const struct policy *p)
{
	char number[24];

	snprintf(number, sizeof(number), "%llu",
		 (unsigned long long)p->value_bytes);
	if (record_add(out, "value_bytes", number) < 0)
		return -1;
	snprintf(number, sizeof(number), "%llu",
		 (unsigned long long)p->display_bytes);
	return record_add(out, "display_bytes", number);
}

int
task_write(struct buf *out, const struct plan *plan, enum task_kind kind,
	   const char *place, struct remit_error *err)
{
	const struct interpreter *in = plan->interpreter;
	const struct policy *p = plan->policy;

	if (record_add(out, "tier", tiers[plan->tier].name) < 0 ||
	    (kind == TASK_WARM_UP && record_add(out, "warm_up", "yes") < 0) ||
	    (kind == TASK_COLD && add_interpreter(out, in) < 0) ||
	    (kind != TASK_COLD && add_packages(out, plan) < 0) ||
	    (plan->session && record_add(out, "session", "yes") < 0) ||
	    (plan->installs && record_add(out, "installs", "yes") < 0) ||
	    ((plan->limits.address_space_bytes || plan->limits.linear_bytes) &&
	     record_add(out, "address_space", "limited") < 0) ||
	    add_caps(out, p) < 0 || add_workspace(out, p) < 0 ||
	    add_list(out, "pth", &in->import_lines) < 0 ||
	    add_environment(out, plan, place, err) < 0 ||
	    add_validator_fields(out, plan) < 0)
		return fail_sys(err, REMIT_E_INPUT,
				"the environment is too large");
	return 0;
}

int
task_write_job(struct buf *out, const struct task_job *job,
	       struct remit_error *err)
{
	char number[24];

	snprintf(number, sizeof(number), "%zu", job->code_len);
	if (record_add(out, "name", job->name) < 0 ||
	    add_list(out, "argv", job->argv) < 0 ||
	    record_add(out, "code_bytes", number) < 0 ||
	    (job->interactive && record_add(out, "interactive", "yes") < 0) ||
	    (job->context && record_add(out, "context", job->context) < 0) ||
	    (job->fresh && record_add(out, "fresh", "yes") < 0) ||
	    (job->env && add_list(out, "env", job->env) < 0) ||
	    (job->stirred && record_add(out, "stirred", "yes") < 0) ||
	    record_add(out, "display_mode",
		       fields[F_DISPLAY_MODE].choices[job->display_mode]) < 0)
		return fail_sys(err, REMIT_E_INPUT,
				"arguments, variables, name or context of the "
				"program");
	return 0;
}
