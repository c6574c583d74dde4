#include "jail/probe/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/deadline.h"
#include "base/file/path.h"
#include "base/number.h"
#include "jail/jail.h"
#include "jail/lock/rules.h"
#include "jail/mount/ground.h"
#include "jail/mount/idmap.h"
#include "jail/seccomp/notice.h"

/* What the child that builds a test jail reports. */
struct probe_answer {
	uint32_t step; /* STEP_READY: every step succeeded */
	int32_t sys_errno;
	bool busy; /* inconclusive: the machine was busy */
	char message[160];
};

static uint64_t
read_number_file(const char *path, uint64_t otherwise)
{
	own_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	uint64_t value;

	if (n <= 0)
		return otherwise;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return number_parse(&value, text) < 0 ? otherwise : value;
}

static void
read_host_facts(struct host *h)
{
	struct utsname u;
	cpu_set_t cpus;

	h->uid = geteuid();
	h->by_root = h->uid == 0;
	h->landlock_abi = rules_abi();
	h->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	h->socket_buffer_bytes =
		read_number_file("/proc/sys/net/core/wmem_default", 256 * 1024);
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		h->cpus = (uint32_t)CPU_COUNT(&cpus);
	if (!h->cpus)
		h->cpus = 1;
	if (uname(&u) == 0)
		snprintf(h->kernel, sizeof(h->kernel), "%s %s", u.release,
			 u.machine);
}

static void
note_capability(struct host *h, enum capability c, bool yes, const char *why)
{
	h->can[c].yes = yes;
	snprintf(h->can[c].why, sizeof(h->can[c].why), "%s", why);
}

static void
note_cgroups(struct host *h, const struct cgroup_home *home)
{
	static const enum capability map[CGROUP_CONTROLLERS] = {
		[CGROUP_MEMORY] = CAN_CGROUP_MEMORY,
		[CGROUP_PIDS] = CAN_CGROUP_PIDS,
		[CGROUP_CPU] = CAN_CGROUP_CPU,
		[CGROUP_KILL] = CAN_CGROUP_KILL,
		[CGROUP_SHARE] = CAN_CGROUP_SHARE,
	};

	for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
		note_capability(h, map[c], home->at[c].usable, home->at[c].why);
		if (home->at[c].v2)
			h->cgroups_v2 |= UINT32_C(1) << c;
	}
}

static int
wait_for_report(struct jail *j, const struct plan *plan,
		struct remit_error *err)
{
	struct step_report r;
	struct frame f = { .type = FRAME_NONE };
	struct remit_error unmet;
	int timeout_ms = (int)(deadline_us(DEADLINE_PROBE) / 1000);
	bool met = false;

	while (f.type == FRAME_NONE || f.type == FRAME_LISTENER) {
		if (f.type == FRAME_NONE &&
		    notice_refuse_until(j->channel.fd, j->listener,
					jail_filter(plan), timeout_ms) < 0)
			return deadline_missed(err, DEADLINE_PROBE);
		if (!j->run_pid)
			met = jail_identify(j, &unmet) == 0;
		if (link_fill(&j->channel, err) < 0 ||
		    link_next(&j->channel, &f, err) < 0)
			return -1;
		if (j->channel.ended && f.type == FRAME_NONE)
			return fail(err, REMIT_E_KERNEL,
				    "the jail died while it was built");
	}
	if (f.type != FRAME_REPORT || f.len != sizeof(r))
		return fail(
			err, REMIT_E_PROTOCOL,
			"unexpected frame instead of the report of the jail");
	memcpy(&r, f.payload, sizeof(r));
	if (r.step != STEP_READY)
		return jail_step_failed(&r, plan, err);
	if (!met) {
		*err = unmet;
		return -1;
	}
	return jail_attest(j, plan, err);
}

/* What to try: a complete jail of one tier. */
struct probe_case {
	const struct host *host;
	const char *runtime_dir;
	enum tier tier;
	bool overlays; /* with an overlay over a directory */
};

