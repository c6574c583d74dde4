#include "keeper/packages/install.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "jail/linux_abi.h"
#include "keeper/keeper.h"
#include "keeper/packages/installer.h"
#include "keeper/packages/installer_run.h"
#include "keeper/pool/pool.h"
#include "keeper/session/part.h"
#include "policy/rules/package_rule.h"

/* ---- its end ---- */

static void
install_stop(struct install *i)
{
	loop_remove(&i->keeper->loop, &i->on_line);
	if (i->handle >= 0)
		sys_pidfd_kill(i->handle, SIGKILL);
	own_fd_close(&i->handle);
	own_fd_close(&i->line);
	i->handle = i->line = -1;
	i->pid = 0;
}

static void
install_free(struct install *i)
{
	install_stop(i);
	policy_free(&i->policy);
	list_free(&i->have);
	interpreter_free(&i->interpreter);
	free(i->tenant);
	free(i);
}

static void install_start_next(struct keeper *k);

static void
install_unlist(struct install *i)
{
	struct install **at = &i->keeper->installs;

	while (*at != i)
		at = &(*at)->next;
	*at = i->next;
}

static void
install_cancel(struct install *i)
{
	struct keeper *k = i->keeper;

	install_unlist(i);
	install_free(i);
	install_start_next(k);
}

static struct session *
first_waiting(const struct install *i)
{
	struct session *s = i->keeper->sessions;

	while (s && s->packages.install != i)
		s = s->next;
	return s;
}

/* The installation ran out of the time of the session that started it: a
   session with more time tries again. */
static bool
has_more_time(const struct session *s, const struct install *i,
	      const struct remit_error *err)
{
	return installer_is_late(err) &&
	       session_policy(s)->package_time_ms > i->policy.package_time_ms;
}

/* `err` is NULL if the packages are installed. */
static void
install_finish(struct install *i, const struct remit_error *err)
{
	struct keeper *k = i->keeper;
	struct session *s;

	/* Remove it first, so that sessions which try again do not find it. */
	install_unlist(i);
	while ((s = first_waiting(i))) {
		bool again = err && has_more_time(s, i, err);

		s->packages.install = NULL;
		s->packages.install_ended = !again;
		if (s->packages.is_open)
			session_got_packages(s, again ? NULL : err);
		else if (err && !again)
			session_fail(s, err);
		else
			keeper_enqueue(k, s);
	}
	install_free(i);
	install_start_next(k);
}

void
install_leave(struct session *s)
{
	struct install *i = s->packages.install;

	s->packages.install = NULL;
	if (i && !first_waiting(i))
		install_cancel(i);
}

void
install_close(struct keeper *k)
{
	while (k->installs) {
		struct install *i = k->installs;

		k->installs = i->next;
		install_free(i);
	}
}

/* Returns -1 if it is known that an installation would fail. Code is not told
   what failed before: that would be a message from another run. */
static int
check_before_install(const char *key, bool by_code, struct remit_error *err)
{
	if (!by_code && package_layer_failure(key, err))
		return -1;
	return package_layer_check_store(err);
}

/* ---- messages of the installer ---- */

/* The line is foreign text: the client removes control characters, and code
   that waits is in a jail. */
static void
send_progress(struct install *i, const char *line)
{
	struct remit_error err;

	for (struct session *s = i->keeper->sessions; s; s = s->next) {
		if (s->packages.install == i && s->packages.is_open)
			session_show_progress(s, line);
		if (s->packages.install != i || s->packages.is_open ||
		    link_backlog(&s->client) > CLIENT_BACKLOG)
			continue;
		if (link_send(&s->client, FRAME_PROGRESS, line, strlen(line),
			      &err) == 0)
			session_flush_client(s);
	}
}

/* The package layer was changed, or removed: it must be installed again. */
static void
install_after_check(struct install *i)
{
	struct remit_error err;

	install_stop(i);
	i->only_checks = false;
	if (check_before_install(i->key, i->by_code, &err) < 0)
		install_finish(i, &err);
	else
		install_start_next(i->keeper);
}

