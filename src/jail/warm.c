/*
 * jail_warm: jails that are built in advance, for a zygote's child to join.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/file/fd.h"
#include "jail/lock/rules.h"
#include "jail/part.h"
#include "jail/zygote.h"

/* The keeper makes the rules that every clone of a root template shares: it has
   all of the template's mounts open. */
static int
prepare_shared_rules(struct blueprint *b, struct remit_error *err)
{
	struct step_report r = { .step = STEP_LANDLOCK_RULES };

	if (!b->root_template || !plan_keeps(b->plan, MECH(LANDLOCK)))
		return 0;
	b->ruleset = rules_begin(b, &r.detail);
	if (b->ruleset >= 0)
		return jail_move_up(&b->ruleset, err);
	r.sys_errno = errno;
	return jail_step_failed(&r, b->plan, err);
}

int
jail_prepare(struct jail *j, const struct plan *plan,
	     const struct jail_site *site,
	     const struct root_template *root_template, uint32_t owner, int in,
	     const char *name, struct remit_error *err)
{
	own(blueprint) struct blueprint b = BLUEPRINT_FOR(
		plan, site, root_template ? BLUEPRINT_CLONE : BLUEPRINT_WARM);

	j->warm = true;
	j->unbuilt = true;
	b.root_template = root_template;
	if (jail_lay_out(j, &b, site, in, name, err) < 0)
		return -1;
	/* The child that joins the jail gets these ends; pid 1 does not. */
	j->entry[JOIN_IN] = take_fd(&b.in);
	j->entry[JOIN_OUT] = take_fd(&b.out);
	j->entry[JOIN_ERR] = take_fd(&b.err);
	j->entry[JOIN_CHANNEL] = take_fd(&b.channel);
	if (cgroup_open_joins(&j->group, true, j->entry + JOIN_GROUP, err) <
		    0 ||
	    prepare_shared_rules(&b, err) < 0 ||
	    blueprint_list_kept(&b, err) < 0)
		return -1;
	return jail_start(j, &b, owner, err);
}

uint64_t
jail_roots(const struct plan *plan)
{
	struct hash h = HASH_INIT;

	for (size_t i = 0; i < plan->mount_count; i++) {
		struct stat st;

		if (plan->mounts[i].runtime)
			continue;
		if (stat(plan->mounts[i].host, &st) < 0)
			st = (struct stat){ 0 };
		hash_number(&h, (uint64_t)st.st_dev);
		hash_number(&h, (uint64_t)st.st_ino);
	}
	return h.value;
}

int
jail_recv_built(struct jail *j, const struct plan *plan,
		struct remit_error *err)
{
	int got[PASS_MAX], built[BUILT_FDS];
	struct step_report r;
	size_t count, fixed_count;

	j->unbuilt = false;
	if (pass_recv(j->lifeline.fd, &r, sizeof(r), got, &count,
		      MSG_DONTWAIT) != sizeof(r))
		return fail_sys(err, REMIT_E_KERNEL, "the jail was not built");
	if (r.step != STEP_READY)
		return jail_step_failed(&r, plan, err);
	/* The remaining descriptors are the writable file systems for its
	   branches. */
	fixed_count = (size_t)__builtin_popcount(r.detail);
	if (count < fixed_count ||
	    pass_place(got, fixed_count, r.detail, built, BUILT_FDS) < 0)
		return fail(err, REMIT_E_INTERNAL,
			    "the jail sent too few descriptors");
	for (size_t i = fixed_count; i < count; i++)
		j->slots[i - fixed_count] = got[i];
	if (plan->forkable && !j->branch &&
	    count - fixed_count != plan->policy->branches)
		return fail(err, REMIT_E_INTERNAL,
			    "the jail sent %zu file systems for branches "
			    "instead of %llu",
			    count - fixed_count,
			    (unsigned long long)plan->policy->branches);
	j->entry[JOIN_RULESET] = built[BUILT_RULESET];
	j->export = built[BUILT_WORKSPACE];
	for (int i = 0; i < PLAN_WRITE_ROOTS_MAX; i++)
		j->write_roots[i].upper = built[BUILT_UPPER + i];
	if (j->warm && j->entry[JOIN_RULESET] < 0 &&
	    plan_keeps(plan, MECH(LANDLOCK)))
		return fail(err, REMIT_E_INTERNAL,
			    "the jail sent no Landlock rules");
	if (j->export < 0 && (plan->exports || plan->watched))
		return fail(err, REMIT_E_INTERNAL,
			    "the jail sent no workspace");
	for (int i = 0; i < plan->write_roots; i++)
		if (j->write_roots[i].upper < 0 &&
		    plan_keeps(plan, MECH(OVERLAY)))
			return fail(err, REMIT_E_INTERNAL,
				    "the jail sent no overlay");
	return 0;
}

static bool
is_namespace(int fd)
{
	return fd >= JOIN_USER_NS && fd <= JOIN_NET_NS;
}

void
jail_close_entry(struct jail *j, bool but_namespaces)
{
	for (int i = 0; i < JOIN_FDS; i++) {
		if (but_namespaces && is_namespace(i))
			continue;
		own_fd_close(&j->entry[i]);
		j->entry[i] = -1;
	}
}

int
jail_join(struct jail *j, const struct plan *plan, struct zygote *z,
	  struct remit_error *err)
{
	struct join_command cmd = { .magic = LOCK_MAGIC };

	jail_fill_params(&cmd.params, plan);
	cmd.params.warm = 1;
	jail_note_fail_step(&cmd.params, STEP_ONE_THREAD, STEP_JAIL_USER);
	jail_note_fail_step(&cmd.params, STEP_SESSION, STEP_NO_NEW_PRIVS);
	jail_note_fail_step(&cmd.params, STEP_CLOSE, STEP_SELF_TEST);
	if (zygote_send(z, &cmd, j->entry, err) < 0)
		return -1;
	jail_close_entry(j,
			 plan->forkable || plan->installs || plan->has_ports);
	return 0;
}
