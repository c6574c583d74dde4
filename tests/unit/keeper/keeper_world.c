#include "keeper_world.h"

#include <dirent.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

const char *
remit_version(void)
{
	return "1.2.3";
}

static void
stop(void *owner)
{
	struct keeper *k = owner;

	k->loop.stop = true;
}

/* As often as one event can cause another one through a socket. */
void
settle(struct world *w)
{
	struct remit_error err;

	for (int round = 0; round < 5; round++) {
		w->keeper->loop.stop = false;
		loop_set_timer(&w->keeper->loop, &w->stopper, 1);
		if (loop_run(&w->keeper->loop, &err) < 0)
			fail_msg("%s", err.message);
	}
}

struct world *
world_new(void)
{
	struct keeper_options opt = { .control_fd = -1, .listen_fd = -1 };
	struct world *w = calloc(1, sizeof(*w));
	struct remit_error err;
	int pair[2], least = 1;

	assert_non_null(w);
	fake_reset();
	fakes.zygote_fails = true;
	w->keeper = calloc(1, sizeof(*w->keeper));
	assert_non_null(w->keeper);
	w->keeper->audit_writer = (struct audit_writer)AUDIT_WRITER_INIT;
	assert_int_equal(keeper_open(w->keeper, &opt, &err), 0);
	w->keeper->is_locked = true;
	w->stopper = (struct timer){ .ring = stop, .owner = w->keeper };
	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				    0, pair),
			 0);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least));
	w->client = pair[1];
	w->session = keeper_add_client(w->keeper, pair[0]);
	assert_non_null(w->session);
	return w;
}

void
world_free(struct world *w)
{
	own_fd_close(&w->client);
	keeper_close(w->keeper);
	free(w->keeper);
	free(w);
	fake_reset();
}

bool
is_alive(const struct world *w)
{
	for (const struct session *s = w->keeper->sessions; s; s = s->next)
		if (s == w->session)
			return true;
	return false;
}

void
send_as_client(struct world *w, unsigned type, const char *payload, size_t len)
{
	char frame[FRAME_HEADER + 512] = {
		[0] = (char)len,
		[1] = (char)(len >> 8),
		[4] = (char)type,
		[FRAME_PROTOCOL_AT] = FRAME_PROTOCOL,
	};

	memcpy(frame + FRAME_HEADER, payload, len);
	/* The keeper may have closed the connection. */
	(void)!send(w->client, frame, FRAME_HEADER + len, MSG_NOSIGNAL);
}

/* Reads what the keeper has sent so far. */
void
read_client(struct world *w)
{
	ssize_t n;

	while (w->client >= 0 && w->len < sizeof(w->in) &&
	       (n = read(w->client, w->in + w->len, sizeof(w->in) - w->len)) >=
		       0) {
		if (n == 0) {
			w->ended = true;
			break;
		}
		w->len += (size_t)n;
		settle(w);
	}
	w->results = w->opened = 0;
	for (size_t at = 0; at + FRAME_HEADER <= w->len;) {
		uint32_t len;

		memcpy(&len, w->in + at, sizeof(len));
		w->results += w->in[at + 4] == FRAME_RESULT;
		w->opened += w->in[at + 4] == FRAME_OPENED;
		at += FRAME_HEADER + len;
	}
}

struct fake_jail *
jail_of(const struct world *w)
{
	return is_alive(w) && w->session->worker
		       ? fake_of(&w->session->worker->jail)
		       : NULL;
}

void
send_as_code(struct world *w, unsigned type, const char *payload, size_t len)
{
	struct fake_jail *f = jail_of(w);

	if (f)
		fake_send(f->channel, type, payload, len);
}

void
ready(struct world *w)
{
	struct step_report r = { .step = STEP_READY };

	send_as_code(w, FRAME_REPORT, (const char *)&r, sizeof(r));
	settle(w);
}

size_t
count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(d))
		count++;
	closedir(d);
	return count;
}

static void *
fail_too(size_t size)
{
	return malloc(size);
}

void
world_hook_memory(void)
{
	json_set_alloc_funcs(fail_too, free);
}
