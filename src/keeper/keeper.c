#include "keeper/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/file/fd.h"
#include "jail/linux_abi.h"
#include "jail/mount/ground.h"
#include "jail/probe/discover.h"
#include "jail/probe/probe.h"
#include "jail/seccomp/filter.h"
#include "keeper/packages/install.h"
#include "keeper/pool/pool.h"
#include "keeper/pool/worker.h"
#include "keeper/session/session.h"

/* How long to poll for the end of a small program instead of sleeping. With a
   waiting worker this halves the duration of such a run. */
#define STAY_AWAKE_US 200

/* ---- the queue ---- */

static bool
needs_jail(const struct session *s)
{
	const struct tier_info *t = &tiers[session_policy(s)->tier];

	return t->built && t->jailed;
}

/* Starts sessions from the queue while slots are free. The first session that
   needs a jail stops the loop until the keeper is locked: see run_phases(). */
static void
admit_sessions(struct keeper *k)
{
	while (k->queue_count && k->running < KEEPER_RUNNING_MAX &&
	       k->worker_count < KEEPER_WORKERS_MAX) {
		struct session *s = k->queue[k->queue_head];

		if (s && !k->is_locked && needs_jail(s)) {
			k->loop.stop = true;
			return;
		}
		k->queue_head = (k->queue_head + 1) % KEEPER_WAITING_MAX;
		k->queue_count--;
		if (!s)
			continue; /* the session ended while it waited */
		k->running++;
		s->counts_as_running = true;
		session_post(s, SESSION_ADMITTED);
	}
}

static void
on_queue(void *owner)
{
	admit_sessions(owner);
}

void
keeper_enqueue(struct keeper *k, struct session *s)
{
	size_t at = (k->queue_head + k->queue_count) % KEEPER_WAITING_MAX;

	if (install_before(s))
		return; /* it is enqueued again after the installation */
	if (k->queue_count == KEEPER_WAITING_MAX) {
		session_post(s, SESSION_BUSY);
		return;
	}
	k->queue[at] = s;
	k->queue_count++;
	loop_defer(&k->loop, &k->admit);
}

static void
queue_remove(struct keeper *k, struct session *s)
{
	for (size_t i = 0; i < k->queue_count; i++) {
		size_t at = (k->queue_head + i) % KEEPER_WAITING_MAX;

		if (k->queue[at] == s)
			k->queue[at] = NULL;
	}
}

int
keeper_reserve_session(struct keeper *k)
{
	if (k->open_count >= KEEPER_SESSIONS_MAX)
		return -1;
	k->open_count++;
	return 0;
}

void
keeper_stay_awake(struct keeper *k)
{
	if (k->running == 1 && !k->queue_count)
		loop_stay_awake(&k->loop, STAY_AWAKE_US);
}

void
keeper_session_ended(struct keeper *k, struct session *s)
{
	k->running -= s->counts_as_running;
	if (s->counts_as_running)
		loop_stay_awake(&k->loop, 0);
	s->counts_as_running = s->is_set_aside = false;
}

void
keeper_set_aside(struct keeper *k, struct session *s)
{
	if (!s->counts_as_running)
		return;
	k->running--;
	s->counts_as_running = false;
	s->is_set_aside = true;
}

void
keeper_take_back(struct keeper *k, struct session *s)
{
	k->running += s->is_set_aside;
	s->counts_as_running |= s->is_set_aside;
	s->is_set_aside = false;
}

void
keeper_remove(struct keeper *k, struct session *s)
{
	struct session **at = &k->sessions;

	while (*at && *at != s)
		at = &(*at)->next;
	if (!*at)
		return; /* it was already removed */
	*at = s->next;
	keeper_session_ended(k, s);
	k->open_count -= session_has_cells(s);
	queue_remove(k, s);
	install_leave(s);
	s->next = k->dead;
	k->dead = s;
}

static void
add_session(struct keeper *k, struct session *s)
{
	s->next = k->sessions;
	k->sessions = s;
}

/* Sessions are freed only here, so that a handler may remove the session it
   works for. */
static void
after_event(void *owner)
{
	struct keeper *k = owner;

	while (k->dead) {
		struct session *s = k->dead, *next = session_successor(s);

		k->dead = s->next;
		session_free(s);
		if (next)
			add_session(k, next);
		/* If descriptors had run out, the session has freed some:
		   accept clients again. */
		loop_want(&k->loop, &k->on_listen, EPOLLIN);
	}
	admit_sessions(k);
}

/* ---- clients ---- */

/* Async-signal-safe. */
static void
stop_keeper(struct keeper *k)
{
	k->is_stopping = true;
	k->loop.stop = true;
}

