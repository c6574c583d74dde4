#include "keeper/session/beside/watching.h"

#include <signal.h>

#include "jail/linux_abi.h"
#include "keeper/session/part.h"
#include "keeper/watcher/main.h"

struct watching {
	struct worker *worker;
	int client;  /* until the watcher has it; else -1 */
	int process; /* a pidfd; -1: not started */
	struct source on_client;
};

static void
close_client(struct watching *w)
{
	loop_remove(&w->worker->keeper->loop, &w->on_client);
	own_fd_close(&w->client);
	w->client = -1;
}

/* If this fails, the client's connection closes, and it can list instead. */
static void
start_watcher(struct watching *w)
{
	struct watcher_params p = {
		.plan = &w->worker->pool->plan,
		.uid = w->worker->jail.host_uid,
		.workspace = w->worker->jail.export,
		.client = w->client,
		.keeper = getpid(),
	};
	pid_t pid = fork();

	if (pid == 0)
		watcher_main(&p);
	if (pid < 0)
		return;
	/* The process is not reaped yet, so its pid cannot be reused. */
	w->process = sys_pidfd_open(pid);
	if (w->process < 0)
		kill(pid, SIGKILL);
}

static void
on_client(void *owner, uint32_t events)
{
	struct watching *w = owner;

	/* The client is gone if nothing can be read. */
	if (events & EPOLLIN)
		start_watcher(w);
	close_client(w);
}

int
session_open_watcher(struct session *s, const struct frame *f,
		     struct remit_error *err)
{
	own_fd int client = take_fd(&s->client.passed_fd);
	struct watching *w;

	(void)f;
	if (client < 0)
		return fail(err, REMIT_E_PROTOCOL,
			    "a request for a watcher without a connection");
	if (!s->worker || s->worker->watching || s->loss.code ||
	    !s->pool->plan.watched || s->worker->jail.export < 0)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return fail_memory(err, "watcher");
	*w = (struct watching){
		.worker = s->worker,
		.client = take_fd(&client),
		.process = -1,
		.on_client = SOURCE_INIT,
	};
	s->worker->watching = w;
	return loop_add(&s->keeper->loop, &w->on_client, w->client, EPOLLIN,
			on_client, w, err);
}

void
watching_free(struct watching *w)
{
	if (!w)
		return;
	close_client(w);
	if (w->process >= 0)
		sys_pidfd_kill(w->process, SIGKILL);
	own_fd_close(&w->process);
	w->worker->watching = NULL;
	free(w);
}
