#include "jail/jail.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/deadline.h"
#include "base/proc.h"
#include "jail/linux_abi.h"
#include "jail/mount/idmap.h"
#include "jail/mount/root_template.h"
#include "jail/part.h"
#include "jail/seccomp/filter.h"
#include "policy/rules/path_rule.h"

_Static_assert((int)PLAN_FILTER_NETWORK == (int)FILTER_NETWORK &&
		       (int)PLAN_FILTER_SUBPROCESS == (int)FILTER_SUBPROCESS &&
		       (int)PLAN_FILTER_FORKABLE == (int)FILTER_FORKABLE &&
		       (int)PLAN_FILTER_STRICT_MEMORY ==
			       (int)FILTER_STRICT_MEMORY &&
		       (int)PLAN_FILTER_UNIX == (int)FILTER_UNIX &&
		       (int)PLAN_FILTER_WASM == (int)FILTER_WASM,
	       "the plan and the filters use the same bits");

int
jail_move_up(int *fd, struct remit_error *err)
{
	int up = fcntl(*fd, F_DUPFD_CLOEXEC, BLUEPRINT_FIRST_FD);

	if (up < 0)
		return fail_sys(err, REMIT_E_KERNEL, "dup");
	own_fd_close(fd);
	*fd = up;
	return 0;
}

static int
make_socket(int *ours, int *theirs, struct remit_error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	*ours = pair[0];
	*theirs = pair[1];
	return jail_move_up(theirs, err);
}

static int
make_pipe(int *ours, int *theirs, struct remit_error *err)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	*ours = pair[0];
	*theirs = pair[1];
	if (fcntl(*ours, F_SETFL, O_NONBLOCK) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fcntl");
	return jail_move_up(theirs, err);
}

/* The code could replace these descriptors by others that a branch would share,
   so remember which ones it was given. */
static int
record_ends(struct jail *j, const struct blueprint *b, struct remit_error *err)
{
	const int all[JAIL_ENDS] = { b->in, b->out, b->err, b->channel };

	for (int i = 0; b->plan->forkable && i < JAIL_ENDS; i++)
		if (proc_file(getpid(), all[i], &j->ends[i]) < 0)
			return fail_sys(err, REMIT_E_KERNEL,
					"read a descriptor's identity");
	return 0;
}

int
jail_make_ends(struct jail *j, struct blueprint *b, int in,
	       struct remit_error *err)
{
	int channel = -1, lifeline = -1, yes = 1;