static int
make_probe_policy(struct policy *p, const struct probe_case *q,
		  struct remit_error *err)
{
	if (policy_init(p) < 0)
		return fail_memory(err, "probe");
	if (q->overlays && mount_list_add(&p->mounts, q->runtime_dir, "/probe",
					  MOUNT_OVERLAY, 0) < 0)
		return fail_memory(err, "probe");
	return tiers[q->tier].bare ? policy_preset(p, "landlock", err) : 0;
}

/* Build the jail, in a separate process. */
static int
try_jail(const struct probe_case *q, struct remit_error *err)
{
	struct interpreter none = {
		.executable = (char *)"probe",
		.real = (char *)"/",
		.compiled = (char *)q->runtime_dir,
	};
	struct plan_job job = { 0 };
	struct cgroup_home no_groups = CGROUP_HOME_INIT;
	struct jail_site site = {
		.runtime_dir = q->runtime_dir,
		.cgroups = &no_groups,
		.probe = true,
	};
	own(policy) struct policy policy = { 0 };
	own(plan) struct plan plan = { 0 };
	own(jail) struct jail j = JAIL_INIT;
	own_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (make_probe_policy(&policy, q, err) < 0 ||
	    plan_build(&plan, &policy, &job, q->host, &none, err) < 0 ||
	    (!tiers[q->tier].bare && ground_enter(false, err) < 0) ||
	    jail_open(&j, &plan, &site, null, "probe", err) < 0)
		return -1;
	return wait_for_report(&j, &plan, err);
}

static void __attribute__((noreturn))
probe_child_main(const struct probe_case *q, int out)
{
	struct probe_answer a = { .step = STEP_READY };
	struct remit_error err;

	if (try_jail(q, &err) < 0) {
		a.step = step_of_error(&err);
		if (a.step == STEP_READY)
			a.step = STEP_RESOLVE;
		a.sys_errno = err.sys_errno;
		a.busy = err.code == REMIT_E_BUSY;
		snprintf(a.message, sizeof(a.message), "%.159s", err.message);
	}
	_exit(write(out, &a, sizeof(a)) == sizeof(a) ? 0 : 1);
}

