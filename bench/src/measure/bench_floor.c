#include "measure/bench_floor.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/proc.h"
#include "bench_stats.h"
#include "jail/mount/ground.h"
#include "jail/mount/root_template.h"
#include "jail/probe/discover.h"
#include "jail/probe/probe.h"
#include "jail/seccomp/notice.h"
#include "jail/zygote.h"
#include "keeper/session/task.h"

#define ANSWER_WAIT_MS 30000

/* The resources of a worker for running jails. */
struct jail_setup {
	struct policy policy;
	struct host host;
	struct interpreter python;
	struct plan plan;
	struct cgroup_home cgroups;
	char *runtime_dir;
	struct cgroup_stock spare_groups;
	struct jail_site site;
	struct root_template root_template;
	struct zygote zygote;
	int in;
	unsigned number;
	double fork_us;
};

/* The worker's answer to a request, which is a number of milliseconds. */
struct worker_answer {
	struct bench_floor_count count; /* runs < 0: it failed */
	struct remit_error err;
};

static int
await_readable(int fd, struct remit_error *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, ANSWER_WAIT_MS) == 1)
		return 0;
	return fail(err, REMIT_E_INTERNAL,
		    "timeout while waiting for the jail");
}

static int
open_ground(struct jail_setup *s, struct remit_error *err)
{
	if (probe_host_cached(&s->host, s->runtime_dir, err) < 0 ||
	    cgroup_home_open(&s->cgroups, &s->host, err) < 0)
		return -1;
	return ground_enter(false, err);
}

static int
start_zygote(struct jail_setup *s, const struct list *preload,
	     struct remit_error *err)
{
	own(list) struct list env = { 0 };
	struct join_answer a;

	if (task_environment(&env, &s->plan, err) < 0 ||
	    zygote_open(&s->zygote, &s->plan, &s->site, &env, preload, err) <
		    0 ||
	    await_readable(s->zygote.control, err) < 0 ||
	    zygote_recv(&s->zygote, &a, err) < 0)
		return -1;
	if (a.kind != JOIN_READY)
		return fail(err, REMIT_E_INTERNAL, "the zygote failed: %s",
			    a.text);
	return 0;
}

/* Add the ballast as if it were a package of the interpreter. Raise the memory
   limit, since a limit per process would count it. */
static int
add_ballast(struct jail_setup *s, struct list *preload,
	    const struct bench_ballast *b, struct remit_error *err)
{
	s->policy.memory_bytes *= 4;
	if (list_add(&s->python.mounts, b->directory) < 0 ||
	    list_add(&s->python.sys_path, b->directory) < 0 ||
	    list_add(preload, b->module) < 0)
		return fail_memory(err, "ballast");
	return 0;
}

static int
open_setup(struct jail_setup *s, const struct bench *b,
	   const struct bench_ballast *ballast, struct remit_error *err)
{
	own(list) struct list preload = { 0 };
	struct plan_job job = { 0 };

	*s = (struct jail_setup){
		.cgroups = CGROUP_HOME_INIT,
		.root_template = ROOT_TEMPLATE_INIT,
		.zygote = ZYGOTE_INIT,
		.in = open("/dev/null", O_RDONLY | O_CLOEXEC),
	};
	s->site.cgroups = &s->cgroups;
	s->site.spare_groups = &s->spare_groups;
	if (policy_init(&s->policy) < 0)
		return fail_memory(err, "policy");
	if (discover_runtime_dir(&s->runtime_dir, err) < 0 ||
	    discover_interpreter(&s->python, b->python->executable,
				 s->runtime_dir, err) < 0 ||
	    (ballast && add_ballast(s, &preload, ballast, err) < 0) ||
	    open_ground(s, err) < 0 ||
	    plan_build(&s->plan, &s->policy, &job, &s->host, &s->python, err) <
		    0)
		return -1;
	s->site.runtime_dir = s->runtime_dir;
	if (root_template_make(&s->root_template, &s->plan, &s->site, err) < 0)
		return -1;
	return start_zygote(s, &preload, err);
}

/* Wait for the next frame of the interpreter, which must have this type. */
static int
await_frame(struct jail *j, const struct plan *plan, enum frame_type want,
	    struct remit_error *err)
{
	struct frame f = { .type = FRAME_NONE };

	while (f.type == FRAME_NONE || f.type == FRAME_LISTENER) {
		if (f.type == FRAME_NONE &&
		    notice_refuse_until(j->channel.fd, j->listener,
					jail_filter(plan), ANSWER_WAIT_MS) < 0)
			return fail(err, REMIT_E_INTERNAL,
				    "timeout while waiting for the jail");
		if ((!j->run_pid && jail_identify(j, err) < 0) ||
		    link_fill(&j->channel, err) < 0 ||
		    link_next(&j->channel, &f, err) < 0)
			return -1;
		if (j->channel.ended)
			break;
	}
	if (f.type == want)
		return 0;
	return fail(err, REMIT_E_INTERNAL, "received frame %d instead of %d",
		    f.type, want);
}

