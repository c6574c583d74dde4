#include "keeper/pool/zygote_server.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/proc.h"
#include "keeper/keeper.h"
#include "keeper/pool/pool.h"
#include "keeper/pool/worker.h"
#include "keeper/session/task.h"

/* ---- the zygote ---- */

/* Fails all workers that wait for a child. */
static void
fail_pending(struct zygote_server *n, const struct remit_error *err)
{
	size_t count = n->pending_count;
	struct worker *all[ZYGOTE_SERVER_PENDING];

	memcpy(all, n->pending, sizeof(all));
	n->pending_count = 0;
	for (size_t i = 0; i < count; i++)
		if (all[i])
			worker_failed(all[i], err);
}

static void
close_zygote(struct zygote_server *n)
{
	loop_remove(&n->keeper->loop, &n->on_control);
	loop_set_timer(&n->keeper->loop, &n->deadline_timer, 0);
	zygote_free(&n->zygote);
	n->crashed = false;
	n->bytes = 0;
}

static void
notify_pools(struct zygote_server *n)
{
	for (struct pool *p = n->keeper->pools, *next; p; p = next) {
		next = p->next;
		if (p->zygote_server == n)
			pool_zygote_server_changed(p);
	}
}

static void
go_down(struct zygote_server *n, enum zygote_server_state state)
{
	struct remit_error gone;

	fail(&gone, REMIT_E_GONE, "the zygote is gone");
	close_zygote(n);
	n->state = state;
	fail_pending(n, &gone);
	notify_pools(n);
}

static void
become_unfit(struct zygote_server *n, const char *why)
{
	if (n->preload.count)
		fail_refused(&n->error, "preload",
			     "Remove the module from preload: code can still "
			     "import it.",
			     "%s", why);
	else
		fail(&n->error, REMIT_E_INTERNAL, "the zygote cannot start: %s",
		     why);
	go_down(n, ZYGOTE_SERVER_UNFIT);
}

/* The zygote died before it could report which module was at fault. */
static void
fail_modules(struct zygote_server *n, const char *what)
{
	own(buf) struct buf text = BUF_INIT(sizeof(n->error.message));
	int added = buf_addf(&text, "%s", what);

	for (size_t i = 0; i < n->preload.count && added == 0; i++)
		added = buf_addf(&text, "%s %s", i ? "," : "",
				 n->preload.items[i]);
	become_unfit(n, buf_text(&text));
}

static void
start_later(struct zygote_server *n)
{
	n->not_before_us = loop_now_us() + ZYGOTE_SERVER_RETRY_US;
	go_down(n, ZYGOTE_SERVER_DOWN);
}

/* Tolerate one slow start: the machine may have been overloaded. A second one
   is the preloaded modules' fault. */
static void
note_late(struct zygote_server *n)
{
	char what[64];

	if (n->late_imports++ && n->preload.count) {
		snprintf(what, sizeof(what),
			 "importing took longer than %g s (deadline "
			 "\"import\"):",
			 (double)deadline_us(DEADLINE_IMPORT) / 1e6);
		fail_modules(n, what);
		return;
	}
	deadline_missed(&n->error, DEADLINE_IMPORT);
	start_later(n);
}

/* Tolerate one hang: the machine may have been overloaded. A second one is the
   preloaded modules' fault. */
static void
note_hang(struct zygote_server *n)
{
	char what[128];

	if (n->forks || !n->preload.count || !n->hangs++) {
		go_down(n, ZYGOTE_SERVER_DOWN);
		return;
	}
	snprintf(what, sizeof(what),
		 "the interpreter hangs when it forks (longer than %g s, "
		 "deadline \"fork\") after importing",
		 (double)deadline_us(DEADLINE_FORK) / 1e6);
	fail_modules(n, what);
}

static void
on_deadline(void *owner)
{
	struct zygote_server *n = owner;

	if (n->state == ZYGOTE_SERVER_READY)
		note_hang(n);
	else
		note_late(n);
}

