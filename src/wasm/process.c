/*
 * wasm_process: arguments, clocks, random numbers and waiting.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "wasm/wasi.h"

#define NS_PER_S 1000000000u

static void
put32(unsigned char *out, uint32_t value)
{
	memcpy(out, &value, sizeof(value));
}

static void
put64(unsigned char *out, uint64_t value)
{
	memcpy(out, &value, sizeof(value));
}

static uint64_t
get64(const unsigned char *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t
get32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* ---- arguments and environment ---- */

static void
measure(char *const *strings, uint64_t *count, uint64_t *bytes)
{
	*count = *bytes = 0;
	for (; strings[*count]; ++*count)
		*bytes += strlen(strings[*count]) + 1;
}

static uint32_t
strings_get(struct wasi *w, char *const *strings, uint32_t list, uint32_t buf)
{
	uint64_t count, bytes;
	unsigned char *pointers, *text;

	measure(strings, &count, &bytes);
	pointers = wasi_span(w, list, count * 4);
	text = wasi_span(w, buf, bytes);
	if (!pointers || !text)
		return WASI_FAULT;
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(strings[i]) + 1;

		put32(pointers + i * 4, (uint32_t)(text - w->memory));
		memcpy(text, strings[i], len);
		text += len;
	}
	return WASI_OK;
}

static uint32_t
strings_sizes_get(struct wasi *w, char *const *strings, uint32_t count_at,
		  uint32_t bytes_at)
{
	unsigned char *count_out = wasi_span(w, count_at, 4);
	unsigned char *bytes_out = wasi_span(w, bytes_at, 4);
	uint64_t count, bytes;

	if (!count_out || !bytes_out)
		return WASI_FAULT;
	measure(strings, &count, &bytes);
	put32(count_out, (uint32_t)count);
	put32(bytes_out, (uint32_t)bytes);
	return WASI_OK;
}

uint32_t
wasi_args_get(struct wasi *w, uint32_t argv, uint32_t buf)
{
	return strings_get(w, w->argv, argv, buf);
}

uint32_t
wasi_args_sizes_get(struct wasi *w, uint32_t count, uint32_t bytes)
{
	return strings_sizes_get(w, w->argv, count, bytes);
}

uint32_t
wasi_environ_get(struct wasi *w, uint32_t env, uint32_t buf)
{
	return strings_get(w, w->env, env, buf);
}

uint32_t
wasi_environ_sizes_get(struct wasi *w, uint32_t count, uint32_t bytes)
{
	return strings_sizes_get(w, w->env, count, bytes);
}

/* ---- clocks and random numbers ---- */

static const clockid_t clocks[] = {
	CLOCK_REALTIME,
	CLOCK_MONOTONIC,
	CLOCK_PROCESS_CPUTIME_ID,
	CLOCK_THREAD_CPUTIME_ID,
};

#define CLOCKS (sizeof(clocks) / sizeof(clocks[0]))

static uint32_t
clock_read(struct wasi *w, uint32_t id, uint32_t at,
	   int (*read_clock)(clockid_t, struct timespec *))
{
	unsigned char *out = wasi_span(w, at, 8);
	struct timespec t;

	if (!out)
		return WASI_FAULT;
	if (id >= CLOCKS)
		return WASI_INVAL;
	if (read_clock(clocks[id], &t) < 0)
		return wasi_error_of(errno);
	put64(out, (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec);
	return WASI_OK;
}

uint32_t
wasi_clock_res_get(struct wasi *w, uint32_t id, uint32_t out)
{
	return clock_read(w, id, out, clock_getres);
}

uint32_t
wasi_clock_time_get(struct wasi *w, uint32_t id, uint64_t precision,
		    uint32_t out)
{
	(void)precision;
	return clock_read(w, id, out, clock_gettime);
}

uint32_t
wasi_random_get(struct wasi *w, uint32_t buf, uint32_t len)
{
	unsigned char *at = wasi_span(w, buf, len);

	if (!at)
		return WASI_FAULT;
	while (len) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return wasi_error_of(errno);
		at += n;
		len -= (uint32_t)n;
	}
	return WASI_OK;
}

uint32_t
wasi_sched_yield(struct wasi *w)
{
	(void)w;
	return WASI_OK;
}

void
wasi_proc_exit(struct wasi *w, uint32_t code)
{
	(void)w;
	_exit((int)(code & 0xff));
}

/* ---- waiting ---- */

/* The layouts of the specification. */
#define SUBSCRIPTION_SIZE 48
#define EVENT_SIZE	  32

enum subscription_type {
	SUBSCRIPTION_CLOCK,
	SUBSCRIPTION_READ,
	SUBSCRIPTION_WRITE,
};