	b->in = fcntl(in, F_DUPFD_CLOEXEC, BLUEPRINT_FIRST_FD);
	if (b->in < 0)
		return fail_sys(err, REMIT_E_KERNEL, "dup");
	if (make_pipe(&j->out, &b->out, err) < 0 ||
	    make_pipe(&j->err, &b->err, err) < 0 ||
	    make_socket(&channel, &b->channel, err) < 0)
		return -1;
	link_open(&j->channel, channel, PARTY_JAIL);
	if (setsockopt(channel, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "SO_PASSCRED");
	if (record_ends(j, b, err) < 0)
		return -1;
	if (j->no_init)
		return 0;
	if (make_socket(&lifeline, &b->lifeline, err) < 0)
		return -1;
	link_open(&j->lifeline, lifeline, PARTY_INIT);
	return 0;
}

/* As many processors as the plan allows, starting at a random one. */
static void
choose_cpus(cpu_set_t *out, uint64_t count)
{
	cpu_set_t all;
	unsigned start = 0;
	int cpu;

	CPU_ZERO(out);
	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	if (getrandom(&start, sizeof(start), 0) < 0)
		start = 0;
	cpu = (int)(start % CPU_SETSIZE);
	for (int i = 0; i < CPU_SETSIZE && count; i++) {
		if (CPU_ISSET(cpu, &all)) {
			CPU_SET(cpu, out);
			count--;
		}
		cpu = (cpu + 1) % CPU_SETSIZE;
	}
}

/* Whether code could execute a memory file if it had one. */
static bool
may_execute_memory(const struct plan *p)
{
	return p->filter & PLAN_FILTER_SUBPROCESS && !p->memfd_noexec;
}

_Static_assert(LOCK_WORKSPACE_SIZE == PATH_RULE_PLACE_SIZE,
	       "every path that a policy may have fits");

void
jail_fill_workspace(struct lock_params *out, const struct plan *plan)
{
	snprintf(out->workspace, sizeof(out->workspace), "%s",
		 plan->policy->workspace);
}

/* The kernel counts writable private memory: that of the guest, the stack, and
   what the program around the guest needs itself. */
#define WASM_DATA_BYTES ((uint64_t)LOCK_GUEST_STACK + (UINT64_C(12) << 20))

void
jail_fill_params(struct lock_params *out, const struct plan *plan)
{
	const struct plan_limits *l = &plan->limits;

	*out = (struct lock_params){
		.magic = LOCK_MAGIC,
		.size = sizeof(*out),
		.filter = plan->filter,
		.uid = JAIL_UID,
		.limits = {
			[LOCK_LIMIT_AS] = l->address_space_bytes,
			[LOCK_LIMIT_DATA] =
				l->linear_bytes
					? l->linear_bytes + WASM_DATA_BYTES
					: 0,
			[LOCK_LIMIT_CPU] = l->cpu_rlimit_s,
			[LOCK_LIMIT_NPROC] = l->nproc,
			[LOCK_LIMIT_NOFILE] = l->open_files,
			[LOCK_LIMIT_FSIZE] = l->file_bytes,
		},
		.closing = (plan->has_direct ? CLOSING_DIRECT : 0) |
			   (may_execute_memory(plan) ? CLOSING_NO_MEMFD : 0) |
			   (plan->shares_paths ? CLOSING_STREAMS : 0),
		.guest_pages = (uint32_t)(l->linear_bytes >> 16),
		.has_cpus = l->cpus != 0,
	};
	jail_fill_workspace(out, plan);
	choose_cpus(&out->cpus, l->cpus);
	if (!plan_keeps(plan, MECH(LANDLOCK)))
		out->skip |= LOCK_SKIP_LANDLOCK;
	if (!plan_keeps(plan, MECH(SECCOMP)))
		out->skip |= LOCK_SKIP_SECCOMP;
	/* Without namespaces, only Landlock hides the host. */
	if (!plan_keeps(plan, tiers[plan->tier].bare ? MECH(LANDLOCK)
						     : MECH(MOUNT_NAMESPACE)))
		out->skip |= LOCK_SKIP_ROOT;
}

void
jail_note_fail_step(struct lock_params *params, enum step_id from,
		    enum step_id to)
{
	for (uint32_t s = from; s <= (uint32_t)to; s++)
		if (step_is_to_fail((enum step_id)s))
			params->fail_step = s;
}

static int
jail_send_params(struct jail *j, struct lock_params *params,
		 struct remit_error *err)
{
	jail_note_fail_step(params, STEP_PARAMS, STEP_SELF_TEST);
	if (link_send(&j->channel, FRAME_LOCK_PARAMS, params, sizeof(*params),
		      err) < 0)
		return -1;
	return link_flush(&j->channel, err);
}

/*
 * The keeper is undumpable, except during the clone: an ordinary user can write
 * the id maps only of a child that starts dumpable.
 */
static pid_t
clone_dumpable(struct clone_args *args)
{
	pid_t pid;

	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	pid = sys_clone3(args);
	if (pid != 0)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return pid;
}

/*
 * The creating euid owns the new user namespace. When root, switch euid to
 * `owner` for the clone, but keep fsuid: the cgroup directory is checked
 * against it.
 */
static pid_t
clone_owned(struct clone_args *args, uint32_t owner)
{
	uid_t own_uid = geteuid();
	pid_t pid;

	if (owner == own_uid)
		return clone_dumpable(args);
	if (setresuid((uid_t)-1, owner, (uid_t)-1) < 0)
		return -1;
	setfsuid(own_uid);
	pid = clone_dumpable(args);
	if (pid && setresuid((uid_t)-1, own_uid, (uid_t)-1) < 0)
		_exit(1); /* the keeper must not run with mixed user ids */
	return pid;
}

static pid_t
clone_from_template(const struct root_template *m, struct clone_args *args,
		    uint32_t owner)
{
	pid_t pid;

	if (!m)
		return clone_owned(args, owner);
	if (root_template_enter(m) < 0)
		return -1;
	pid = clone_owned(args, owner);
	if (pid)
		root_template_leave(m);
	return pid;
}

static pid_t
clone_init(struct jail *j, const struct blueprint *b, uint32_t owner)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_CLEAR_SIGHAND,
		.exit_signal = SIGCHLD,
	};
	int group = cgroup_clone_fd(&j->group);

	/* A zygote's child without sockets stays in the zygote's empty
	   network. */
	if (b->plan->own_network && (!j->warm || b->plan->private_network))
		args.flags |= CLONE_NEWNET;
	if (group >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)group;
	}
	return clone_from_template(b->root_template, &args, owner);
}

