#include "fake_jail.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "jail/cgroup/home.h"
#include "jail/mount/ground.h"
#include "jail/mount/root_template.h"
#include "jail/mount/workspace.h"
#include "jail/probe/discover.h"
#include "jail/probe/probe.h"
#include "jail/zygote.h"

#define FIRST_PID 4200000 /* above pid_max, so no real process has it */

struct fake_jail fake_jails[FAKE_JAILS];
size_t fake_jail_count;
struct fakes fakes;
int fake_zygote = -1;

struct fake_jail *
fake_of(const struct jail *j)
{
	for (size_t i = 0; i < fake_jail_count; i++)
		if (fake_jails[i].jail == j)
			return &fake_jails[i];
	return NULL;
}

void
fake_send(int fd, unsigned type, const void *payload, size_t len)
{
	char frame[FRAME_HEADER + 4096] = {
		(char)len, (char)(len >> 8), (char)(len >> 16), 0, (char)type,
	};

	memcpy(frame + FRAME_HEADER, payload, len);
	(void)!send(fd, frame, FRAME_HEADER + len, MSG_NOSIGNAL);
}

static void
close_ends(struct fake_jail *f)
{
	own_fd_close(&f->channel);
	own_fd_close(&f->lifeline);
	own_fd_close(&f->out);
	own_fd_close(&f->err);
	f->channel = f->lifeline = f->out = f->err = -1;
}

void
fake_reset(void)
{
	for (size_t i = 0; i < fake_jail_count; i++)
		close_ends(&fake_jails[i]);
	fake_jail_count = 0;
	own_fd_close(&fake_zygote);
	fake_zygote = -1;
	fakes = (struct fakes){ 0 };
}

static int
make(struct jail *j, bool warm, struct remit_error *err)
{
	struct fake_jail *f = &fake_jails[fake_jail_count];
	int channel[2], lifeline[2], out[2], error[2];

	if (fakes.open_fails || fake_jail_count == FAKE_JAILS)
		return fail(err, REMIT_E_KERNEL, "no jail");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lifeline) < 0 ||
	    pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0 ||
	    pipe2(error, O_CLOEXEC | O_NONBLOCK) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "no jail");
	*f = (struct fake_jail){
		.jail = j,
		.init = FIRST_PID + 2 * (pid_t)fake_jail_count,
		.run = FIRST_PID + 1 + 2 * (pid_t)fake_jail_count,
		.channel = channel[1],
		.lifeline = lifeline[1],
		.out = out[1],
		.err = error[1],
	};
	fake_jail_count++;
	link_open(&j->channel, channel[0], PARTY_JAIL);
	link_open(&j->lifeline, lifeline[0], PARTY_INIT);
	j->out = out[0];
	j->err = error[0];
	j->init_pid = f->init;
	j->warm = j->unbuilt = warm;
	return 0;
}

int
jail_open(struct jail *j, const struct plan *plan, const struct jail_site *site,
	  int in, const char *name, struct remit_error *err)
{
	(void)plan;
	(void)site;
	(void)in;
	(void)name;
	return make(j, false, err);
}

int
jail_open_unsafe(struct jail *j, const struct plan *plan,
		 const struct jail_site *site, int in, struct remit_error *err)
{
	return jail_open(j, plan, site, in, "", err);
}

int
jail_prepare(struct jail *j, const struct plan *plan,
	     const struct jail_site *site,
	     const struct root_template *root_template, uint32_t owner, int in,
	     const char *name, struct remit_error *err)
{
	(void)plan;
	(void)site;
	(void)root_template;
	(void)owner;
	(void)in;
	(void)name;
	return make(j, true, err);
}

int
jail_branch(struct jail *j, const struct plan *plan,
	    const struct jail_site *site, const struct jail *parent, int *slot,
	    int in, const char *name, struct remit_error *err)
{
	(void)parent;
	(void)slot;
	return jail_prepare(j, plan, site, NULL, 0, in, name, err);
}

void
jail_branch_command(const struct jail *j, const struct plan *plan,
		    struct join_command *out)
{
	(void)j;
	(void)plan;
	memset(out, 0, sizeof(*out));
}

void
jail_branch_joined(struct jail *j)
{
	(void)j;
}

uint64_t
jail_roots(const struct plan *plan)
{
	(void)plan;
	return 0;
}

int
jail_recv_built(struct jail *j, const struct plan *plan,
		struct remit_error *err)
{
	struct step_report r = { .step = STEP_CLONE };
	char frame[FRAME_HEADER + sizeof(r)];

	j->unbuilt = false;
	if (recv(j->lifeline.fd, frame, sizeof(frame), MSG_DONTWAIT) ==
	    sizeof(frame))
		memcpy(&r, frame + FRAME_HEADER, sizeof(r));
	return r.step == STEP_READY ? 0 : jail_step_failed(&r, plan, err);
}

int
jail_join(struct jail *j, const struct plan *plan, struct zygote *z,
	  struct remit_error *err)
{
	(void)j;
	(void)plan;
	return z->control < 0 ? fail(err, REMIT_E_GONE, "no zygote") : 0;
}

int
jail_identify(struct jail *j, struct remit_error *err)
{
	struct fake_jail *f = fake_of(j);

	if (fakes.meet_fails) {
		j->run_pid = -1;
		return fail(err, REMIT_E_INTERNAL,
			    "another process reported for the jail");
	}
	j->run_pid = f->run;
	return 0;
}

int
jail_attest(const struct jail *j, const struct plan *plan,
	    struct remit_error *err)
{
	(void)j;
	(void)plan;
	(void)err;
	return 0;
}

unsigned
jail_filter(const struct plan *plan)
{
	(void)plan;
	return 0;
}