/* Sets the deadline for the next waiting worker, if there is one. */
static void
set_fork_deadline(struct zygote_server *n)
{
	loop_set_timer(&n->keeper->loop, &n->deadline_timer,
		       n->pending_count
			       ? loop_now_us() + deadline_us(DEADLINE_FORK)
			       : 0);
}

static void
recv_forked(struct zygote_server *n, const struct join_answer *a)
{
	struct worker *i;
	struct remit_error err;

	if (!n->pending_count) {
		go_down(n, ZYGOTE_SERVER_DOWN);
		return;
	}
	i = n->pending[0];
	memmove(n->pending, n->pending + 1,
		--n->pending_count * sizeof(n->pending[0]));
	set_fork_deadline(n);
	n->hangs = 0;
	n->forks += a->kind == JOIN_FORKED;
	if (!i)
		return; /* the worker died meanwhile, and its child with it */
	if (a->kind == JOIN_FORKED) {
		worker_joined(i, a->pid);
		return;
	}
	jail_step_failed(&a->report, &i->pool->plan, &err);
	worker_failed(i, &err);
}

/* All children of a zygote have the same memory layout, so those of a zygote
   whose child crashed must go. They stayed until the next zygote was ready, so
   that no start was cold. */
static void
empty_pools(struct zygote_server *n)
{
	for (struct pool *p = n->keeper->pools; p; p = p->next)
		if (p->zygote_server == n)
			pool_empty(p);
}

/* A runtime of another release would not understand any command. */
static void
zygote_become_ready(struct zygote_server *n, uint32_t magic)
{
	if (magic != LOCK_MAGIC) {
		jail_fail_release(&n->error);
		go_down(n, ZYGOTE_SERVER_UNFIT);
		return;
	}
	n->state = ZYGOTE_SERVER_READY;
	n->bytes = proc_pss_bytes(n->zygote.pid);
	n->kills = n->late_imports = 0;
	if (n->replaces_crashed)
		empty_pools(n);
	n->replaces_crashed = false;
	loop_set_timer(&n->keeper->loop, &n->deadline_timer, 0);
	notify_pools(n);
}

static void
on_control(void *owner, uint32_t events)
{
	struct zygote_server *n = owner;
	struct join_answer a;
	struct remit_error err;
	int got = zygote_recv(&n->zygote, &a, &err);

	(void)events;
	if (got == 0)
		return;
	if (got < 0) {
		/* The zygote's exit status follows, and explains more. */
		if (n->state == ZYGOTE_SERVER_STARTING)
			loop_remove(&n->keeper->loop, &n->on_control);
		else
			go_down(n, ZYGOTE_SERVER_DOWN);
		return;
	}
	switch (a.kind) {
	case JOIN_READY:
		zygote_become_ready(n, (uint32_t)a.pid);
		break;
	case JOIN_UNFIT:
		become_unfit(n, a.text);
		break;
	default:
		recv_forked(n, &a);
		keeper_refill_soon(n->keeper);
	}
}

static bool
must_wait_to_import(const struct zygote_server *n)
{
	unsigned importing = 0;

	for (const struct zygote_server *o = n->keeper->zygote_servers; o;
	     o = o->next)
		importing +=
			o->state == ZYGOTE_SERVER_STARTING && o->preload.count;
	return n->preload.count && importing >= ZYGOTE_SERVER_IMPORTS_MAX;
}

int
zygote_server_start(struct zygote_server *n, struct pool *p,
		    struct remit_error *err)
{
	own(list) struct list env = { 0 };
	struct keeper *k = n->keeper;