#define CLOCK_ABSOLUTE	  1u
#define EVENT_FLAG_HANGUP 1u
#define SUBSCRIPTIONS_MAX 1024
#define NO_TIMEOUT	  UINT64_MAX

struct subscription {
	uint64_t userdata;
	uint64_t timeout_ns; /* of a clock, from now on */
	uint32_t error;	     /* known before waiting */
	int host;	     /* of a descriptor */
	unsigned char type;
};

static uint64_t
timeout_of(const unsigned char *at, uint32_t *error)
{
	uint32_t id = get32(at + 16);
	uint64_t timeout = get64(at + 24), now_ns;
	struct timespec now;

	/* Only these two pass while the guest waits. */
	if (id > 1 || clock_gettime(clocks[id], &now) < 0) {
		*error = WASI_INVAL;
		return 0;
	}
	if (!(at[40] & CLOCK_ABSOLUTE))
		return timeout;
	now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	return timeout > now_ns ? timeout - now_ns : 0;
}

static void
read_subscription(struct wasi *w, struct subscription *s,
		  const unsigned char *at)
{
	struct wasi_fd *f = NULL;

	*s = (struct subscription){
		.userdata = get64(at),
		.type = at[8],
		.host = -1,
	};
	if (s->type == SUBSCRIPTION_CLOCK) {
		s->timeout_ns = timeout_of(at, &s->error);
		return;
	}
	if (s->type > SUBSCRIPTION_WRITE) {
		s->error = WASI_INVAL;
		return;
	}
	s->error = wasi_find(w, get32(at + 16), WASI_RIGHT_POLL, &f);
	if (!s->error)
		s->host = f->host;
}

static void
put_event(unsigned char *out, const struct subscription *s, short revents)
{
	memset(out, 0, EVENT_SIZE);
	put64(out, s->userdata);
	put32(out + 8, s->error | (uint32_t)s->type << 16);
	if (s->type == SUBSCRIPTION_CLOCK || s->error)
		return;
	put64(out + 16, 1);
	out[24] = revents & POLLHUP ? EVENT_FLAG_HANGUP : 0;
}

static int
wait_for(struct pollfd *polled, size_t count, uint64_t timeout_ns)
{
	struct timespec t = { (time_t)(timeout_ns / NS_PER_S),
			      (long)(timeout_ns % NS_PER_S) };

	return ppoll(polled, count, timeout_ns == NO_TIMEOUT ? NULL : &t, NULL);
}

/* Whether this is to be reported, after waiting for `timeout_ns`. */
static bool
has_happened(const struct subscription *s, const struct pollfd *p, int ready,
	     uint64_t timeout_ns)
{
	if (s->error)
		return true;
	if (s->type == SUBSCRIPTION_CLOCK)
		return !ready && s->timeout_ns <= timeout_ns;
	return p->revents != 0;
}

uint32_t
wasi_poll_oneoff(struct wasi *w, uint32_t in, uint32_t out, uint32_t count,
		 uint32_t events_at)
{
	static struct subscription subscriptions[SUBSCRIPTIONS_MAX];
	static struct pollfd polled[SUBSCRIPTIONS_MAX];
	const unsigned char *from =
		wasi_span(w, in, (uint64_t)count * SUBSCRIPTION_SIZE);
	unsigned char *to = wasi_span(w, out, (uint64_t)count * EVENT_SIZE);
	unsigned char *events_out = wasi_span(w, events_at, 4);
	uint64_t timeout_ns = NO_TIMEOUT;
	uint32_t events = 0;
	int ready;

	if (!from || !to || !events_out)
		return WASI_FAULT;
	if (!count || count > SUBSCRIPTIONS_MAX)
		return WASI_INVAL;
	for (uint32_t i = 0; i < count; i++) {
		struct subscription *s = &subscriptions[i];

		read_subscription(w, s, from + (size_t)i * SUBSCRIPTION_SIZE);
		polled[i] = (struct pollfd){
			.fd = s->host,
			.events =
				s->type == SUBSCRIPTION_READ ? POLLIN : POLLOUT,
		};
		if (s->error)
			timeout_ns = 0;
		else if (s->type == SUBSCRIPTION_CLOCK &&
			 s->timeout_ns < timeout_ns)
			timeout_ns = s->timeout_ns;
	}
	ready = wait_for(polled, count, timeout_ns);
	if (ready < 0)
		return wasi_error_of(errno);
	for (uint32_t i = 0; i < count; i++)
		if (has_happened(&subscriptions[i], &polled[i], ready,
				 timeout_ns))
			put_event(to + (size_t)EVENT_SIZE * events++,
				  &subscriptions[i], polled[i].revents);
	put32(events_out, events);
	return WASI_OK;
}