int
jail_step_failed(const struct step_report *r, const struct plan *plan,
		 struct remit_error *err)
{
	(void)plan;
	return fail(err, REMIT_E_KERNEL, "step %u failed", r->step);
}

int
jail_fail_release(struct remit_error *err)
{
	return fail(err, REMIT_E_INTERNAL, "another release");
}

void
jail_sample(const struct jail *j, struct exit_report *out)
{
	const struct fake_jail *f = fake_of(j);

	if (f)
		out->cpu_us = f->cpu_us;
}

void
jail_interrupt(struct jail *j)
{
	fake_of(j)->interrupts++;
}

void
jail_stop(struct jail *j)
{
	fake_of(j)->stops++;
}

void
jail_resume(struct jail *j)
{
	fake_of(j)->goes++;
}

void
jail_kill(struct jail *j)
{
	struct fake_jail *f = fake_of(j);

	if (f)
		f->killed = true;
}

enum jail_death
jail_reaped(struct jail *j, pid_t pid)
{
	struct fake_jail *f = fake_of(j);

	if (!f || !pid)
		return JAIL_NOT_MINE;
	if (pid == f->init && j->init_pid) {
		j->init_pid = 0;
		return JAIL_INIT_DEAD;
	}
	if (pid == f->run && j->warm && !j->run_reaped) {
		j->run_reaped = true;
		return JAIL_RUN_DEAD;
	}
	return JAIL_NOT_MINE;
}

void
jail_free(struct jail *j)
{
	struct fake_jail *f = fake_of(j);

	link_free(&j->channel);
	link_free(&j->lifeline);
	own_fd_close(&j->out);
	own_fd_close(&j->err);
	own_fd_close(&j->export);
	if (f) {
		f->jail = NULL;
		close_ends(f);
	}
}

/* ---- what jails are made of ---- */

bool
root_template_fits(const struct plan *plan)
{
	(void)plan;
	return false;
}

int
root_template_make(struct root_template *m, const struct plan *plan,
		   const struct jail_site *site, struct remit_error *err)
{
	(void)m;
	(void)plan;
	(void)site;
	return fail(err, REMIT_E_KERNEL, "no root template");
}

void
root_template_free(struct root_template *m)
{
	(void)m;
}

int
zygote_open(struct zygote *z, const struct plan *plan,
	    const struct jail_site *site, const struct list *env,
	    const struct list *preload, struct remit_error *err)
{
	int pair[2];

	(void)plan;
	(void)site;
	(void)env;
	(void)preload;
	if (fakes.zygote_fails ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       0, pair) < 0)
		return fail(err, REMIT_E_KERNEL, "no zygote");
	own_fd_close(&fake_zygote);
	z->control = pair[0];
	z->pid = FIRST_PID - 1;
	fake_zygote = pair[1];
	return 0;
}

int
zygote_recv(struct zygote *z, struct join_answer *out, struct remit_error *err)
{
	ssize_t n = recv(z->control, out, sizeof(*out), MSG_DONTWAIT);

	if (n == (ssize_t)sizeof(*out))
		return 1;
	if (n < 0 && errno == EAGAIN)
		return 0;
	return fail(err, REMIT_E_GONE, "the zygote is gone");
}

void
zygote_free(struct zygote *z)
{
	own_fd_close(&z->control);
	z->control = -1;
	z->pid = 0;
}

/* ---- what the keeper asks of its host ---- */

int
probe_host_cached(struct host *out, const char *runtime_dir,
		  struct remit_error *err)
{
	(void)runtime_dir;
	(void)err;
	*out = (struct host){
		.uid = 1000,
		.landlock_abi = 6,
		.cpus = 2,
		.page_bytes = 4096,
		.socket_buffer_bytes = 212992,
		.kernel = "6.12",
	};
	for (int i = 0; i < CAN_COUNT; i++)
		out->can[i].yes = true;
	return 0;
}

int
discover_runtime_dir(char **out, struct remit_error *err)
{
	*out = strdup("/nowhere");
	return *out ? 0 : fail_sys(err, REMIT_E_MEMORY, "runtime");
}

int
discover_interpreter(struct interpreter *out, const char *python_name,
		     const char *runtime_dir, struct remit_error *err)
{
	(void)runtime_dir;
	*out = (struct interpreter){
		.executable = strdup(python_name),
		.real = strdup("/usr/bin/python3"),
		.prefix = strdup("/usr"),
		.exec_prefix = strdup("/usr"),
	};
	if (out->executable && out->real && out->prefix && out->exec_prefix)
		return 0;
	interpreter_free(out);
	*out = (struct interpreter){ 0 };
	return fail_sys(err, REMIT_E_MEMORY, "interpreter");
}

int
discover_for(struct interpreter *out, const struct policy *p,
	     const char *runtime_dir, struct remit_error *err)
{
	return discover_interpreter(out, p->python, runtime_dir, err);
}

uint64_t
discover_identity(const struct interpreter *in)
{
	(void)in;
	return 1;
}

int
ground_enter(bool alone, struct remit_error *err)
{
	(void)alone;
	(void)err;
	return 0;
}

/* ---- memory ---- */

long fake_memory_left = -1;
bool fake_memory_failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);

static bool
is_out(void)
{
	if (fake_memory_left < 0 || fake_memory_left-- > 0)
		return false;
	fake_memory_failed = true;
	errno = ENOMEM;
	return true;
}

void *
__wrap_malloc(size_t size)
{
	return is_out() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
	return is_out() ? NULL : __real_calloc(count, size);
}

void *
__wrap_realloc(void *p, size_t size)
{
	return is_out() ? NULL : __real_realloc(p, size);
}

char *
__wrap_strdup(const char *s)
{
	return is_out() ? NULL : __real_strdup(s);
}