	if (n->state != ZYGOTE_SERVER_DOWN)
		return 0;
	if (loop_now_us() < n->not_before_us) {
		*err = n->error;
		return -1;
	}
	if (must_wait_to_import(n))
		return 0;
	if (task_environment(&env, &p->plan, err) < 0 ||
	    zygote_open(&n->zygote, &p->plan, &k->site, &env, &n->preload,
			err) < 0 ||
	    loop_add(&k->loop, &n->on_control, n->zygote.control, EPOLLIN,
		     on_control, n, err) < 0) {
		zygote_free(&n->zygote);
		return -1;
	}
	n->state = ZYGOTE_SERVER_STARTING;
	n->since_us = loop_now_us();
	n->forks = 0;
	n->restarts++;
	loop_set_timer(&k->loop, &n->deadline_timer,
		       n->since_us + deadline_us(DEADLINE_IMPORT));
	return 0;
}

/* Returns the modules that the zygote imports. Modules of packages are foreign
   code, so each child imports them in its jail instead. */
static const struct list *
own_preload(const struct pool *p)
{
	static const struct list none = { 0 };

	return pool_imports_inside(p) ? &none : &p->policy.preload;
}

static int
add_path(struct buf *b, const struct interpreter *in)
{
	for (size_t i = 0; i < in->sys_path.count; i++)
		if (!interpreter_is_packages(in, in->sys_path.items[i]) &&
		    buf_addf(b, "%s\n", in->sys_path.items[i]) < 0)
			return -1;
	return buf_addf(b, "\n");
}

/* Virtual environments of one interpreter may have different modules of the
   same name, and an interpreter that was replaced is a different one. Modules
   may keep the HOME that they were imported with, which is the workspace. */
static char *
zygote_key(const struct pool *p)
{
	own(buf) struct buf b = BUF_INIT(1024 * 1024);
	const struct interpreter *in = &p->interpreter;
	const struct list *preload = own_preload(p);

	if (buf_addf(&b, "%s\n%s\n%s\n%s\n%llx\n%s\n", in->real, in->executable,
		     in->prefix, in->exec_prefix,
		     (unsigned long long)p->identity,
		     p->policy.workspace) < 0 ||
	    add_path(&b, in) < 0)
		return NULL;
	for (size_t i = 0; i < preload->count; i++)
		if (buf_addf(&b, "%s\n", preload->items[i]) < 0)
			return NULL;
	return strdup(buf_text(&b));
}

static int
copy_list(struct list *out, const struct list *from)
{
	for (size_t i = 0; i < from->count; i++)
		if (list_add(out, from->items[i]) < 0)
			return -1;
	return 0;
}

struct zygote_server *
zygote_server_find(struct pool *p, struct remit_error *err)
{
	struct keeper *k = p->keeper;
	own_mem char *key = zygote_key(p);
	struct zygote_server *n;

	for (n = key ? k->zygote_servers : NULL; n; n = n->next)
		if (!strcmp(n->key, key))
			break;
	if (!n) {
		n = key ? calloc(1, sizeof(*n)) : NULL;
		if (!n) {
			fail_memory(err, "zygote");
			return NULL;
		}
		*n = (struct zygote_server){
			.keeper = k,
			.next = k->zygote_servers,
			.key = take_ptr(&key),
			.zygote = ZYGOTE_INIT,
			.state = ZYGOTE_SERVER_DOWN,
			.on_control = SOURCE_INIT,
			.deadline_timer = { .ring = on_deadline, .owner = n },
			.python = strdup(p->interpreter.executable),
		};
		k->zygote_servers = n;
		if (copy_list(&n->preload, own_preload(p)) < 0) {
			fail_memory(err, "zygote");
			return NULL;
		}
	}
	return zygote_server_start(n, p, err) < 0 ? NULL : n;
}

uint32_t
zygote_server_uid(const struct zygote_server *n)
{
	return n->zygote.host_uid;
}

/* ---- its children ---- */

bool
zygote_server_has_space(const struct zygote_server *n)
{
	return n->state == ZYGOTE_SERVER_READY &&
	       n->pending_count < ZYGOTE_SERVER_PENDING;
}