struct session *
keeper_add_client(struct keeper *k, int fd)
{
	struct session *s = session_new(k, fd);

	if (s) /* if memory is short, the client sees the connection close */
		add_session(k, s);
	return s;
}

static void
on_control(void *owner, uint32_t events)
{
	struct keeper *k = owner;
	int fds[PASS_MAX];
	size_t count;
	char byte;
	ssize_t n = pass_recv(k->control, &byte, 1, fds, &count, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		stop_keeper(k); /* the caller of this private keeper is gone */
		return;
	}
	for (size_t i = 0; i < count; i++)
		keeper_add_client(k, fds[i]);
}

static void
on_listen(void *owner, uint32_t events)
{
	struct keeper *k = owner;
	int fd = accept4(k->listen, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	(void)events;
	if (fd < 0) {
		/* Out of descriptors: stop accepting until a session ends. */
		if ((errno == EMFILE || errno == ENFILE) && k->sessions)
			loop_want(&k->loop, &k->on_listen, 0);
		return;
	}
	/* The mode of the socket restricts it to the same user; check the peer
	   as well. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	    peer.uid != geteuid()) {
		close(fd);
		return;
	}
	keeper_add_client(k, fd);
}

static int
open_listener(struct keeper *k, const char *path, struct remit_error *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const size_t most = sizeof(addr.sun_path) - sizeof(".4194304");
	mode_t old;
	int bound;

	if (strlen(path) > most)
		return fail(err, REMIT_E_INPUT,
			    "%s: the path is longer than %zu bytes", path,
			    most);
	memcpy(addr.sun_path, path, strlen(path));
	k->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (k->listen < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socket");
	/* A socket that accepts a connection belongs to another keeper; any
	   other file is left over. */
	if (connect(k->listen, (void *)&addr, sizeof(addr)) == 0)
		return fail(err, REMIT_E_BUSY,
			    "another keeper is listening at %s", path);
	/* Bind under a temporary name and rename it when listening, so that a
	   client that finds the socket can connect. */
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s.%d", path,
		 (int)getpid());
	unlink(addr.sun_path);
	old = umask(0177);
	bound = bind(k->listen, (void *)&addr, sizeof(addr));
	umask(old);
	if (bound < 0 || listen(k->listen, 1024) < 0 ||
	    rename(addr.sun_path, path) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "listen at %s", path);
	return 0;
}

static int
start_listening(struct keeper *k, const struct keeper_options *opt,
		struct remit_error *err)
{
	if (opt->listen_fd >= 0)
		k->listen = opt->listen_fd;
	else if (opt->listen_path &&
		 open_listener(k, opt->listen_path, err) < 0)
		return -1;
	if (k->listen < 0)
		return 0;
	return loop_add(&k->loop, &k->on_listen, k->listen, EPOLLIN, on_listen,
			k, err);
}

/* ---- what jails need ---- */

/*
 * Loads the keeper's own filter, without rare system calls. Child processes
 * inherit it, and code may be allowed to use sockets, so the filter must allow
 * sockets. A private keeper may have to provide the host's network. A shared
 * keeper that could not move into a network namespace without devices loads the
 * filter without sockets.
 */
static int
load_own_filter(struct keeper *k, struct remit_error *err)
{
	/* Jails inherit this filter, so a test that leaves out the mechanism
	   must not have it here either. */
	if (host_left_out(&k->host) & MECH(SECCOMP))
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    filter_load(k->listen < 0 || k->is_alone ? FILTER_KEEPER_NETWORK
						     : FILTER_KEEPER) < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"load the keeper's filter");
	return 0;
}

int
keeper_ensure_proxy_launcher(struct keeper *k, struct remit_error *err)
{
	const struct proxy_launcher_keeper by = {
		.by_root = k->host.by_root,
		.on_ground = k->has_ground,
		.unfiltered = host_left_out(&k->host) & MECH(SECCOMP),
	};

	/* A proxy launcher started by a shared keeper now would be in the
	   network namespace without devices, and could reach no host. */
	if (k->has_ground && k->is_alone)
		return 0;
	return proxy_launcher_start(&k->proxy_launcher, &by, err);
}

/* Moves the keeper into private namespaces. Processes that it started earlier
   stay outside: a proxy launcher that needs the host's network is one. */
