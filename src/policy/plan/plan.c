#include "policy/plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "policy/plan/part.h"
#include "policy/rules/package_rule.h"
#include "policy/rules/path_rule.h"

const char *const strength_names[] = {
	[STRENGTH_ENFORCED] = "enforced",
	[STRENGTH_FALLBACK] = "fallback",
	[STRENGTH_GRANTED] = "granted",
	[STRENGTH_NONE] = "not_enforced",
};

bool
plan_note_kept(struct decision *d, uint64_t mechanism)
{
	/* Deciders are common to all tiers. The field table says which
	   mechanisms a tier has. */
	if (!plan_keeps(d->plan, mechanism) ||
	    !(d->field->kept[d->plan->tier] & mechanism))
		return false;
	d->row->mechanisms |= mechanism;
	return true;
}

void
plan_grant(struct decision *d, const char *note)
{
	d->row->mechanisms = 0;
	d->row->strength = STRENGTH_GRANTED;
	snprintf(d->row->note, sizeof(d->row->note), "%s", note);
}

/* Decides a limit that cannot be enforced here: refuses the policy unless the
   limit is set to unlimited. `why` is the reason of the refusal, or the note of
   the granted row. */
static int
lift_or_refuse(struct decision *d, const char *why, struct remit_error *err)
{
	char remedy[120];

	if (*FIELD_PTR(d->policy, d->field, uint64_t) == POLICY_UNLIMITED) {
		plan_grant(d, why);
		return 0;
	}
	snprintf(remedy, sizeof(remedy),
		 "Run without the limit: --%s unlimited. --preset landlock "
		 "does that for all limits that this tier cannot enforce.",
		 d->field->short_name);
	return fail_refused(
		err, d->field->name, remedy,
		"the tier \"%s\" cannot enforce this limit here: %s",
		tiers[d->plan->tier].name, why);
}

int
plan_refuse_wasm(const struct decision *d, const char *why,
		 struct remit_error *err)
{
	return fail_refused(err, d->field->name,
			    "Use the tier local, or leave the field out.",
			    "the tier \"%s\" %s", tiers[d->plan->tier].name,
			    why);
}

static int
decide_subprocess(struct decision *d, struct remit_error *err)
{
	if (d->policy->subprocess_execution && is_wasm(d))
		return plan_refuse_wasm(d,
					"has one process: WebAssembly has no "
					"way to start another",
					err);
	if (d->policy->subprocess_execution && is_bare(d))
		return fail_refused(
			err, d->field->name,
			"Leave it off, or use the tier local.",
			"the tier \"%s\" allows only one process: without a "
			"pid namespace, others could outlive the run",
			tiers[d->plan->tier].name);
	if (d->policy->subprocess_execution) {
		d->plan->filter |= PLAN_FILTER_SUBPROCESS;
		d->plan->limits.many_processes = true;
		/* Code must not execute a program that it wrote itself unless
		   workspace_execution grants that: the workspace is noexec, and
		   memory files are noexec or refused (jail_fill_params()). */
		plan_grant(d, "only programs of the runtime, /usr/bin and "
			      "/usr/local/bin");
		return 0;
	}
	plan_note_kept(d, MECH(SECCOMP));
	plan_note_kept(d, MECH(LANDLOCK));
	return 0;
}

static int
decide_workspace_execution(struct decision *d, struct remit_error *err)
{
	if (!d->policy->workspace_execution) {
		plan_note_kept(d, MECH(NOEXEC_MOUNT));
		plan_note_kept(d, MECH(LANDLOCK));
		return 0;
	}
	if (!d->policy->subprocess_execution)
		return fail_refused(err, d->field->name,
				    "Leave it off, or grant both with "
				    "--subprocess --workspace-exec.",
				    "the code may not start any program: "
				    "subprocess_execution is off");
	d->plan->runs_workspace = true;
	plan_grant(d, "also files that the code wrote in its workspace and "
		      "/tmp; none of them has setuid rights");
	return 0;
}

static int
decide_env_access(struct decision *d, struct remit_error *err)
{
	(void)err;
	if (d->policy->env_var_access)
		plan_grant(d, "the caller's whole environment is visible");
	else
		plan_note_kept(d, MECH(EMPTY_ENVIRONMENT));
	return 0;
}

static int
decide_timeout(struct decision *d, struct remit_error *err)
{
	(void)err;
	if (d->policy->timeout_ms == POLICY_UNLIMITED)
		plan_grant(d, "no deadline");
	else
		plan_note_kept(d, MECH(TIMER));
	return 0;
}

