#include "client/commands.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "client/part.h"

struct commands_link {
	pthread_mutex_t lock; /* for sending */
	struct link link;
	int wake; /* an eventfd: bytes wait to be sent */
};

/* While more bytes wait for the keeper, nothing is added. */
#define BACKLOG_MAX ((size_t)1024 * 1024)

void
commands_link_free(struct commands_link *c)
{
	if (!c)
		return;
	own_fd_close(&c->wake);
	link_free(&c->link);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct commands_link *
commands_link_new(int fd)
{
	struct commands_link *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return NULL;
	}
	pthread_mutex_init(&c->lock, NULL);
	link_open(&c->link, fd, PARTY_KEEPER);
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->wake >= 0)
		return c;
	commands_link_free(c);
	return NULL;
}

void
commands_shut_down(struct commands_link *c)
{
	shutdown(c->link.fd, SHUT_RDWR);
}

/* ---- sending ---- */

/* Called with the lock held. */
static void
send_soon(struct commands_link *c)
{
	struct remit_error err;
	uint64_t one = 1;

	/* If the keeper is gone, the receiving thread notices. */
	if (link_flush(&c->link, &err) < 0)
		link_drop_backlog(&c->link);
	if (link_wants_write(&c->link) && write(c->wake, &one, sizeof(one)) < 0)
		return; /* it is awake already */
}

/* Called with the lock held. */
static int
check_backlog(const struct commands_link *c, struct remit_error *err)
{
	if (link_backlog(&c->link) <= BACKLOG_MAX)
		return 0;
	return fail(err, REMIT_E_BUSY, "the commands do not read their input");
}

static int
send_frame(struct commands_link *c, enum frame_type type, const void *payload,
	   size_t len, struct remit_error *err)
{
	int failed;

	pthread_mutex_lock(&c->lock);
	failed = check_backlog(c, err) < 0 ||
		 link_send(&c->link, type, payload, len, err) < 0;
	if (!failed)
		send_soon(c);
	pthread_mutex_unlock(&c->lock);
	return failed ? -1 : 0;
}

int
commands_start(struct commands_link *c, const struct command_params *p,
	       struct remit_error *err)
{
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_COMMAND].max);

	if (command_params_write(&records, p) < 0)
		return fail_sys(err, REMIT_E_INPUT,
				"the command with its arguments and variables");
	return send_frame(c, FRAME_COMMAND, records.data, records.len, err);
}

/* Adds all pieces of an input, which follows the command's id in each frame.
   Called with the lock held. */
static int
add_input(struct commands_link *c, uint32_t id, const char *at, size_t len,
	  struct remit_error *err)
{
	char payload[FRAME_PIECE];

	memcpy(payload, &id, sizeof(id));
	do {
		size_t n = len < sizeof(payload) - sizeof(id)
				   ? len
				   : sizeof(payload) - sizeof(id);

		if (n)
			memcpy(payload + sizeof(id), at, n);
		if (link_send(&c->link, FRAME_COMMAND_INPUT, payload,
			      sizeof(id) + n, err) < 0)
			return -1;
		at += n;
		len -= n;
	} while (len);
	return 0;
}

int
commands_send_input(struct commands_link *c, uint32_t id, const void *bytes,
		    size_t len, struct remit_error *err)
{
	int failed;

	pthread_mutex_lock(&c->lock);
	/* Checked once: a command must not get a part of an input. The end of
	   the input needs no space. */
	failed = (len && check_backlog(c, err) < 0) ||
		 add_input(c, id, bytes, len, err) < 0;
	if (!failed)
		send_soon(c);
	pthread_mutex_unlock(&c->lock);
	return failed ? -1 : 0;
}

int
commands_send_signal(struct commands_link *c, uint32_t id, int number,
		     struct remit_error *err)
{
	const uint32_t payload[] = { id, (uint32_t)number };

	return send_frame(c, FRAME_COMMAND_SIGNAL, payload, sizeof(payload),
			  err);
}

int
commands_resize(struct commands_link *c, uint32_t id, unsigned columns,
		unsigned rows, struct remit_error *err)
{
	const struct {
		uint32_t id;
		uint16_t columns, rows;
	} payload = { id, (uint16_t)columns, (uint16_t)rows };

	return send_frame(c, FRAME_COMMAND_SIZE, &payload, sizeof(payload),
			  err);
}

/* ---- receiving ---- */

static int
handle_output(const struct frame *f, const struct commands_events *ev,
	      void *user)
{
	const size_t head = sizeof(uint32_t) + 1;
	uint32_t id;

	if (f->len < head)
		return -1;
	memcpy(&id, f->payload, sizeof(id));
	ev->output(user, id, (enum command_stream)f->payload[head - 1],
		   f->payload + head, f->len - head);
	return 0;
}

static int
handle_frame(const struct frame *f, const struct commands_events *ev,
	     void *user, struct remit_error *err)
{
	struct command_end end;
	uint32_t words[2];
	int failed = -1;

	switch (f->type) {
	case FRAME_COMMAND_STARTED:
		if (f->len != sizeof(words))
			break;
		memcpy(words, f->payload, sizeof(words));
		ev->started(user, words[0], words[1]);
		return 0;
	case FRAME_COMMAND_OUTPUT:
		failed = handle_output(f, ev, user);
		break;
	case FRAME_COMMAND_ENDED:
		failed = command_end_read(&end, f->payload, f->len,
					  COMMAND_GONE);
		if (!failed)
			ev->ended(user, &end);
		break;
	default:
		break;
	}
	return failed ? fail(err, REMIT_E_PROTOCOL, "unexpected frame") : 0;
}

static int
wait_for_keeper(struct commands_link *c, struct remit_error *err)
{
	struct pollfd fds[] = {
		{ .fd = c->link.fd, .events = POLLIN },
		{ .fd = c->wake, .events = POLLIN },
	};
	uint64_t times;

	pthread_mutex_lock(&c->lock);
	if (link_wants_write(&c->link))
		fds[0].events |= POLLOUT;
	pthread_mutex_unlock(&c->lock);
	if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
		return fail_sys(err, REMIT_E_KERNEL, "poll");
	if (fds[1].revents && read(c->wake, &times, sizeof(times)) < 0 &&
	    errno != EAGAIN)
		return fail_sys(err, REMIT_E_KERNEL, "read");
	if (fds[0].revents & POLLOUT) {
		pthread_mutex_lock(&c->lock);
		send_soon(c);
		pthread_mutex_unlock(&c->lock);
	}
	return fds[0].revents & ~POLLOUT ? 1 : 0;
}

int
commands_next(struct commands_link *c, const struct commands_events *ev,
	      void *user, struct remit_error *err)
{
	int ready = wait_for_keeper(c, err);
	struct frame f;

	if (ready <= 0)
		return ready;
	if (link_fill(&c->link, err) < 0)
		return -1;
	do {
		if (link_next(&c->link, &f, err) < 0 ||
		    (f.type != FRAME_NONE &&
		     handle_frame(&f, ev, user, err) < 0))
			return -1;
	} while (f.type != FRAME_NONE);
	return c->link.ended ? fail(err, REMIT_E_GONE,
				    "the session's commands have ended")
			     : 0;
}