static int
enter_ground(struct keeper *k, struct remit_error *err)
{
	if (host_lacks(&k->host, TIER_LOCAL) != CAN_COUNT)
		return 0;
	k->is_alone = k->listen >= 0;
	if (k->is_alone && keeper_ensure_proxy_launcher(k, err) < 0)
		return -1;
	/* If a test leaves out the network namespace of jails, the keeper must
	   not be in one either: jails would inherit it. */
	return ground_enter(k->is_alone && !(host_left_out(&k->host) &
					     MECH(NETWORK_NAMESPACE)),
			    err);
}

/* Finds the facts that are the same for all plans. */
static int
ensure_host(struct keeper *k, struct remit_error *err)
{
	if (!k->runtime_dir && discover_runtime_dir(&k->runtime_dir, err) < 0)
		return -1;
	k->site.runtime_dir = k->runtime_dir;
	if (k->has_host)
		return 0;
	if (probe_host_cached(&k->host, k->runtime_dir, err) < 0)
		return -1;
	k->has_host = true;
	return 0;
}

/* The sequence matters: each step must come before the lock that would forbid
   it. */
static int
keeper_lock_down(struct keeper *k, struct remit_error *err)
{
	if (ensure_host(k, err) < 0)
		return -1;
	cgroup_home_clean(false);
	workspace_clean_soon();
	if (cgroup_home_open(&k->cgroups, &k->host, err) < 0 ||
	    enter_ground(k, err) < 0)
		return -1;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* A service may have its pages merged with those of other processes
	   (MemoryKSM of systemd), and its children inherit that. The duration
	   of a write would then reveal to the code what other processes have in
	   memory. Kernels before 6.4 refuse the call and merge nothing. */
	prctl(PR_SET_MEMORY_MERGE, 0, 0, 0, 0);
	k->has_ground = true;
	return load_own_filter(k, err);
}

int
keeper_check_lock(const struct keeper *k, struct remit_error *err)
{
	if (k->is_locked && !k->lock_error.code)
		return 0;
	if (!k->is_locked)
		return fail(err, REMIT_E_INTERNAL,
			    "a jail was requested before the keeper was locked "
			    "down");
	*err = k->lock_error;
	return -1;
}

static int
fail_elsewhere(struct remit_error *err, const char *field, const char *why)
{
	fail_refused(err, field,
		     "Run it with a private keeper (set REMIT_KEEPER to an "
		     "empty value).",
		     "%s", why);
	err->code = REMIT_E_ELSEWHERE;
	return -1;
}

/* Refuses what only a private keeper can provide, or only one that is not
   locked down yet. */
static int
check_keeper_can_run(const struct keeper *k, const struct policy *p,
		     struct remit_error *err)
{
	if (k->listen < 0 && !tiers[p->tier].jailed && k->has_ground)
		return fail_refused(err, "tier",
				    "Use another connection: it starts another "
				    "private keeper.",
				    "this keeper is locked down, and a plain "
				    "process would inherit that");
	if (k->listen < 0)
		return 0;
	if (!tiers[p->tier].jailed)
		return fail_elsewhere(
			err, "tier", "a shared keeper runs code only in jails");
	if (p->network_access == NETWORK_HOST)
		return fail_elsewhere(
			err, "network_access",
			"a shared keeper has no access to the host's network");
	if (p->credentials.count)
		return fail_elsewhere(err, "credentials",
				      "a shared keeper has no access to your "
				      "variables and files");
	if (p->env_var_access)
		return fail_elsewhere(
			err, "env_var_access",
			"a shared keeper has no access to your environment");
	return 0;
}

int
keeper_prepare(struct keeper *k, const struct policy *p,
	       struct interpreter *out, struct remit_error *err)
{
	if (ensure_host(k, err) < 0)
		return -1;
	if (!tiers[p->tier].built)
		return 0; /* the plan names the tier in its refusal */
	if (check_keeper_can_run(k, p, err) < 0)
		return -1;
	return discover_for(out, p, k->runtime_dir, err);
}

/* ---- the process ---- */

static void
raise_fd_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

/* Fills the pool of the policy that the keeper was started for, so that the
   first client gets a warm worker. */
static int
start_warm_pool(struct keeper *k, struct policy *policy,
		struct remit_error *err)
{
	struct pool *p;

	if (!policy)
		return keeper_check_lock(k, err);
	p = pool_for(k, policy, NULL, "", 0, POOL_RUNS, err);
	if (!p || keeper_check_lock(k, err) < 0)
		return -1;
	p->target = p->target_min = POOL_TARGET_MIN;
	keeper_refill_soon(k);
	return 0;
}