/* RLIMIT_CPU counts from the start of a process and cannot be raised for each
   cell, so only the keeper's clock limits cells. */
static int
decide_cell_cpu(struct decision *d, struct remit_error *err)
{
	const struct policy *p = d->policy;

	if (plan_note_kept(d, MECH(CPU_CLOCK)))
		d->plan->limits.cpu_clock_ms = p->cpu_ms;
	if (!p->subprocess_execution || d->plan->limits.cpu_cgroup_ms)
		return 0;
	return plan_refuse_group(
		d, err,
		"Run as root or in a writable cgroup, or without a session.",
		"cannot be enforced for each cell of a session with "
		"subprocess_execution on: no writable cpu cgroup (%s)",
		d->host->can[CAN_CGROUP_CPU].why);
}

static int
decide_cpu(struct decision *d, struct remit_error *err)
{
	const struct policy *p = d->policy;
	struct plan_limits *l = &d->plan->limits;
	bool group = d->host->can[CAN_CGROUP_CPU].yes;

	if (p->cpu_ms == POLICY_UNLIMITED) {
		plan_grant(d, "no limit");
		return 0;
	}
	if (group && plan_note_kept(d, MECH(CGROUP_CPU)))
		l->cpu_cgroup_ms = p->cpu_ms;
	if (d->job->session)
		return decide_cell_cpu(d, err);
	if (plan_note_kept(d, MECH(RLIMIT_CPU)))
		/* Add one second: the keeper's clock is the exact limit, and
		   must be first. */
		l->cpu_rlimit_s = (p->cpu_ms + 999) / 1000 + 1;
	if (!p->subprocess_execution || group)
		return 0;
	if (!p->cpu_fallback)
		return plan_refuse_group(
			d, err,
			"Run as root or in a writable cgroup, or accept a "
			"limit for each process: --cpu-fallback per_process "
			"--memory-fallback per_process.",
			"cannot be enforced for all processes together with "
			"subprocess_execution on: no writable cpu cgroup (%s)",
			d->host->can[CAN_CGROUP_CPU].why);
	d->row->strength = STRENGTH_FALLBACK;
	snprintf(d->row->note, sizeof(d->row->note),
		 "for each process alone; only the timeout limits them "
		 "together");
	return 0;
}

static int
decide_cpus(struct decision *d, struct remit_error *err)
{
	(void)err;
	if (plan_note_kept(d, MECH(AFFINITY)))
		d->plan->limits.cpus = d->policy->cpus < d->host->cpus
					       ? d->policy->cpus
					       : d->host->cpus;
	return 0;
}

/*
 * Without a user namespace, RLIMIT_NPROC counts all processes of the user. It
 * is exact only if root starts the jail, because then the jail's user has no
 * other processes.
 */
static int
decide_threads(struct decision *d, struct remit_error *err)
{
	struct plan_limits *l = &d->plan->limits;
	bool group = d->host->can[CAN_CGROUP_PIDS].yes;

	if (d->policy->processes == POLICY_UNLIMITED ||
	    (!d->host->by_root && !group))
		return lift_or_refuse(
			d, "the only limit of threads is that of the user",
			err);
	if (d->host->by_root && plan_note_kept(d, MECH(RLIMIT_NPROC)))
		l->nproc = d->policy->processes;
	if (group && plan_note_kept(d, MECH(CGROUP_PIDS)))
		l->pids_cgroup = d->policy->processes;
	return 0;
}

static int
decide_processes(struct decision *d, struct remit_error *err)
{
	struct plan_limits *l = &d->plan->limits;

	if (is_bare(d))
		return decide_threads(d, err);
	/* Add one for the jail's pid 1, which counts as well. */
	if (plan_note_kept(d, MECH(RLIMIT_NPROC)))
		l->nproc = d->policy->processes + 1;
	if (d->host->can[CAN_CGROUP_PIDS].yes &&
	    plan_note_kept(d, MECH(CGROUP_PIDS)))
		l->pids_cgroup = d->policy->processes + 1;
	return 0;
}

static int
decide_file_bytes(struct decision *d, struct remit_error *err)
{
	(void)err;
	if (d->policy->file_bytes == POLICY_UNLIMITED)
		plan_grant(d, "limited by disk_bytes");
	else if (plan_note_kept(d, MECH(RLIMIT_FSIZE)))
		d->plan->limits.file_bytes = d->policy->file_bytes;
	return 0;
}