static void
on_line(void *owner, uint32_t events)
{
	struct install *i = owner;
	struct installer_message m;
	struct remit_error err;
	ssize_t n = recv(i->line, &m, sizeof(m), MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(m)) {
		fail(&err, REMIT_E_INTERNAL, "the installer of packages died");
		install_finish(i, &err);
		return;
	}
	switch (m.event) {
	case INSTALLER_PROGRESS:
		send_progress(i, m.error.message);
		break;
	case INSTALLER_DONE:
		package_layer_trust_add(&i->keeper->package_layer_trust, m.id);
		install_finish(i, NULL);
		break;
	case INSTALLER_ABSENT:
		install_after_check(i);
		break;
	case INSTALLER_FAILED:
		install_finish(i, &m.error);
		break;
	}
}

/* ---- its start ---- */

static void
close_all(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		own_fd_close(&fds[i]);
}

/* The keeper treats its ends of these connections like any client. */
static int
open_clients(struct installer_params *o, int ours[INSTALLER_CLIENTS],
	     struct remit_error *err)
{
	for (size_t i = 0; i < INSTALLER_CLIENTS; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) <
		    0)
			return fail_sys(err, REMIT_E_KERNEL, "socketpair");
		ours[i] = pair[0];
		o->clients[i] = pair[1];
	}
	return 0;
}

static int
fork_installer(struct install *i, const struct installer_params *o,
	       struct remit_error *err)
{
	pid_t keeper = getpid();

	i->pid = fork();
	if (i->pid == 0)
		installer_main(o, keeper);
	if (i->pid < 0) {
		i->pid = 0;
		return fail_sys(err, REMIT_E_KERNEL, "fork");
	}
	/* The process is not reaped yet, so its pid cannot be reused. */
	i->handle = sys_pidfd_open(i->pid);
	if (i->handle < 0) {
		kill(i->pid, SIGKILL);
		return fail_sys(err, REMIT_E_KERNEL, "watch the installer");
	}
	return loop_add(&i->keeper->loop, &i->on_line, i->line, EPOLLIN,
			on_line, i, err);
}

static int
install_start(struct install *i, struct remit_error *err)
{
	int ours[INSTALLER_CLIENTS] = { -1, -1 }, line[2] = { -1, -1 };
	struct installer_params o = {
		.policy = &i->policy,
		.interpreter = &i->interpreter,
		.runtime_dir = i->keeper->runtime_dir,
		.key = i->key,
		.have = &i->have,
		.tenant = i->tenant,
		.by_code = i->by_code,
		.only_checks = i->only_checks,
		.clients = { -1, -1 },
	};
	int failed = i->only_checks ? 0 : open_clients(&o, ours, err);

	if (!failed &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) < 0)
		failed = fail_sys(err, REMIT_E_KERNEL, "socketpair");
	o.line = line[1];
	i->line = line[0];
	if (!failed)
		failed = fork_installer(i, &o, err);
	close_all(o.clients, INSTALLER_CLIENTS);
	own_fd_close(&line[1]);
	if (failed)
		close_all(ours, INSTALLER_CLIENTS);
	else
		for (size_t n = 0; n < INSTALLER_CLIENTS && ours[n] >= 0; n++)
			keeper_add_client(i->keeper, ours[n]);
	return failed;
}

static bool
have_one_tenant(const struct install *a, const struct install *b)
{
	return a->tenant && b->tenant ? !strcmp(a->tenant, b->tenant)
				      : a->tenant == b->tenant;
}

/* Counts the installers that run and do the same as `of`, and in *own those of
   its tenant. */
static size_t
count_running(const struct keeper *k, const struct install *of, size_t *own)
{
	size_t running = 0;

	*own = 0;
	for (const struct install *i = k->installs; i; i = i->next) {
		if (!i->pid || i->only_checks != of->only_checks)
			continue;
		running++;
		*own += have_one_tenant(i, of);
	}
	return running;
}

static struct install *
install_choose(const struct keeper *k)
{
	struct install *next = NULL;
	size_t own, fewest = SIZE_MAX;

	for (struct install *i = k->installs; i; i = i->next) {
		size_t running = count_running(k, i, &own);

		if (i->pid || running >= INSTALL_MAX ||
		    (i->tenant && own >= INSTALL_TENANT_MAX) || own > fewest)
			continue;
		next = i; /* the last one found is the oldest */
		fewest = own;
	}
	return next;
}