static int
run_probe_child(struct probe_answer *a, const struct probe_case *q,
		struct remit_error *err)
{
	struct pollfd p;
	int timeout_ms = (int)(deadline_us(DEADLINE_PROBE) / 1000);
	int fds[2], status, ready;
	ssize_t n;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	pid = fork();
	if (pid < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fork");
	if (pid == 0)
		probe_child_main(q, fds[1]);
	close(fds[1]);
	p = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	/* Wait longer than the child itself does. */
	do
		ready = poll(&p, 1, 2 * timeout_ms);
	while (ready < 0 && errno == EINTR);
	n = ready == 1 ? read(fds[0], a, sizeof(*a)) : 0;
	close(fds[0]);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	/* Do not cache a missed deadline: the next start probes again. */
	if (ready == 0)
		return deadline_missed(err, DEADLINE_PROBE);
	if (n == sizeof(*a) && a->busy)
		return deadline_busy(err, a->message);
	if (n != sizeof(*a))
		return fail(err, REMIT_E_INTERNAL,
			    "the probe died (wait status %d)", status);
	return 0;
}

/* The steps before the failed one have proved their capabilities. */
static void
note_answer(struct host *h, const struct probe_answer *a)
{
	for (int c = 0; c < CAN_COUNT; c++)
		if (capabilities[c].needed)
			note_capability(h, (enum capability)c, false,
					HOST_NOT_REACHED);
	for (uint32_t s = 0; s < STEP_READY; s++)
		if (s < a->step)
			note_capability(h, steps[s].proves, true,
					"done in a test jail");
	if (a->step != STEP_READY)
		note_capability(h, steps[a->step].proves, false, a->message);
	if (a->step == STEP_READY)
		note_capability(h, CAN_NETWORK_NAMESPACE, true,
				"done in a test jail");
}

static int
probe_local(struct host *h, const char *runtime_dir, struct remit_error *err)
{
	struct probe_case q = { h, runtime_dir, TIER_LOCAL, false };
	char why[sizeof(h->can[0].why)];
	struct probe_answer a = { 0 };

	if (run_probe_child(&a, &q, err) < 0)
		return -1;
	if (a.step != STEP_MEMFD_NOEXEC) {
		note_answer(h, &a);
		return 0;
	}
	memcpy(why, a.message, sizeof(a.message));
	h->can[CAN_MEMFD_NOEXEC].yes = false;
	if (run_probe_child(&a, &q, err) < 0)
		return -1;
	note_answer(h, &a);
	note_capability(h, CAN_MEMFD_NOEXEC, false, why);
	return 0;
}

/* The test jails have no cgroups. */
static struct host
without_groups(const struct host *h)
{
	struct host out = *h;

	for (int c = 0; c < CGROUP_CONTROLLERS; c++)
		out.can[CAN_CGROUP_MEMORY + c].yes = false;
	return out;
}

static int
probe_overlays(struct host *h, const char *runtime_dir, struct remit_error *err)
{
	struct host assumed = without_groups(h);
	struct probe_case q = { &assumed, runtime_dir, TIER_LOCAL, true };
	struct probe_answer a = { 0 };

	if (host_lacks(h, TIER_LOCAL) != CAN_COUNT) {
		note_capability(h, CAN_OVERLAY, false, HOST_NOT_REACHED);
		return 0;
	}
	if (run_probe_child(&a, &q, err) < 0)
		return -1;
	if (a.step == STEP_READY)
		note_capability(h, CAN_OVERLAY, true, "done in a test jail");
	else
		note_capability(h, CAN_OVERLAY, false, a.message);
	return 0;
}

static int
probe_bare(struct host *h, const char *runtime_dir, struct remit_error *err)
{
	struct host assumed = without_groups(h);
	struct probe_case q = { &assumed, runtime_dir, TIER_LANDLOCK, false };
	struct probe_answer a = { 0 };

	assumed.can[CAN_LANDLOCK_TIER].yes = true;
	if (run_probe_child(&a, &q, err) < 0)
		return -1;
	if (a.step == STEP_READY)
		note_capability(h, CAN_LANDLOCK_TIER, true,
				"done in a test process");
	else
		note_capability(h, CAN_LANDLOCK_TIER, false, a.message);
	return 0;
}

static void
probe_idmap(struct host *h, const char *runtime_dir)
{
	struct mount_attr a = { .attr_set = MOUNT_ATTR_IDMAP };
	own_fd int tree = -1, userns = -1;
	struct remit_error err;

	if (!h->by_root) {
		note_capability(h, CAN_IDMAPPED_MOUNTS, false,
				"needs root; jails of an ordinary user do not "
				"need it");
		return;
	}
	tree = open_tree(AT_FDCWD, runtime_dir,
			 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 || idmap_make(&userns, 0, 0, UID_POOL_BASE, &err) < 0) {
		note_capability(h, CAN_IDMAPPED_MOUNTS, false, strerror(errno));
		return;
	}
	a.userns_fd = (uint64_t)userns;
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &a, sizeof(a)) < 0)
		note_capability(h, CAN_IDMAPPED_MOUNTS, false, strerror(errno));
	else
		note_capability(h, CAN_IDMAPPED_MOUNTS, true,
				"done with a test mount");
}

int
probe_host(struct host *h, const char *runtime_dir, struct remit_error *err)
{
	struct cgroup_home home;

	memset(h, 0, sizeof(*h));
	read_host_facts(h);
	for (int c = 0; c < CAN_COUNT; c++)
		note_capability(h, (enum capability)c, true, "assumed");
	*h = without_groups(h);
	if (probe_local(h, runtime_dir, err) < 0 ||
	    probe_overlays(h, runtime_dir, err) < 0 ||
	    probe_bare(h, runtime_dir, err) < 0)
		return -1;
	cgroup_home_find(&home);
	note_cgroups(h, &home);
	cgroup_home_free(&home);
	probe_idmap(h, runtime_dir);
	return 0;
}