/* Notes that the limit does not apply to directories of mode direct. */
static void
note_direct(struct decision *d)
{
	size_t used = strlen(d->row->note);

	if (!d->plan->has_direct)
		return;
	d->row->strength = STRENGTH_FALLBACK;
	snprintf(d->row->note + used, sizeof(d->row->note) - used,
		 "%snot for folders of mode direct", used ? "; " : "");
}

static int
decide_disk(struct decision *d, struct remit_error *err)
{
	uint64_t bytes = d->policy->disk_bytes;

	(void)err;
	/* If files count against memory_bytes, the limit may be lower. */
	if (d->plan->disk_share_bytes && d->plan->disk_share_bytes < bytes) {
		bytes = d->plan->disk_share_bytes;
		snprintf(d->row->note, sizeof(d->row->note),
			 "%llu MiB here: files count against memory_bytes "
			 "(no cgroup)",
			 (unsigned long long)bytes >> 20);
	}
	if (plan_note_kept(d, MECH(TMPFS_SIZE)))
		d->plan->limits.tmpfs_bytes = bytes;
	note_direct(d);
	return 0;
}

static int
decide_files(struct decision *d, struct remit_error *err)
{
	(void)err;
	if (plan_note_kept(d, MECH(TMPFS_INODES)))
		d->plan->limits.tmpfs_inodes = d->policy->files;
	note_direct(d);
	return 0;
}

static int
decide_open_files(struct decision *d, struct remit_error *err)
{
	(void)err;
	if (plan_note_kept(d, MECH(RLIMIT_NOFILE)))
		d->plan->limits.open_files = d->policy->open_files;
	return 0;
}

static int
decide_validator(struct decision *d, struct remit_error *err)
{
	(void)err;
	if (field_is_default(d->policy, d->field))
		d->row->present = false; /* off: nothing is promised */
	else if (plan_note_kept(d, MECH(VALIDATOR)))
		snprintf(d->row->note, sizeof(d->row->note),
			 "checks the syntax only: advice, not a wall");
	return 0;
}

static int
decide_exports(struct decision *d, struct remit_error *err)
{
	const struct list *l = &d->policy->artifact_export_paths;
	char path[PATH_RULE_SIZE];

	for (size_t i = 0; i < l->count; i++)
		if (path_rule_workspace(d->policy, l->items[i], path,
					d->field->name, err) < 0)
			return -1;
	d->plan->exports = l->count > 0;
	d->row->present = d->plan->exports;
	plan_note_kept(d, MECH(OPENAT2));
	return 0;
}

static int
decide_export_cap(struct decision *d, struct remit_error *err)
{
	(void)err;
	d->row->present = d->plan->exports;
	plan_note_kept(d, MECH(EXPORT_CAP));
	return 0;
}

/* A field without a decider is enforced by all mechanisms of its row. */
static decide_fn *const deciders[FIELD_TOTAL] = {
	[F_MOUNTS] = decide_mounts,
	[F_COMMIT_NAMES] = decide_commit_names,
	[F_FILESYSTEM_READ_ROOTS] = decide_read_roots,
	[F_FILESYSTEM_WRITE_ROOTS] = decide_write_roots,
	[F_NETWORK_ACCESS] = decide_network,
	[F_NETWORK_ALLOW] = decide_hosts,
	[F_CREDENTIALS] = decide_credentials,
	[F_PACKAGE_INSTALLATION] = decide_installation,
	[F_PACKAGES] = decide_packages,
	[F_SUBPROCESS_EXECUTION] = decide_subprocess,
	[F_WORKSPACE_EXECUTION] = decide_workspace_execution,
	[F_ENV_VAR_ACCESS] = decide_env_access,
	[F_TIMEOUT] = decide_timeout,
	[F_CPU_SECONDS] = decide_cpu,
	[F_CPUS] = decide_cpus,
	[F_MEMORY_BYTES] = decide_memory,
	[F_PROCESSES] = decide_processes,
	[F_DISK_BYTES] = decide_disk,
	[F_FILES] = decide_files,
	[F_FILE_BYTES] = decide_file_bytes,
	[F_OPEN_FILES] = decide_open_files,
	[F_ARTIFACT_EXPORT_PATHS] = decide_exports,
	[F_ARTIFACT_FILE_BYTES] = decide_export_cap,
	[F_ARTIFACT_BYTES] = decide_export_cap,
	[F_ARTIFACT_FILES] = decide_export_cap,
	[F_ARTIFACT_DEPTH] = decide_export_cap,
	[F_ARTIFACT_TIME] = decide_export_cap,
	[F_VALIDATOR] = decide_validator,
	[F_ALLOWED_IMPORTS] = decide_validator,
	[F_BLOCKED_IMPORTS] = decide_validator,
	[F_ALLOWED_BUILTINS] = decide_validator,
	[F_BLOCKED_BUILTINS] = decide_validator,
	[F_ALLOWED_OS_ATTRS] = decide_validator,
	[F_ALLOWED_NODES] = decide_validator,
};