int
jail_open_namespaces(struct jail *j, bool private_network,
		     struct remit_error *err)
{
	for (int i = 0; i < JOIN_SPACES; i++) {
		enum join_fd fd = join_spaces[i].fd;
		char path[64];

		if (fd == JOIN_NET_NS && !private_network)
			continue;

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)j->init_pid,
			 join_spaces[i].name);
		j->entry[fd] = open(path, O_RDONLY | O_CLOEXEC);
		if (j->entry[fd] < 0)
			return fail_sys(err, REMIT_E_KERNEL, "open %s", path);
	}
	return 0;
}

int
jail_start(struct jail *j, struct blueprint *b, uint32_t owner,
	   struct remit_error *err)
{
	uint32_t gid = j->lease.fd >= 0 ? j->host_uid : getegid();

	j->init_pid =
		step_is_to_fail(STEP_CLONE) ? -1 : clone_init(j, b, owner);
	if (j->init_pid < 0) {
		j->init_pid = 0;
		fail_sys(err, REMIT_E_KERNEL, "create namespaces");
		return step_failed_at(err, STEP_CLONE);
	}
	if (j->init_pid == 0)
		child_run(b);
	if (step_is_to_fail(STEP_MAPS)) {
		fail_sys(err, REMIT_E_KERNEL, "map ids");
		return step_failed_at(err, STEP_MAPS);
	}
	if (idmap_write(j->init_pid, JAIL_UID, j->host_uid, JAIL_UID, gid,
			err) < 0)
		return step_failed_at(err, STEP_MAPS);
	if ((j->warm || b->plan->forkable || b->plan->installs ||
	     b->plan->has_ports) &&
	    jail_open_namespaces(j, b->plan->private_network, err) < 0)
		return -1;
	if (send(j->lifeline.fd, "g", 1, MSG_NOSIGNAL) != 1)
		return fail_sys(err, REMIT_E_KERNEL, "release pid 1");
	return 0;
}