static void
install_start_next(struct keeper *k)
{
	struct install *next;
	struct remit_error err;

	while ((next = install_choose(k)))
		if (install_start(next, &err) < 0)
			install_finish(next, &err);
}

static struct install *
install_find(struct keeper *k, const char *key)
{
	struct install *i = k->installs;

	while (i && strcmp(i->key, key) != 0)
		i = i->next;
	return i;
}

/* Takes ownership of the interpreter. */
static struct install *
install_add(struct session *s, const struct policy *p, struct interpreter *in,
	    const struct list *have, const char *key, struct remit_error *err)
{
	struct install *i = calloc(1, sizeof(*i));
	struct keeper *k = s->keeper;

	if (i && s->cell.tenant)
		i->tenant = strdup(s->cell.tenant);
	if (!i || (s->cell.tenant && !i->tenant) ||
	    policy_copy(&i->policy, p) < 0 || list_copy(&i->have, have) < 0) {
		if (i) {
			free(i->tenant);
			policy_free(&i->policy);
		}
		free(i);
		fail_memory(err, "packages");
		return NULL;
	}
	i->keeper = k;
	i->by_code = s->packages.is_open;
	i->line = i->handle = -1;
	i->on_line = (struct source)SOURCE_INIT;
	i->interpreter = *in;
	*in = (struct interpreter){ 0 };
	memcpy(i->key, key, sizeof(i->key));
	i->next = k->installs;
	k->installs = i;
	return i;
}

/* Makes the session wait for this installation. */
static int
wait_for_install(struct session *s, const struct policy *p,
		 const struct list *have, struct interpreter *in,
		 const char *key, enum package_layer_state state,
		 struct remit_error *err)
{
	if (state == PACKAGE_LAYER_ABSENT) {
		if (s->packages.install_ended)
			return fail(err, REMIT_E_INTERNAL,
				    "packages were installed but cannot be "
				    "found");
		if (check_before_install(key, s->packages.is_open, err) < 0)
			return -1;
	}
	s->packages.install = install_find(s->keeper, key);
	if (!s->packages.install)
		s->packages.install = install_add(s, p, in, have, key, err);
	if (!s->packages.install)
		return -1;
	/* An installation of this request may be running already. */
	if (!s->packages.install->pid)
		s->packages.install->only_checks =
			state == PACKAGE_LAYER_UNCHECKED;
	return 0;
}

/* Finds these packages, or an installation that the session must wait for. */
static int
ensure_packages(struct session *s, const struct policy *p, struct list *have,
		struct package_layer *out, struct remit_error *err)
{
	own(interpreter) struct interpreter in = { 0 };
	struct plan plan = { 0 };
	struct plan_job job = { 0 };
	enum package_layer_state state;
	char key[SHA256_TEXT];

	if (keeper_prepare(s->keeper, p, &in, err) < 0)
		return -1;
	/* Check first whether the plan would be refused without packages. */
	if (plan_build(&plan, p, &job, &s->keeper->host, &in, err) < 0)
		return -1;
	plan_free(&plan);
	if (package_layer_key(key, p, &in, err) < 0)
		return -1;
	if (s->packages.is_open)
		package_layer_key_add(key, s->cell.tenant, have);
	state = package_layer_find(out, key, &s->keeper->package_layer_trust);
	if (state == PACKAGE_LAYER_WHOLE)
		return 0;
	package_layer_free(out);
	return wait_for_install(s, p, have, &in, key, state, err);
}

static void
start_waiting(const struct session *s)
{
	if (s->packages.install && !s->packages.install->pid)
		install_start_next(s->keeper);
}

bool
install_before(struct session *s)
{
	const struct policy *p = session_policy(s);
	struct list nothing = { 0 };
	struct remit_error err;

	/* A session with a pool has its packages: pool_find() has checked
	   them. */
	if (!package_rule_any(p) || s->pool)
		return false;
	if (ensure_packages(s, p, &nothing, &s->package_layer, &err) < 0) {
		session_fail(s, &err);
		return true;
	}
	if (!s->packages.install)
		return false;
	start_waiting(s);
	return true;
}

int
install_request(struct session *s, struct package_layer *out,
		struct remit_error *err)
{
	if (ensure_packages(s, &s->packages.policy, &s->packages.have, out,
			    err) < 0)
		return -1;
	start_waiting(s);
	return 0;
}