static int
check_tier(const struct policy *p, const struct host *h,
	   struct remit_error *err)
{
	const struct tier_info *t = &tiers[p->tier];
	enum capability lacks;

	if (!t->built)
		return fail_refused(
			err, "tier", "Use the tier local, or unsafe.",
			"the tier \"%s\" is not built yet", t->name);
	if (!t->jailed)
		return 0;
	lacks = host_lacks(h, (enum tier)p->tier);
	if (lacks != CAN_COUNT)
		return fail_refused(
			err, "tier", host_remedy(h, lacks),
			"the tier \"%s\" needs %s (%s), and here: %s", t->name,
			capabilities[lacks].name, capabilities[lacks].sentence,
			h->can[lacks].why);
	/* Before ABI 3, Landlock does not check truncate(2). */
	if (t->bare && h->landlock_abi < 3)
		return fail_refused(
			err, "tier", capabilities[CAN_LANDLOCK_TIER].remedy,
			"the tier \"%s\" needs Landlock ABI 3, and here it is "
			"%d",
			t->name, h->landlock_abi);
	return 0;
}

/* Refuses the value "unlimited" for fields that the tier can enforce. */
static int
check_lifted(const struct policy *p, struct remit_error *err)
{
	static const enum field_id only_bare[] = { F_PROCESSES, F_DISK_BYTES,
						   F_FILES };

	for (size_t i = 0; i < ARRAY_LEN(only_bare); i++) {
		const struct field *f = &fields[only_bare[i]];

		if (*FIELD_PTR(p, f, const uint64_t) != POLICY_UNLIMITED ||
		    !tiers[p->tier].jailed || tiers[p->tier].bare)
			continue;
		return fail_refused(err, f->name, "Set it to a number.",
				    "this limit may be unlimited only in a "
				    "tier that cannot enforce it");
	}
	return 0;
}

#define FORKABLE_REMEDY "Leave it out, or open the session without branches."

/* Refuses fields whose resources a branch would share with its session. */
static int
check_branches(const struct policy *p, struct remit_error *err)
{
	if (p->tier == TIER_WASM)
		return fail_refused(err, "tier", "Use the tier local.",
				    "a session of the tier \"%s\" cannot have "
				    "branches: its interpreter cannot fork",
				    tiers[p->tier].name);
	if (!tiers[p->tier].jailed || tiers[p->tier].bare)
		return fail_refused(err, "tier", "Use the tier local.",
				    "a session of the tier \"%s\" cannot have "
				    "branches: it has no namespaces to nest",
				    tiers[p->tier].name);
	if (p->subprocess_execution)
		return fail_refused(err, "subprocess_execution",
				    FORKABLE_REMEDY,
				    "processes of a branch could not be "
				    "distinguished from those of its session");
	if (p->network_access || names_hosts(p))
		return fail_refused(err, "network_access", FORKABLE_REMEDY,
				    "branches would share the connections of "
				    "their session");
	return 0;
}

static int
check_job(const struct policy *p, const struct plan_job *job,
	  struct remit_error *err)
{
	if (job->session && p->tier == TIER_STATIC)
		return fail_refused(err, "tier", "Use the tier local.",
				    "the tier \"%s\" runs no code, so it has "
				    "no sessions",
				    tiers[p->tier].name);
	if (job->forkable && check_branches(p, err) < 0)
		return -1;
	if (job->code_bytes > p->code_bytes)
		return fail(err, REMIT_E_INPUT,
			    "the code has %llu bytes, and code_bytes allows "
			    "%llu",
			    (unsigned long long)job->code_bytes,
			    (unsigned long long)p->code_bytes);
	if (job->stdin_bytes > p->stdin_bytes)
		return fail(err, REMIT_E_INPUT,
			    "standard input has %llu bytes, and stdin_bytes "
			    "allows %llu",
			    (unsigned long long)job->stdin_bytes,
			    (unsigned long long)p->stdin_bytes);
	return 0;
}