/* A bare jail's workspace is a directory made by the keeper. */
static int
open_export(struct jail *j, const struct blueprint *b, struct remit_error *err)
{
	j->export = openat(b->writable[WORKSPACE_HOME], ".",
			   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return j->export < 0 ? fail_sys(err, REMIT_E_KERNEL, "open workspace")
			     : 0;
}

static int
lay_out_egress(struct blueprint *b, const struct jail_site *site,
	       struct remit_error *err)
{
	/* Without its proxy the jail would have no network at all: harmless,
	   but not what the plan promises. */
	b->egress = fcntl(site->egress, F_DUPFD_CLOEXEC, BLUEPRINT_FIRST_FD);
	if (b->egress < 0)
		return fail_sys(err, REMIT_E_INTERNAL,
				"copy the descriptor of the proxy's socket");
	return listeners_list(&b->listeners, b->plan, err);
}

int
jail_acquire_groups(struct jail *j, const struct plan *plan,
		    const struct jail_site *site, const char *name,
		    struct remit_error *err)
{
	/* Do not reuse the cgroups of code that can have branches, since it was
	   given files to join cgroups, nor those of a bare jail: cgroup_renew()
	   expects two processes, and it has one. */
	if (!plan->forkable && !j->no_init)
		j->spare_groups = site->spare_groups;
	return cgroup_stock_acquire(j->spare_groups, &j->group, site->cgroups,
				    &plan->limits, name, err);
}

int
jail_lay_out(struct jail *j, struct blueprint *b, const struct jail_site *site,
	     int in, const char *name, struct remit_error *err)
{
	const struct plan *plan = b->plan;

	j->host_uid = geteuid();
	if (plan->by_root) {
		if (uid_lease_acquire(&j->lease, err) < 0)
			return -1;
		j->host_uid = j->lease.uid;
	}
	if (step_is_to_fail(STEP_RESOLVE)) {
		fail_sys(err, REMIT_E_KERNEL, "resolve");
		return step_failed_at(err, STEP_RESOLVE);
	}
	jail_fill_params(&b->params, plan);
	if (j->no_init) {
		b->params.bare = true;
		b->params.uid = j->host_uid;
		b->params.keeper = (uint32_t)getpid();
		if (workspace_make(&j->workspace, j->host_uid, b->writable,
				   err) < 0 ||
		    (plan->exports && open_export(j, b, err) < 0))
			return step_failed_at(err, STEP_WORKSPACE);
	}
	if (plan->proxied && lay_out_egress(b, site, err) < 0)
		return step_failed_at(err, STEP_NETWORK);
	b->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (b->proc < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open /proc");
	if (jail_move_up(&b->proc, err) < 0)
		return -1;
	if (b->root_template)
		b->contents = &b->root_template->contents;
	else if (blueprint_resolve(b, j->host_uid, err) < 0)
		return -1;
	j->roots = b->roots.value;
	for (int i = 0; i < PLAN_WRITE_ROOTS_MAX; i++)
		j->write_roots[i].host = take_fd(&b->hosts[i]);
	if (jail_make_ends(j, b, in, err) < 0 ||
	    jail_acquire_groups(j, plan, site, name, err) < 0)
		return -1;
	/* No process is cloned into the cgroups of a bare jail: it joins them
	   itself. */
	return cgroup_open_joins(&j->group, j->no_init, b->groups, err);
}

/* Use fork: containers may forbid clone3. */
static int
start_bare(struct jail *j, struct blueprint *b, struct remit_error *err)
{
	j->init_pid = step_is_to_fail(STEP_FORK) ? -1 : fork();
	if (j->init_pid == 0)
		child_run_bare(b);
	if (j->init_pid > 0)
		return 0;
	j->init_pid = 0;
	fail_sys(err, REMIT_E_KERNEL, "fork");
	return step_failed_at(err, STEP_FORK);
}

int
jail_open(struct jail *j, const struct plan *plan, const struct jail_site *site,
	  int in, const char *name, struct remit_error *err)
{
	bool bare = tiers[plan->tier].bare;
	char boot[PATH_MAX];
	char *argv[] = {
		plan->interpreter->executable,
		"-I",
		"-S",
		"-u",
		"-X",
		"utf8",
		boot,
		bare ? plan->interpreter->compiled : JAIL_COMPILED,
		NULL,
	};
	own(blueprint) struct blueprint b = BLUEPRINT_FOR(
		plan, site, bare ? BLUEPRINT_BARE : BLUEPRINT_COLD);

	snprintf(boot, sizeof(boot), "%s/boot.py",
		 bare ? site->runtime_dir : JAIL_RUNTIME);
	b.argv = argv;
	b.probe = site->probe;
	j->no_init = bare;
	j->unbuilt = jail_sends_built(plan) && !bare;
	if (jail_lay_out(j, &b, site, in, name, err) < 0 ||
	    blueprint_list_kept(&b, err) < 0 ||
	    jail_send_params(j, &b.params, err) < 0)
		return -1;
	return bare ? start_bare(j, &b, err)
		    : jail_start(j, &b, geteuid(), err);
}

unsigned
jail_filter(const struct plan *plan)
{
	return filter_of_code(plan->filter, tiers[plan->tier].bare);
}

/* Overlays work on this machine in general, or the plan would not use one. */
static int
overlay_refused(const struct plan_mount *m, int sys_errno,
		struct remit_error *err)
{
	return fail_refused(err, fields[m->field].name,
			    "Mount it ro, or copy its contents to a folder on "
			    "a local disk.",
			    "no overlay can be mounted on %s: %s", m->host,
			    strerror(sys_errno));
}

int
jail_fail_release(struct remit_error *err)
{
	return fail_refused(err, steps[STEP_PARAMS].name,
			    "Restart the keeper if Remit was upgraded while it "
			    "ran; else reinstall Remit.",
			    "the runtime folder is of another release than "
			    "this keeper, which is Remit %s (protocol %d)",
			    REMIT_VERSION, FRAME_PROTOCOL);
}

int
jail_step_failed(const struct step_report *r, const struct plan *plan,
		 struct remit_error *err)
{
	const struct step *s;

	if (r->step >= STEP_READY)
		return fail(err, REMIT_E_PROTOCOL,
			    "the report does not name a step");
	s = &steps[r->step];
	if (r->step == STEP_OVERLAYS && r->detail &&
	    r->detail <= plan->mount_count)
		return overlay_refused(&plan->mounts[r->detail - 1],
				       r->sys_errno, err);
	if (r->step == STEP_PARAMS && r->sys_errno == EPROTO)
		return jail_fail_release(err);
	/* Without namespaces a jail started by root sees the host's folders as
	   the user that it leased. */
	if (r->step == STEP_EXEC && r->sys_errno == EACCES)
		return fail_refused(err, fields[F_PYTHON].name,
				    "Use an interpreter that every user can "
				    "execute, such as --python "
				    "/usr/bin/python3.",
				    "the jail's user may not execute %s",
				    plan->interpreter->executable);
	errno = r->sys_errno;
	if (r->step == STEP_KEYRING && r->sys_errno == EDQUOT)
		deadline_missed(err, DEADLINE_KEYRING);
	else
		fail_sys(err, REMIT_E_KERNEL, "lock-down step \"%s\" failed",
			 s->name);
	step_failed_at(err, (enum step_id)r->step);
	if (r->step == STEP_LANDLOCK_RULES && r->sys_errno == ENOENT)
		snprintf(err->remedy, sizeof(err->remedy),
			 "A mounted path cannot be found inside the jail; "
			 "another mount may hide it.");
	else if (r->step == STEP_KEYRING && r->sys_errno == EDQUOT)
		snprintf(err->remedy, sizeof(err->remedy),
			 "Run fewer jails at once, or raise "
			 "kernel.keys.maxkeys: each jail has a session keyring "
			 "of its user.");
	else if (r->step == STEP_RUNTIME && r->detail &&
		 r->detail <= plan->mount_count)
		snprintf(err->remedy, sizeof(err->remedy),
			 "A mount point could not be made: the jail paths of "
			 "mounts must not lie inside each other or inside the "
			 "interpreter's folders.");
	else
		snprintf(err->remedy, sizeof(err->remedy), "%s",
			 capabilities[s->proves].remedy);
	return -1;
}

void
jail_sample(const struct jail *j, struct exit_report *out)
{
	struct timespec t;
	uint64_t peak;

	if (j->run_pid <= 0)
		return;
	if (clock_gettime(CPU_CLOCK_OF(j->run_pid), &t) == 0)
		out->cpu_us = (uint64_t)t.tv_sec * 1000000 +
			      (uint64_t)t.tv_nsec / 1000;
	/* If there is a memory cgroup, its figure is better, and it is read
	   anyway. */
	if (j->group.at[CGROUP_MEMORY] < 0 &&
	    proc_status_number(j->run_pid, "VmHWM", &peak) == 0)
		out->max_rss_kib = (uint32_t)peak;
}

static void
signal_code(const struct jail *j, int signal)
{
	if (j->run_pidfd >= 0)
		sys_pidfd_kill(j->run_pidfd, signal);
}

void
jail_interrupt(struct jail *j)
{
	signal_code(j, SIGINT);
}

void
jail_stop(struct jail *j)
{
	signal_code(j, SIGSTOP);
}

void
jail_resume(struct jail *j)
{
	signal_code(j, SIGCONT);
}

void
jail_kill(struct jail *j)
{
	if (j->unjailed && j->init_pid)
		kill(-j->init_pid, SIGKILL);
	cgroup_kill(&j->group);
	/* init_pid is a child that has not been reaped, so the pid has not been
	   reused. */
	if (j->init_pid)
		kill(j->init_pid, SIGKILL);
}

enum jail_death
jail_reaped(struct jail *j, pid_t pid)
{
	if (pid == j->init_pid) {
		j->init_pid = 0;
		return JAIL_INIT_DEAD;
	}
	/* After code has been reaped, its pid may belong to another process. */
	if (!j->warm || j->run_reaped || pid != j->run_pid)
		return JAIL_NOT_MINE;
	j->run_reaped = true;
	return JAIL_RUN_DEAD;
}

void
jail_free(struct jail *j)
{
	if (j->init_pid) {
		jail_kill(j);
		waitpid(j->init_pid, NULL, 0);
		j->init_pid = 0;
	}
	for (int i = 0; i < JOIN_FDS; i++)
		own_fd_close(&j->entry[i]);
	own_fd_close(&j->run_pidfd);
	own_fd_close(&j->out);
	own_fd_close(&j->err);
	own_fd_close(&j->listener);
	own_fd_close(&j->export);
	for (int i = 0; i < PLAN_WRITE_ROOTS_MAX; i++)
		write_root_close(&j->write_roots[i]);
	for (int i = 0; i < PLAN_BRANCHES_MAX; i++)
		own_fd_close(&j->slots[i]);
	link_free(&j->channel);
	link_free(&j->lifeline);
	cgroup_stock_release(j->spare_groups, &j->group);
	workspace_free(&j->workspace);
	uid_lease_free(&j->lease);
	*j = (struct jail)JAIL_INIT;
}