int
keeper_open(struct keeper *k, const struct keeper_options *opt,
	    struct remit_error *err)
{
	if (loop_open(&k->loop, err) < 0)
		return -1;
	k->loop.after = after_event;
	k->loop.after_owner = k;
	k->admit = (struct deferred){ .run = on_queue, .owner = k };
	k->site.cgroups = &k->cgroups;
	k->site.spare_groups = &k->spare_groups;
	k->cgroups = (struct cgroup_home)CGROUP_HOME_INIT;
	k->proxy_launcher = (struct proxy_launcher)PROXY_LAUNCHER_INIT;
	k->on_control = k->on_listen = (struct source)SOURCE_INIT;
	k->began_us = loop_now_us();
	k->control = opt->control_fd;
	k->listen = -1;
	if (upkeep_open(k, err) < 0)
		return -1;
	if (k->control >= 0 && loop_add(&k->loop, &k->on_control, k->control,
					EPOLLIN, on_control, k, err) < 0)
		return -1;
	if (audit_writer_watch(&k->audit_writer, &k->loop, err) < 0)
		return -1;
	return start_listening(k, opt, err);
}

void
keeper_close(struct keeper *k)
{
	while (k->sessions)
		keeper_remove(k, k->sessions);
	while (k->dead) {
		struct session *s = k->dead;

		k->dead = s->next;
		session_free(s);
	}
	install_close(k);
	audit_writer_stop(&k->audit_writer);
	upkeep_close(k);
	cgroup_stock_clear(&k->spare_groups);
	proxy_launcher_free(&k->proxy_launcher);
	cgroup_home_free(&k->cgroups);
	own_fd_close(&k->control);
	own_fd_close(&k->listen);
	loop_free(&k->loop);
	free(k->runtime_dir);
}

static struct keeper *stopping;

static void
on_term(int signal)
{
	(void)signal;
	stop_keeper(stopping);
}

static void
on_hup(int signal)
{
	(void)signal;
	audit_writer_reopen(&stopping->audit_writer);
}

/* The audit writer is forked first, before the keeper opens anything or locks
   itself. */
static int
start_audit(struct keeper *k, const char *path, struct remit_error *err)
{
	struct sigaction hup = { .sa_handler = on_hup };

	k->audit_writer = (struct audit_writer)AUDIT_WRITER_INIT;
	if (!path)
		return 0;
	if (audit_writer_start(&k->audit_writer, path, err) < 0)
		return -1;
	sigaction(SIGHUP, &hup, NULL);
	return 0;
}

static void
install_signal_handlers(struct keeper *k)
{
	struct sigaction term = { .sa_handler = on_term };

	signal(SIGPIPE, SIG_IGN);
	stopping = k;
	sigaction(SIGTERM, &term, NULL);
	sigaction(SIGINT, &term, NULL);
}

/* Runs until the keeper is to stop, or until the first session needs the
   lock-down (admit_sessions). */
static int
run_loop(struct keeper *k, struct remit_error *err)
{
	/* Reset `stop` before testing is_stopping: a signal may arrive in
	   between. */
	k->loop.stop = false;
	return k->is_stopping ? 0 : loop_run(&k->loop, err);
}

/*
 * The phases of the process. Child processes inherit the keeper's lock-down,
 * and a private keeper may have to start a plain process (tier unsafe). So a
 * private keeper first reads what its clients want; until it is locked it
 * builds no jail and runs no foreign code. A shared keeper runs nothing outside
 * of jails, and locks itself before its first client.
 */
static int
run_phases(struct keeper *k, const struct keeper_options *opt,
	   struct remit_error *err)
{
	bool is_private = k->listen < 0;

	if (is_private && run_loop(k, err) < 0)
		return -1;
	if (k->is_stopping)
		return 0;
	k->is_locked = true;
	if (keeper_lock_down(k, &k->lock_error) == 0)
		k->lock_error = (struct remit_error){ 0 };
	/* A private keeper reports a failed lock-down to the sessions that need
	   a jail. */
	if (!is_private && start_warm_pool(k, opt->policy, err) < 0)
		return -1;
	loop_defer(&k->loop, &k->admit);
	return run_loop(k, err);
}

int
keeper_main(const struct keeper_options *opt, struct remit_error *err)
{
	struct keeper *k = calloc(1, sizeof(*k));
	int failed;

	if (!k)
		return fail_memory(err, "keeper");
	raise_fd_limit();
	install_signal_handlers(k);
	if (start_audit(k, opt->audit_path, err) < 0) {
		free(k);
		return -1;
	}
	failed = keeper_open(k, opt, err) < 0 || run_phases(k, opt, err) < 0;
	if (opt->listen_path && opt->listen_fd < 0 && !failed)
		unlink(opt->listen_path);
	keeper_close(k);
	free(k);
	return failed ? -1 : 0;
}