/* Refuses a field that does not exist in the tier, unless it has its
   default. */
static int
check_absent(const struct decision *d, struct remit_error *err)
{
	if (field_is_default(d->policy, d->field))
		return 0;
	return fail_refused(err, d->field->name,
			    "Use the tier local, or leave the field out.",
			    "the tier \"%s\" %s", tiers[d->plan->tier].name,
			    d->field == &fields[F_NETWORK_ALLOW] && is_bare(d)
				    ? "has no network namespace, and nothing "
				      "else can restrict code to some hosts"
				    : "does not support it");
}

/* Whether a list is empty, or the workspace where it is by default, so that
   nothing is promised. An empty network_allow does not promise that no host can
   be reached: network_access does. */
static bool
promises_nothing(const struct decision *d)
{
	if (d->field == &fields[F_NETWORK_ALLOW])
		return !names_hosts(d->policy);
	if (d->field == &fields[F_CREDENTIALS])
		return !d->policy->credentials.count;
	if (d->field == &fields[F_WORKSPACE] ||
	    d->field == &fields[F_WORKSPACE_ALIASES])
		return field_is_default(d->policy, d->field);
	return d->field == &fields[F_PACKAGES] && !package_rule_any(d->policy);
}

static int
decide_row(struct decision *d, struct remit_error *err)
{
	enum tier tier = d->plan->tier;
	uint64_t kept = d->field->kept[tier];

	if (d->field->setting)
		return 0;
	if (promises_nothing(d))
		return 0;
	if (d->field == &fields[F_SESSION_IDLE] && !d->job->session)
		return 0;
	if (d->field == &fields[F_BRANCHES] && !d->job->forkable)
		return 0;
	d->row->present =
		kept || d->field->may_be_unlimited || !tiers[tier].jailed;
	if (!d->row->present)
		return check_absent(d, err);
	if (!kept && tiers[tier].jailed)
		return lift_or_refuse(
			d, "the workspace is a folder on the host's disk", err);
	if (!kept) {
		d->row->strength = STRENGTH_NONE;
		return 0;
	}
	if (deciders[d->field - fields])
		return deciders[d->field - fields](d, err);
	plan_note_kept(d, kept);
	return 0;
}

bool
plan_can_be_warm(const struct plan *p)
{
	/* A zygote's child cannot set memfd_noexec when it joins its jail. That
	   matters only if programs can be executed. */
	bool exec = p->filter & PLAN_FILTER_SUBPROCESS && p->memfd_noexec;

	/* Zygotes are not on the host's network, and a jail that is built in
	   advance cannot have credentials that a client sends later. */
	return p->tier == TIER_LOCAL && !p->has_given &&
	       (!(p->filter & PLAN_FILTER_NETWORK) || p->proxied ||
		p->has_loopback) &&
	       !exec;
}

static int
check_preload(const struct plan *p, struct remit_error *err)
{
	if (!p->policy->preload.count || plan_can_be_warm(p))
		return 0;
	return fail_refused(
		err, "preload",
		"Leave preload out: code can still import the modules.",
		"modules can be preloaded only in the tier \"local\", without "
		"the host's network and without credentials that the client "
		"sends; if root started Remit, also without subprocesses");
}

/* Refuses writable mounts in a tier without a jail, where changes could not be
   kept apart until the end. */
static int
check_overlays(const struct plan *p, struct remit_error *err)
{
	for (size_t i = 0; i < p->mount_count && !tiers[p->tier].jailed; i++)
		if (p->mounts[i].mode != MOUNT_RO)
			return fail_refused(
				err, fields[p->mounts[i].field].name,
				"Use the tier local.",
				"the tier \"%s\" has no mode \"%s\"",
				tiers[p->tier].name,
				mount_mode_names[p->mounts[i].mode]);
	return 0;
}

/* The interpreter of the tier wasm is part of Remit. */
static int
check_python(const struct policy *p, struct remit_error *err)
{
	if (p->tier != TIER_WASM || field_is_default(p, &fields[F_PYTHON]))
		return 0;
	return fail_refused(err, "python", "Leave the field out.",
			    "the tier \"%s\" runs only the interpreter that "
			    "was built for it",
			    tiers[p->tier].name);
}