void
zygote_server_join(struct zygote_server *n, struct worker *i)
{
	struct remit_error err;

	if (n->state != ZYGOTE_SERVER_READY ||
	    n->pending_count == ZYGOTE_SERVER_PENDING) {
		fail(&err, REMIT_E_GONE, "the zygote is gone");
		worker_failed(i, &err);
		return;
	}
	n->pending[n->pending_count++] = i;
	if (jail_join(&i->jail, &i->pool->plan, &n->zygote, &err) < 0) {
		n->pending_count--;
		worker_failed(i, &err);
	} else if (n->pending_count == 1) {
		set_fork_deadline(n);
	}
}

void
zygote_server_remove_worker(struct zygote_server *n, const struct worker *i)
{
	for (size_t at = 0; at < n->pending_count; at++)
		if (n->pending[at] == i)
			n->pending[at] = NULL;
}

void
zygote_server_note_end(struct zygote_server *n, int wait_status)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGSYS,
				       SIGABRT, SIGFPE, SIGTRAP };

	for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
		if (WIFSIGNALED(wait_status) &&
		    WTERMSIG(wait_status) == crashes[i])
			n->crashed = true;
	if (n->crashed)
		keeper_refill_soon(n->keeper);
}

static bool
is_to_be_replaced(const struct zygote_server *n, uint64_t now_us)
{
	uint64_t age_us = now_us - n->since_us;

	return (n->crashed && age_us >= ZYGOTE_SERVER_CRASH_AGE_US) ||
	       n->forks >= ZYGOTE_SERVER_FORKS_MAX ||
	       age_us > ZYGOTE_SERVER_AGE_US;
}

void
zygote_server_rotate(struct zygote_server *n, uint64_t now_us)
{
	if (n->state != ZYGOTE_SERVER_READY || n->pending_count ||
	    !is_to_be_replaced(n, now_us))
		return;
	n->replaces_crashed = n->crashed;
	go_down(n, ZYGOTE_SERVER_DOWN);
}

/* The zygote was killed from outside, so it may be started again. */
static void
note_kill(struct zygote_server *n)
{
	if (++n->kills < ZYGOTE_SERVER_KILLS_MAX) {
		go_down(n, ZYGOTE_SERVER_DOWN);
		return;
	}
	n->kills = 0;
	fail(&n->error, REMIT_E_INTERNAL,
	     "the zygote was killed %d times while it started",
	     ZYGOTE_SERVER_KILLS_MAX);
	start_later(n);
}

bool
zygote_server_reaped(struct zygote_server *n, pid_t pid, int wait_status)
{
	bool killed =
		WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;

	if (pid != n->zygote.pid)
		return false;
	n->zygote.pid = 0;
	if (n->state != ZYGOTE_SERVER_STARTING)
		go_down(n, ZYGOTE_SERVER_DOWN);
	else if (killed)
		note_kill(n);
	else
		fail_modules(n, "the interpreter died while it imported");
	return true;
}

json_t *
zygote_server_to_json(const struct zygote_server *n)
{
	static const char *const words[] = { "starting", "ready", "failed",
					     "down" };
	json_t *preload = json_array();

	for (size_t i = 0; i < n->preload.count; i++)
		json_array_append_new(preload,
				      json_string(n->preload.items[i]));
	return json_pack(
		"{s:i, s:s, s:o, s:s, s:i, s:i, s:I, s:s}", "pid",
		(int)n->zygote.pid, "python", n->python ? n->python : "",
		"preload", preload, "state", words[n->state], "forks",
		(int)n->forks, "starts", (int)n->restarts, "memory_bytes",
		(json_int_t)proc_pss_bytes(n->zygote.pid), "error",
		n->state == ZYGOTE_SERVER_UNFIT ? n->error.message : "");
}

void
zygote_server_free(struct zygote_server *n)
{
	close_zygote(n);
	list_free(&n->preload);
	free(n->python);
	free(n->key);
	free(n);
}
