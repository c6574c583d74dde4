#include "jail/mount/root_template.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>

#include "jail/lock/step.h"
#include "jail/part.h"

bool
root_template_fits(const struct plan *plan)
{
	if (!plan_keeps(plan, MECH(MOUNT_NAMESPACE)))
		return false;
	for (size_t i = 0; i < plan->mount_count; i++) {
		const struct plan_mount *m = &plan->mounts[i];

		if (!m->runtime || jail_is_writable(plan, m->jail))
			return false;
	}
	return true;
}

static int
open_directory(const char *path)
{
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int
save_home(struct root_template *m, struct remit_error *err)
{
	m->home = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	m->home_root = open_directory("/");
	m->home_directory = open_directory(".");
	if (m->home < 0 || m->home_root < 0 || m->home_directory < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"open the keeper's root and mount namespace");
	return 0;
}

int
root_template_enter(const struct root_template *m)
{
	return setns(m->mounts, CLONE_NEWNS);
}

void
root_template_leave(const struct root_template *m)
{
	/* A keeper that cannot return to its root must not continue
	   elsewhere. */
	if (setns(m->home, CLONE_NEWNS) < 0 || fchdir(m->home_root) < 0 ||
	    chroot(".") < 0 || fchdir(m->home_directory) < 0)
		_exit(1);
}

/* Called in a new mount namespace: build the root and keep the namespace. */
static int
root_template_build(struct root_template *m, struct blueprint *b,
		    struct remit_error *err)
{
	own_fd int there = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	struct step_report r = { 0 };

	if (there < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open the root template");
	if (build_run(b, &r.step, &r.detail) < 0) {
		r.sys_errno = errno;
		return jail_step_failed(&r, b->plan, err);
	}
	b->own.etc = open_directory("/etc");
	if (b->own.etc < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"open /etc of the root template");
	m->mounts = take_fd(&there);
	return 0;
}

int
root_template_make(struct root_template *m, const struct plan *plan,
		   const struct jail_site *site, struct remit_error *err)
{
	own(blueprint) struct blueprint b =
		BLUEPRINT_FOR(plan, site, BLUEPRINT_ROOT_TEMPLATE);
	int done;

	if (save_home(m, err) < 0 || blueprint_resolve(&b, geteuid(), err) < 0)
		return -1;
	if (unshare(CLONE_NEWNS) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "unshare");
	done = root_template_build(m, &b, err);
	root_template_leave(m);
	if (done < 0)
		return -1;
	m->contents = b.own;
	b.own = (struct contents)CONTENTS_INIT;
	return 0;
}

void
root_template_free(struct root_template *m)
{
	own_fd_close(&m->mounts);
	own_fd_close(&m->home);
	own_fd_close(&m->home_root);
	own_fd_close(&m->home_directory);
	contents_free(&m->contents);
	*m = (struct root_template)ROOT_TEMPLATE_INIT;
}