static int
check_exports(const struct plan *p, struct remit_error *err)
{
	if (!p->policy->artifact_export_paths.count || tiers[p->tier].jailed)
		return 0;
	return fail_refused(
		err, "artifact_export_paths",
		"Use the tier local, or leave the field out.",
		"the tier \"%s\" has no workspace to export files from",
		tiers[p->tier].name);
}

/* Refuses writable directories, which a branch would share with its session. */
static int
check_forkable(struct plan *p, struct remit_error *err)
{
	if (!p->forkable)
		return 0;
	for (size_t i = 0; i < p->mount_count; i++)
		if (p->mounts[i].mode != MOUNT_RO)
			return fail_refused(
				err, fields[p->mounts[i].field].name,
				FORKABLE_REMEDY,
				"a branch would write to a folder of its "
				"session (mode \"%s\")",
				mount_mode_names[p->mounts[i].mode]);
	p->filter |= PLAN_FILTER_FORKABLE;
	p->limits.keeps_init = true;
	return 0;
}

int
plan_build(struct plan *out, const struct policy *policy,
	   const struct plan_job *job, const struct host *host,
	   const struct interpreter *in, struct remit_error *err)
{
	own(plan) struct plan p = {
		.tier = (enum tier)policy->tier,
		.policy = policy,
		.interpreter = in,
		.by_root = host->by_root,
		.landlock_abi = host->landlock_abi,
		.memfd_noexec = host->can[CAN_MEMFD_NOEXEC].yes,
		.session = job->session,
		.forkable = job->forkable,
		.left_out = host_left_out(host),
	};

	/* Without namespaces datagrams and file locks could reach other
	   processes. The strict filter allows neither. */
	if (tiers[policy->tier].bare)
		p.filter |= PLAN_FILTER_STRICT_MEMORY;
	if (policy->tier == TIER_WASM)
		p.filter |= PLAN_FILTER_WASM;
	if (check_tier(policy, host, err) < 0 ||
	    check_lifted(policy, err) < 0 || check_python(policy, err) < 0 ||
	    check_job(policy, job, err) < 0)
		return -1;
	for (int i = 0; i < FIELD_TOTAL; i++) {
		struct decision d = {
			.plan = &p,
			.policy = policy,
			.host = host,
			.job = job,
			.field = &fields[i],
			.row = &p.rows[i],
		};

		if (decide_row(&d, err) < 0)
			return -1;
	}
	if (plan_list_mounts(&p, err) < 0 ||
	    plan_check_workspace(&p, err) < 0 || check_preload(&p, err) < 0 ||
	    check_exports(&p, err) < 0 || check_overlays(&p, err) < 0 ||
	    plan_check_proxy(&p, err) < 0 || plan_check_packages(&p, err) < 0 ||
	    check_forkable(&p, err) < 0)
		return -1;
	plan_decide_unix_sockets(&p);
	/* Other tiers have a directory of the host as workspace. */
	p.watched = p.session && p.tier == TIER_LOCAL;
	p.private_network = p.own_network && (p.proxied || p.has_loopback ||
					      p.filter & PLAN_FILTER_UNIX);
	p.has_ports = p.own_network && (p.proxied || p.has_loopback);
	*out = p;
	p.mounts = NULL;
	p.places = (struct list){ 0 };
	return 0;
}

void
plan_free(struct plan *p)
{
	free(p->mounts);
	list_free(&p->places);
	p->mounts = NULL;
	p->mount_count = 0;
}

json_t *
plan_enforcement(const struct plan *p)
{
	json_t *all = json_array();

	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct plan_row *r = &p->rows[i];
		json_t *names, *row;

		if (!r->present)
			continue;
		names = json_array();
		for (int m = 0; m < MECH_COUNT; m++)
			if (r->mechanisms & UINT64_C(1) << m)
				json_array_append_new(
					names, json_string(mechanisms[m].name));
		row = json_pack("{s:s, s:o, s:o, s:s}", "field", fields[i].name,
				"value", field_to_json(p->policy, &fields[i]),
				"mechanisms", names, "strength",
				strength_names[r->strength]);
		if (r->note[0])
			json_object_set_new(row, "note", json_string(r->note));
		json_array_append_new(all, row);
	}
	return all;
}

json_t *
plan_to_json(const struct plan *p)
{
	return json_pack("{s:s, s:s, s:o}", "tier", tiers[p->tier].name,
			 "python", p->interpreter->executable, "enforcement",
			 plan_enforcement(p));
}