static int
send_job(struct jail *j, const struct plan *plan, struct remit_error *err)
{
	static const char code[] = "print(1)";
	struct list none = { 0 };
	struct task_job job = {
		.name = "main.py",
		.argv = &none,
		.code_len = strlen(code),
	};
	own(buf) struct buf task = BUF_INIT(frame_rules[FRAME_TASK].max);
	own(buf) struct buf head = BUF_INIT(frame_rules[FRAME_JOB].max);

	if (task_write(&task, plan, TASK_WARM, NULL, err) < 0 ||
	    task_write_job(&head, &job, err) < 0 ||
	    link_send(&j->channel, FRAME_TASK, task.data, task.len, err) < 0 ||
	    link_send(&j->channel, FRAME_JOB, head.data, head.len, err) < 0 ||
	    link_send_pieces(&j->channel, FRAME_CODE, code, job.code_len, err) <
		    0)
		return -1;
	return link_flush(&j->channel, err);
}

/* Let the zygote fork a child into the jail, and measure the time. */
static int
time_join(struct jail_setup *s, struct jail *j, struct remit_error *err)
{
	double begun = bench_stats_now_us();
	struct join_answer a;

	if (jail_join(j, &s->plan, &s->zygote, err) < 0 ||
	    await_readable(s->zygote.control, err) < 0 ||
	    zygote_recv(&s->zygote, &a, err) < 0)
		return -1;
	s->fork_us = bench_stats_now_us() - begun;
	return 0;
}

static int
run_jail(struct jail_setup *s, struct jail *j, struct remit_error *err)
{
	char name[24], out[8];

	snprintf(name, sizeof(name), "%08x%08x", (unsigned)getpid(),
		 s->number++);
	if (jail_prepare(j, &s->plan, &s->site, &s->root_template,
			 s->zygote.host_uid, s->in, name, err) < 0 ||
	    await_readable(j->lifeline.fd, err) < 0 ||
	    jail_recv_built(j, &s->plan, err) < 0 || time_join(s, j, err) < 0 ||
	    await_frame(j, &s->plan, FRAME_REPORT, err) < 0 ||
	    jail_attest(j, &s->plan, err) < 0 ||
	    send_job(j, &s->plan, err) < 0 ||
	    await_frame(j, &s->plan, FRAME_ENDED, err) < 0)
		return -1;
	if (read(j->out, out, sizeof(out)) != 2 || memcmp(out, "1\n", 2))
		return fail(err, REMIT_E_INTERNAL,
			    "the program did not print 1");
	return 0;
}

static void
reap_jail(struct jail *j)
{
	pid_t init = j->init_pid;

	if (!init)
		return;
	jail_kill(j);
	if (j->run_pid > 0)
		waitpid(j->run_pid, NULL, 0);
	waitpid(init, NULL, 0);
	jail_reaped(j, init);
}

static void
run_for(struct jail_setup *s, double ms, struct worker_answer *a)
{
	double end = bench_stats_now_us() + ms * 1e3;

	a->count.runs = 0;
	do {
		struct jail j = JAIL_INIT;
		int bad = run_jail(s, &j, &a->err);

		reap_jail(&j);
		jail_free(&j);
		if (bad) {
			a->count.runs = -1;
			return;
		}
		a->count.runs++;
	} while (bench_stats_now_us() < end);
	a->count.fork_us = s->fork_us;
}

static double
resident_bytes(pid_t pid)
{
	uint64_t kib = 0;

	return proc_status_number(pid, "VmRSS", &kib) < 0 ? NAN
							  : (double)kib * 1024;
}

static void __attribute__((noreturn))
floor_worker(const struct bench *b, const struct bench_ballast *ballast,
	     int control)
{
	struct worker_answer a = { 0 };
	struct jail_setup s;
	double ms;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (open_setup(&s, b, ballast, &a.err) < 0)
		a.count.runs = -1;
	a.count.zygote_bytes = resident_bytes(s.zygote.pid);
	a.count.huge_bytes = (double)proc_huge_bytes(s.zygote.pid);
	while (send(control, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a) &&
	       recv(control, &ms, sizeof(ms), 0) == sizeof(ms))
		run_for(&s, ms, &a);
	zygote_free(&s.zygote);
	cgroup_stock_clear(&s.spare_groups);
	_exit(0);
}

int
bench_floor_open(struct bench_floor *f, const struct bench *b,
		 const struct bench_ballast *ballast, struct remit_error *err)
{
	struct bench_floor_count ready;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	f->control = pair[0];
	f->pid = fork();
	if (f->pid == 0) {
		close(f->control);
		floor_worker(b, ballast, pair[1]);
	}
	close(pair[1]);
	if (f->pid < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fork");
	return bench_floor_count(f, &ready, err);
}

int
bench_floor_go(const struct bench_floor *f, double ms, struct remit_error *err)
{
	if (send(f->control, &ms, sizeof(ms), MSG_NOSIGNAL) != sizeof(ms))
		return fail_sys(err, REMIT_E_GONE, "the worker is gone");
	return 0;
}

int
bench_floor_count(const struct bench_floor *f, struct bench_floor_count *out,
		  struct remit_error *err)
{
	struct worker_answer a;

	if (recv(f->control, &a, sizeof(a), 0) != sizeof(a))
		return fail(err, REMIT_E_GONE, "the worker is gone");
	*out = a.count;
	if (a.count.runs >= 0)
		return 0;
	*err = a.err;
	return -1;
}

void
bench_floor_free(struct bench_floor *all, size_t count)
{
	/* Close all control sockets first, since later workers have copies of
	   those of earlier ones. */
	for (size_t i = 0; i < count; i++)
		own_fd_close(&all[i].control);
	for (size_t i = 0; i < count; i++) {
		if (all[i].pid > 0)
			waitpid(all[i].pid, NULL, 0);
		all[i] = (struct bench_floor){ .control = -1 };
	}
}
